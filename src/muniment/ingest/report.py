"""What an ingest or import did: counts of what was written, and a reason for what was not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from muniment.domain.canonical import Json
from muniment.domain.errors import MunimentError
from muniment.domain.outcomes import ASSERTED, LINKED, RETRACTED, SUPERSEDED, UNLINKED

Progress: TypeAlias = Callable[[int, int], None]
"""Called as (done, total) while a verb works; `total` is known before the first call."""

SKIPPED_SHOWN: Final = 1_000
"""Skipped things that a report lists; what is beyond is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Something that was not taken in. `line`: where in the file, from 1, for files of lines."""

    what: str
    code: str
    reason: str
    line: int | None = None

    @staticmethod
    def of(error: MunimentError, what: str, line: int | None = None) -> Skipped:
        """Return the entry for an error, its next step included."""
        reason = f"{error.message} {error.next_step}" if error.next_step else error.message
        return Skipped(what=what, code=error.code, reason=reason, line=line)

    def as_json(self) -> dict[str, Json]:
        """Return the entry as flat JSON."""
        shown: dict[str, Json] = {"what": self.what, "code": self.code, "reason": self.reason}
        return shown if self.line is None else {"line": self.line} | shown


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts while a verb runs.

    asserted: new claims. linked: new links. superseded, unchanged, retracted: claims and links.
    refused: commands that a rule turned down, each of which is in `skipped` as well.
    """

    objects_created: int = 0
    asserted: int = 0
    superseded: int = 0
    unchanged: int = 0
    linked: int = 0
    retracted: int = 0
    refused: int = 0
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    skipped_more: int = 0

    def skip(self, entry: Skipped) -> None:
        """Note what was not taken in."""
        if len(self.skipped) < SKIPPED_SHOWN:
            self.skipped.append(entry)
        else:
            self.skipped_more += 1

    def count(self, outcome: str) -> None:
        """Count the outcome of one claim or link."""
        if outcome == ASSERTED:
            self.asserted += 1
        elif outcome == LINKED:
            self.linked += 1
        elif outcome == SUPERSEDED:
            self.superseded += 1
        elif outcome in (RETRACTED, UNLINKED):
            self.retracted += 1
        else:
            self.unchanged += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a verb did.

    source: the source that it spoke for. read: what it went through, by kind (commits, documents,
    lines). notes: what a reader of the report should know. The counts are those of `Tally`.
    """

    verb: str
    source: str
    read: dict[str, int]
    tally: Tally
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Json]:
        """Return the report as JSON; lists that would be empty are left out."""
        tally = self.tally
        read: dict[str, Json] = dict(self.read)
        shown: dict[str, Json] = {
            "verb": self.verb,
            "source": self.source,
            "read": read,
            "objects_created": tally.objects_created,
            "claims_asserted": tally.asserted,
            "links_made": tally.linked,
            "superseded": tally.superseded,
            "unchanged": tally.unchanged,
            "retracted": tally.retracted,
            "refused": tally.refused,
        }
        if self.notes:
            shown["notes"] = list(self.notes)
        if tally.skipped:
            shown["skipped"] = [entry.as_json() for entry in tally.skipped]
        if tally.skipped_more:
            shown["skipped_more"] = tally.skipped_more
        return shown
