"""What can be asked of reads, and the one place where a reader's arguments are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from muniment.domain import limits
from muniment.domain.catalog import nearest, require_link
from muniment.domain.commands import Ref
from muniment.domain.dates import parse_instant
from muniment.domain.errors import Malformed, TooLarge
from muniment.domain.evidence import EvidenceClass, parse_class
from muniment.domain.model import Status
from muniment.domain.parse import parse_audience, parse_limit, parse_ref, require_known
from muniment.domain.text import plain_line, property_name, require_encodable

Raw = Mapping[str, object]

PRIVATE: Final = "private"
"""Short for the reader's own audience."""
LEAST_CHARS: Final = 1_000
MOST_CHARS: Final = 200_000
"""Bytes of JSON that one answer may take; what does not fit is behind its cursor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """A search.

    text: what to look for. about: only what is known of this object. type, property, source,
    evidence_class: only such claims. project, audience: only what that audience holds; `private`
    is the reader's own. names_only: objects by their names alone.
    as_of: what held then, None for now. known_at: what was in the log then (a pos or a moment).
    include_superseded: closed claims too, flagged. untrusted: a second list of claims that came
    through an untrusted door. max_chars: bytes of JSON in all.
    """

    text: str
    about: Ref | None = None
    type: str | None = None
    property: str | None = None
    source: str | None = None
    evidence_class: EvidenceClass | None = None
    project: Ref | None = None
    audience: str | None = None
    names_only: bool = False
    as_of: datetime | None = None
    known_at: int | datetime | None = None
    include_superseded: bool = False
    untrusted: bool = False
    limit: int = 10
    max_chars: int = MOST_CHARS
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuery:
    """An object's dossier. as_of, known_at: as in `RecallQuery`. cursor: of a part of it."""

    ref: Ref
    as_of: datetime | None = None
    known_at: int | datetime | None = None
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceQuery:
    """The events of an object, oldest first; of one property alone, its history."""

    ref: Ref
    property: str | None = None
    limit: int = 50
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighboursQuery:
    """The objects that links lead to. direction: `out`, `in`, or None for both."""

    ref: Ref
    link: str | None = None
    direction: str | None = None
    as_of: datetime | None = None
    limit: int = 50
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """Objects by type and status. stale_before: only those not observed since then."""

    type: str | None = None
    status: Status = Status.ACTIVE
    stale_before: datetime | None = None
    limit: int = 50
    cursor: str | None = None


_RECALL: Final = (
    "query",
    "about",
    "about_type",
    "type",
    "property",
    "source",
    "class",
    "project",
    "audience",
    "names_only",
    "as_of",
    "known_at",
    "include_superseded",
    "untrusted",
    "limit",
    "max_chars",
    "cursor",
)


def parse_recall(raw: Raw) -> RecallQuery:
    """Return the search of `{query, about?, type?, ..., limit?, cursor?}`.

    Raises:
        Malformed, TooLarge: an argument that is unknown, missing, of the wrong form or size.
    """
    require_known(raw, _RECALL)
    project = raw.get("project")
    about = raw.get("about")
    return RecallQuery(
        text=_query(raw.get("query")),
        about=None if about is None else parse_ref(about, raw.get("about_type"), field="about"),
        type=_line(raw, "type", 64),
        property=_property(raw, "property"),
        source=_line(raw, "source", limits.SOURCE_BYTES),
        evidence_class=_class(raw),
        project=None if project is None else parse_ref(project, "Project", field="project"),
        audience=_audience(raw),
        names_only=_flag(raw, "names_only"),
        as_of=_instant(raw, "as_of"),
        known_at=_known_at(raw),
        include_superseded=_flag(raw, "include_superseded"),
        untrusted=_flag(raw, "untrusted"),
        limit=parse_limit(raw.get("limit"), default=10),
        max_chars=_chars(raw.get("max_chars")),
        cursor=_cursor(raw),
    )


def parse_open(raw: Raw) -> OpenQuery:
    """Return the lens of `{about, type?, as_of?, known_at?, cursor?}`."""
    require_known(raw, ("about", "type", "as_of", "known_at", "cursor"))
    return OpenQuery(
        ref=_ref(raw), as_of=_instant(raw, "as_of"), known_at=_known_at(raw), cursor=_cursor(raw)
    )


def parse_trace(raw: Raw) -> TraceQuery:
    """Return the lens of `{about, type?, property?, limit?, cursor?}`."""
    require_known(raw, ("about", "type", "property", "limit", "cursor"))
    return TraceQuery(
        ref=_ref(raw),
        property=_property(raw, "property"),
        limit=parse_limit(raw.get("limit"), default=50),
        cursor=_cursor(raw),
    )


