"""Raw arguments to commands: the one place where bad input is refused.

Every door (MCP, CLI, import) hands its arguments here as plain JSON. Nothing is ignored: an
argument that is not known is refused and the nearest one named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar, cast
from uuid import UUID

from muniment.domain import commands as cmd
from muniment.domain import limits
from muniment.domain.canonical import value_text
from muniment.domain.catalog import nearest
from muniment.domain.commands import Ref, Stated
from muniment.domain.dates import WorldDate, parse_world_date
from muniment.domain.errors import Malformed, TooLarge
from muniment.domain.evidence import parse_class
from muniment.domain.identity import FLEET, PRIVATE
from muniment.domain.model import Status
from muniment.domain.text import (
    canonical_name,
    display_name,
    plain_line,
    property_name,
    reason_text,
)

Raw = Mapping[str, object]
T = TypeVar("T")

_AUDIENCE: Final = re.compile(r"(?:principal|project):[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_STATED: Final = (
    "class",
    "evidence",
    "source",
    "valid_from",
    "valid_to",
    "derived_from",
    "audience",
    "expected_version",
)
_CLAIM: Final = ("about", "type", "property", "value", *_STATED)
_LINK: Final = ("from", "from_type", "link", "to", "to_type", *_STATED)


def require_known(raw: Raw, known: Iterable[str], at: str = "") -> None:
    """Refuse arguments that are not among `known`.

    Raises:
        Malformed: `unknown_argument`, naming the nearest known one.
    """
    names = list(known)
    for name in raw:
        if name in names:
            continue
        suggestion = nearest(name, names)
        raise Malformed(
            f"There is no argument {name[:80]!r}.",
            code="unknown_argument",
            field=f"{at}{name[:80]}",
            next_step=f"Did you mean {suggestion!r}?"
            if suggestion
            else f"The arguments are: {', '.join(names)}.",
        )


def parse_ref(about: object, type_: object = None, *, field: str = "about") -> Ref:
    """Return what `about` names: an id if it has the form of a UUID, else a name.

    Raises:
        Malformed, TooLarge: not text, or not a name.
    """
    text = _text(about, field)
    type_name = None if type_ is None else plain_line(_text(type_, "type"), "type", 64)
    if _UUID.fullmatch(text):
        return Ref(object_id=UUID(text), type=type_name)
    name = display_name(text, field)
    return Ref(type=type_name, name=name, canonical=canonical_name(name))


def parse_remember(raw: Raw) -> cmd.Remember:
    """Return the command of `{"claims": [...], "links": [...]}`, 1 to 100 in all."""
    require_known(raw, ("claims", "links"))
    claims = _objects(raw.get("claims"), "claims")
    links = _objects(raw.get("links"), "links")
    count = len(claims) + len(links)
    if not 1 <= count <= limits.CLAIMS_PER_CALL:
        raise TooLarge(
            f"A call takes 1 to {limits.CLAIMS_PER_CALL} claims and links; this one has {count}.",
            code="claims_per_call",
            field="claims",
            limit=limits.CLAIMS_PER_CALL,
            next_step="Split it into several calls." if count else "Send at least one claim.",
        )
    return cmd.Remember(
        claims=tuple(_claim(item, f"claims[{i}]") for i, item in enumerate(claims)),
        links=tuple(_link(item, f"links[{i}]") for i, item in enumerate(links)),
    )


def parse_relate(raw: Raw) -> cmd.Remember:
    """Return the command of one flat link."""
    return cmd.Remember(links=(_link(raw, ""),))


def parse_retract(raw: Raw) -> cmd.Retract | cmd.Unrelate:
    """Return the command that withdraws a claim (about, property) or a link (from, link, to)."""
    if "from" in raw or "link" in raw or "to" in raw:
        require_known(raw, ("from", "from_type", "link", "to", "to_type", "source", "reason"))
        return cmd.Unrelate(
            src=parse_ref(_need(raw, "from"), raw.get("from_type"), field="from"),
            type=_text(_need(raw, "link"), "link"),
            dst=parse_ref(_need(raw, "to"), raw.get("to_type"), field="to"),
            source=_optional(raw, "source", _source),
            reason=_reason(raw),
        )
    require_known(raw, ("about", "type", "property", "value", "source", "reason"))
    return cmd.Retract(
        about=parse_ref(_need(raw, "about"), raw.get("type")),
        property=property_name(_text(_need(raw, "property"), "property")),
        value=value_text(raw["value"]) if "value" in raw else None,
        source=_optional(raw, "source", _source),
        reason=_reason(raw),
    )


def parse_ensure(raw: Raw) -> cmd.EnsureObject:
    """Return the command of `{name, type, audience?}`."""
    require_known(raw, ("name", "type", "audience"))
    ref = parse_ref(_need(raw, "name"), _need(raw, "type"), field="name")
    return cmd.EnsureObject(ref=ref, audience=_optional(raw, "audience", _audience))


def parse_rename(raw: Raw) -> cmd.Rename:
    """Return the command of `{about, type?, name, reason, expected_version?}`."""
    require_known(raw, ("about", "type", "name", "reason", "expected_version"))
    return cmd.Rename(
        about=parse_ref(_need(raw, "about"), raw.get("type")),
        name=display_name(_text(_need(raw, "name"), "name")),
        reason=_reason(raw),
        expected_version=_optional(raw, "expected_version", _version),
    )


def parse_set_status(raw: Raw) -> cmd.SetStatus:
    """Return the command of `{about, type?, status, reason, expected_version?}`."""
    require_known(raw, ("about", "type", "status", "reason", "expected_version"))
    status = _text(_need(raw, "status"), "status")
    allowed = [s.value for s in Status if s is not Status.MERGED]
    if status not in allowed:
        raise Malformed(
            f"status {status[:40]!r} cannot be set.",
            code="unknown_status",
            field="status",
            next_step=f"Use one of: {', '.join(allowed)}. To merge, use merge.",
        )
    return cmd.SetStatus(
        about=parse_ref(_need(raw, "about"), raw.get("type")),
        status=Status(status),
        reason=_reason(raw),
        expected_version=_optional(raw, "expected_version", _version),
    )


def parse_merge(raw: Raw) -> cmd.Merge:
    """Return the command of `{loser, survivor, loser_type?, survivor_type?, reason, ...}`."""
    known = ("loser", "survivor", "loser_type", "survivor_type", "reason", "expected_version")
    require_known(raw, known)
    return cmd.Merge(
        loser=parse_ref(_need(raw, "loser"), raw.get("loser_type"), field="loser"),
        survivor=parse_ref(_need(raw, "survivor"), raw.get("survivor_type"), field="survivor"),
        reason=_reason(raw),
        expected_version=_optional(raw, "expected_version", _version),
    )


def parse_unmerge(raw: Raw) -> cmd.Unmerge:
    """Return the command of `{loser, type?, reason, expected_version?}`."""
    require_known(raw, ("loser", "type", "reason", "expected_version"))
    return cmd.Unmerge(
        loser=parse_ref(_need(raw, "loser"), raw.get("type"), field="loser"),
        reason=_reason(raw),
        expected_version=_optional(raw, "expected_version", _version),
    )


def parse_redact(raw: Raw) -> cmd.Redact:
    """Return the command of `{positions, reason}`."""
    require_known(raw, ("positions", "reason"))
    positions = _need(raw, "positions")
    if not isinstance(positions, list) or not 1 <= len(cast("list[object]", positions)) <= 1000:
        raise _not("positions", "a list of 1 to 1000 positions")
    items = cast("list[object]", positions)
    return cmd.Redact(
        positions=tuple(_position(item, "positions") for item in items), reason=_reason(raw)
    )


def parse_key(raw: object) -> str | None:
    """Return an idempotency key, if one was given."""
    return None if raw is None else plain_line(_text(raw, "key"), "key", limits.KEY_BYTES)


def parse_limit(raw: object, *, default: int, maximum: int = limits.RESULTS_MAX) -> int:
    """Return how many results are wanted, 1 to `maximum`.

    Raises:
        Malformed: not a whole number in that range; it is never cut down silently.
    """
    if raw is None:
        return default
    if isinstance(raw, bool) or not isinstance(raw, int) or not 1 <= raw <= maximum:
        raise Malformed(
            f"limit must be a whole number from 1 to {maximum}.",
            code="bad_limit",
            field="limit",
            limit=maximum,
            next_step="Ask for fewer and follow the cursor for more.",
        )
    return raw


def parse_audience(raw: object, field: str = "audience", *, own: bool = False) -> str:
    """Return an audience: `fleet`, `principal:<uuid>` or `project:<uuid>`.

    own: `private` too, which means the caller's own.
    """
    text = _text(raw, field)
    if text == FLEET or (own and text == PRIVATE) or _AUDIENCE.fullmatch(text):
        return text
    raise Malformed(
        f"{field} is not an audience.",
        code="bad_audience",
        field=field,
        next_step=f"Use fleet, {PRIVATE + ', ' if own else ''}principal:<uuid> or project:<uuid>.",
    )


def _claim(raw: Raw, at: str) -> cmd.ClaimInput:
    require_known(raw, _CLAIM, f"{at}." if at else "")
    return cmd.ClaimInput(
        about=parse_ref(_need(raw, "about", at), raw.get("type"), field=_at(at, "about")),
        property=property_name(
            _text(_need(raw, "property", at), _at(at, "property")), _at(at, "property")
        ),
        value=value_text(_need(raw, "value", at, null=True), _at(at, "value")),
        stated=_stated(raw, at),
    )


def _link(raw: Raw, at: str) -> cmd.LinkInput:
    require_known(raw, _LINK, f"{at}." if at else "")
    return cmd.LinkInput(
        src=parse_ref(_need(raw, "from", at), raw.get("from_type"), field=_at(at, "from")),
        type=_text(_need(raw, "link", at), _at(at, "link")),
        dst=parse_ref(_need(raw, "to", at), raw.get("to_type"), field=_at(at, "to")),
        stated=_stated(raw, at),
    )


def _stated(raw: Raw, at: str) -> Stated:
    if not any(name in raw for name in _STATED):
        return _NOTHING_STATED
    valid_from = _optional(raw, "valid_from", _date, at)
    valid_to = _optional(raw, "valid_to", _date, at)
    if valid_from is not None and valid_to is not None and valid_from.earliest >= valid_to.latest:
        raise Malformed(
            "valid_to lies before valid_from.",
            code="bad_interval",
            field=_at(at, "valid_to"),
            next_step="Give an end after the start, or leave it open.",
        )
    return Stated(
        source=_optional(raw, "source", _source, at),
        evidence_class=_optional(raw, "class", lambda r, f: parse_class(_text(r, f), f), at),
        evidence=_optional(
            raw, "evidence", lambda r, f: plain_line(_text(r, f), f, limits.EVIDENCE_BYTES), at
        ),
        derived_from=_optional(raw, "derived_from", _parents, at) or (),
        valid_from=valid_from,
        valid_to=valid_to,
        audience=_optional(raw, "audience", _audience, at),
        expected_version=_optional(raw, "expected_version", _version, at),
    )


_NOTHING_STATED: Final = Stated()


def _optional(raw: Raw, name: str, parse: Callable[[object, str], T], at: str = "") -> T | None:
    found = raw.get(name)
    return None if found is None else parse(found, _at(at, name))


def _need(raw: Raw, name: str, at: str = "", *, null: bool = False) -> object:
    if name not in raw or (raw[name] is None and not null):
        raise Malformed(
            f"{_at(at, name)} is required.",
            code="missing_argument",
            field=_at(at, name),
            next_step=f"Add {name!r}.",
        )
    return raw[name]


def _at(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _text(raw: object, field: str) -> str:
    if isinstance(raw, str):
        return raw
    raise _not(field, "text")


def _not(field: str, wanted: str) -> Malformed:
    return Malformed(
        f"{field} must be {wanted}.",
        code="wrong_type",
        field=field,
        next_step=f"Send {wanted}.",
    )


def _objects(raw: object, field: str) -> list[Raw]:
    if raw is None:
        return []
    if isinstance(raw, list):
        items = cast("list[object]", raw)
        if all(isinstance(item, Mapping) for item in items):
            return cast("list[Raw]", items)
    raise _not(field, "a list of objects")


def _reason(raw: Raw) -> str:
    return reason_text(_text(raw.get("reason") or "", "reason"))


def _source(raw: object, field: str) -> str:
    return plain_line(_text(raw, field), field, limits.SOURCE_BYTES)


def _audience(raw: object, field: str) -> str:
    return parse_audience(raw, field, own=True)


def _date(raw: object, field: str) -> WorldDate:
    return parse_world_date(_text(raw, field), field)


def _version(raw: object, field: str) -> int:
    return 0 if raw == 0 and not isinstance(raw, bool) else _position(raw, field)


def _position(raw: object, field: str) -> int:
    if isinstance(raw, int) and not isinstance(raw, bool) and 0 < raw <= limits.INT_MAX:
        return raw
    raise _not(field, "a position of the log, a whole number from 1")


def _parents(raw: object, field: str) -> tuple[UUID, ...]:
    items = cast("list[Any]", raw) if isinstance(raw, list) else []
    if 1 <= len(items) <= limits.PARENTS_PER_CLAIM and all(
        isinstance(item, str) and _UUID.fullmatch(item) for item in items
    ):
        return tuple(dict.fromkeys(UUID(item) for item in items))
    raise _not(field, f"a list of 1 to {limits.PARENTS_PER_CLAIM} claim ids")
