"""Makes claims and links for one source, so that each verb says only what it found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from muniment.domain.canonical import value_text
from muniment.domain.commands import ClaimInput, LinkInput, Ref, Stated
from muniment.domain.dates import WorldDate
from muniment.domain.evidence import EvidenceClass
from muniment.domain.text import canonical_name

_CLOCK_SKEW = timedelta(days=1)


def named(type_: str, name: str) -> Ref:
    """Return the reference to the object of that type and (legal) name, which may yet be made."""
    return Ref(type=type_, name=name, canonical=canonical_name(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """Makes statements that share where they come from.

    source: whose they are. evidence_class: None for the weakest that fits.
    """

    source: str
    evidence_class: EvidenceClass | None

    def stated(self, evidence: str, since: WorldDate | None = None) -> Stated:
        """Return the provenance of what `evidence` shows, in force from `since`."""
        return Stated(
            source=self.source,
            evidence_class=self.evidence_class,
            evidence=evidence,
            valid_from=since,
        )


def claim(about: Ref, name: str, value: object, stated: Stated) -> ClaimInput:
    """Return the claim that the property `name` of `about` is `value`.

    Raises:
        Malformed, TooLarge: the value cannot be kept as one claim.
    """
    return ClaimInput(about=about, property=name, value=value_text(value, name), stated=stated)


def link(src: Ref, type_: str, dst: Ref, stated: Stated) -> LinkInput:
    """Return the link of that type from `src` to `dst`."""
    return LinkInput(src=src, type=type_, dst=dst, stated=stated)


def since(moment: datetime | None) -> WorldDate | None:
    """Return the instant from which something holds, or None for one that lies ahead.

    A clock that was wrong must not hide a commit until its date comes.
    """
    if moment is None or moment > datetime.now(UTC) + _CLOCK_SKEW:
        return None
    return WorldDate(text=instant(moment), earliest=moment, latest=moment)


def instant(moment: datetime) -> str:
    """Return an aware instant in RFC 3339, in UTC, with `Z`."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