def parse_neighbours(raw: Raw) -> NeighboursQuery:
    """Return the read of `{about, type?, link?, direction?, as_of?, limit?, cursor?}`."""
    require_known(raw, ("about", "type", "link", "direction", "as_of", "limit", "cursor"))
    link = raw.get("link")
    return NeighboursQuery(
        ref=_ref(raw),
        link=None if link is None else require_link(_text(link, "link")),
        direction=_choice(raw, "direction", ("out", "in")),
        as_of=_instant(raw, "as_of"),
        limit=parse_limit(raw.get("limit"), default=50),
        cursor=_cursor(raw),
    )


def parse_list(raw: Raw) -> ListQuery:
    """Return the read of `{type?, status?, stale_before?, limit?, cursor?}`."""
    require_known(raw, ("type", "status", "stale_before", "limit", "cursor"))
    status = _choice(raw, "status", tuple(s.value for s in Status))
    return ListQuery(
        type=_line(raw, "type", 64),
        status=Status(status) if status else Status.ACTIVE,
        stale_before=_instant(raw, "stale_before"),
        limit=parse_limit(raw.get("limit"), default=50),
        cursor=_cursor(raw),
    )


def _ref(raw: Raw) -> Ref:
    if raw.get("about") is None:
        raise _missing("about", "Name the object, or give its id.")
    return parse_ref(raw["about"], raw.get("type"))


def _query(raw: object) -> str:
    if raw is None:
        raise _missing("query", "Say what to look for.")
    text = require_encodable(_text(raw, "query"), "query")
    if len(text) > limits.QUERY_CHARS:
        raise TooLarge(
            f"query is over {limits.QUERY_CHARS} characters.",
            field="query",
            limit=limits.QUERY_CHARS,
            next_step="Ask with the words that matter.",
        )
    if not text.strip():
        raise Malformed(
            "query is empty.", code="empty", field="query", next_step="Say what to look for."
        )
    return text


def _missing(field: str, next_step: str) -> Malformed:
    return Malformed(
        f"{field} is required.", code="missing_argument", field=field, next_step=next_step
    )


def _text(raw: object, field: str) -> str:
    if isinstance(raw, str):
        return raw
    raise _wrong(field, "text")


def _wrong(field: str, wanted: str) -> Malformed:
    return Malformed(
        f"{field} must be {wanted}.", code="wrong_type", field=field, next_step=f"Send {wanted}."
    )


def _line(raw: Raw, field: str, limit: int) -> str | None:
    found = raw.get(field)
    return None if found is None else plain_line(_text(found, field), field, limit)


def _property(raw: Raw, field: str) -> str | None:
    found = raw.get(field)
    return None if found is None else property_name(_text(found, field), field)


def _class(raw: Raw) -> EvidenceClass | None:
    found = raw.get("class")
    return None if found is None else parse_class(_text(found, "class"))


def _audience(raw: Raw) -> str | None:
    found = raw.get("audience")
    if found is None:
        return None
    return PRIVATE if found == PRIVATE else parse_audience(found)


def _flag(raw: Raw, field: str) -> bool:
    found = raw.get(field)
    if found is None or isinstance(found, bool):
        return bool(found)
    raise _wrong(field, "true or false")


def _choice(raw: Raw, field: str, allowed: tuple[str, ...]) -> str | None:
    found = raw.get(field)
    if found is None or found in allowed:
        return cast("str | None", found)
    suggestion = nearest(_text(found, field), allowed)
    raise Malformed(
        f"{field} must be one of: {', '.join(allowed)}.",
        code=f"unknown_{field}",
        field=field,
        next_step=f"Did you mean {suggestion!r}?" if suggestion else f"Use {allowed[0]!r}.",
    )


def _instant(raw: Raw, field: str) -> datetime | None:
    found = raw.get(field)
    return None if found is None else parse_instant(_text(found, field), field)


def _known_at(raw: Raw) -> int | datetime | None:
    found = raw.get("known_at")
    if found is None:
        return None
    if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) != len("2026"):
        found = int(found) if len(found) < len(str(limits.INT_MAX)) else -1
    if isinstance(found, int) and not isinstance(found, bool):
        if 0 < found <= limits.INT_MAX:
            return found
        raise _wrong("known_at", "a position of the log from 1, or a date")
    return parse_instant(_text(found, "known_at"), "known_at")


def _chars(raw: object) -> int:
    if raw is None:
        return MOST_CHARS
    if isinstance(raw, int) and not isinstance(raw, bool) and LEAST_CHARS <= raw <= MOST_CHARS:
        return raw
    raise Malformed(
        f"max_chars must be a whole number from {LEAST_CHARS} to {MOST_CHARS}.",
        code="bad_limit",
        field="max_chars",
        limit=MOST_CHARS,
        next_step="Ask for less and follow the cursor for more.",
    )


def _cursor(raw: Raw) -> str | None:
    found = raw.get("cursor")
    return None if found is None else _text(found, "cursor")
