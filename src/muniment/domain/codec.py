"""Events as bytes and back: the payload that is stored and hashed, and the chain over all of them.

    payload_hash = SHA-256(payload)
    hash         = SHA-256(previous hash || header || payload_hash)

The header is the row's other columns in a fixed order, one a line; each of them comes from a
closed alphabet without line breaks, so the form is unambiguous. The workspace is not part of it:
an archive keeps its chain in whichever workspace it is restored to. `store/log.sql` builds
the same header in SQL, so the chain is checked by a second implementation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, assert_never
from uuid import UUID

from muniment.domain import events as ev
from muniment.domain.canonical import encode_string
from muniment.domain.events import Event, Grounds, Kind
from muniment.domain.evidence import Band, EvidenceClass
from muniment.domain.identity import Via
from muniment.domain.model import Status

HEADER_VERSION: Final = "muniment-1"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_VALUE_MARK: Final = ',"value":'
"""A claim's value comes last in its payload. Inside a string the quotes would be escaped, and
nothing before it nests, so the first mark is the value's."""

Payload = dict[str, Any]


def kind_of(event: Event) -> Kind:
    """Return the name under which an event is stored."""
    return _KINDS[type(event)]


def related_of(event: Event) -> UUID | None:
    """Return the second object that an event concerns."""
    match event:
        case ev.Merged() | ev.Unmerged():
            return event.survivor_id
        case ev.Linked() | ev.Unlinked():
            return event.dst_id
        case _:
            return None


def object_of(event: Event) -> UUID | None:
    """Return the object that an event concerns first."""
    match event:
        case ev.Redacted() | ev.PrincipalChanged():
            return None
        case _:
            return event.object_id


def payload_text(event: Event, *, reason: str | None, salt: str | None) -> str:
    """Return the canonical JSON of an event's facts, without what its header holds.

    salt: random text, or None for a skeleton, which is itself part of a salted payload.
    """
    parts = _facts(event)
    if reason is not None:
        parts["reason"] = reason
    if salt is not None:
        parts["salt"] = salt
    text = _encode(parts)
    if isinstance(event, ev.Asserted) and event.value is not None:
        return f"{text[:-1]}{_VALUE_MARK}{event.value}}}"
    return text


def parse_payload(
    kind: str, payload: str, object_id: UUID | None, related_id: UUID | None
) -> tuple[Event, str | None]:
    """Return the event and reason that `payload_text` wrote.

    Raises:
        ValueError, KeyError: the payload is not one of that kind.
    """
    value = None
    if kind == Kind.ASSERTED:
        head, mark, value = payload.partition(_VALUE_MARK)
        payload, value = (head + "}", value[:-1]) if mark else (payload, None)
    parts: Payload = json.loads(payload)
    reason = parts.get("reason")
    if object_id is None:
        return _parse_global(Kind(kind), parts), reason
    return _parse_on_object(Kind(kind), parts, object_id, related_id, value), reason


def micros(moment: datetime) -> int:
    """Return an aware datetime as microseconds since 1970 (exact)."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(count: int) -> datetime:
    """Return the aware UTC datetime of `micros`."""
    return _EPOCH + timedelta(microseconds=count)


def header_bytes(
    *,
    pos: int,
    event_id: UUID,
    kind: str,
    object_id: UUID | None,
    related_id: UUID | None,
    actor_id: UUID,
    via: str,
    audience: str | None,
    receipt_id: UUID | None,
    recorded_micros: int,
) -> bytes:
    """Return the canonical header of one event."""
    return (
        f"{HEADER_VERSION}\n{pos}\n{event_id}\n{kind}\n{object_id or '-'}\n{related_id or '-'}\n"
        f"{actor_id}\n{via}\n{audience or '-'}\n{receipt_id or '-'}\n{recorded_micros}"
    ).encode()


def payload_digest(payload: str) -> bytes:
    """Return the SHA-256 of a payload's bytes."""
    return hashlib.sha256(payload.encode()).digest()


def link_hash(previous: bytes, header: bytes, payload_hash: bytes) -> bytes:
    """Return the hash that chains one event to all before it."""
    return hashlib.sha256(previous + header + payload_hash).digest()


def skeleton(event: Event) -> str:
    """Return the canonical JSON of what a fold still needs of an event once its content is gone."""
    match event:
        case ev.ObjectCreated():
            kept: Event = ev.ObjectCreated(object_id=event.object_id, type=event.type, name=None)
        case ev.ObjectRenamed():
            kept = ev.ObjectRenamed(object_id=event.object_id, name=None)
        case ev.Asserted():
            kept = ev.Asserted(
                object_id=event.object_id,
                property=event.property,
                value=None,
                many=event.many,
                grounds=_bare(event.grounds),
                replaces=event.replaces,
            )
        case ev.Linked():
            kept = ev.Linked(
                object_id=event.object_id,
                type=event.type,
                dst_id=event.dst_id,
                grounds=None,
                replaces=event.replaces,
            )
        case _:
            kept = event
    return payload_text(kept, reason=None, salt=None)


def _bare(grounds: Grounds) -> Grounds:
    return Grounds(
        source=grounds.source,
        evidence_class=grounds.evidence_class,
        rule=grounds.rule,
        band=grounds.band,
        root="-",
    )


def _facts(event: Event) -> Payload:
    match event:
        case ev.Asserted():
            parts = _grounds_facts(event.grounds)
            parts["property"] = event.property
            if event.many:
                parts["many"] = True
            parts |= _replaces(event.replaces)
        case ev.Linked():
            parts = {} if event.grounds is None else _grounds_facts(event.grounds)
            parts["type"] = event.type
            parts |= _replaces(event.replaces)
        case ev.ObjectCreated():
            parts = {"type": event.type} | _named(event.name)
        case ev.ObjectRenamed():
            parts = _named(event.name)
        case ev.StatusChanged():
            parts = {"before": event.before.value, "after": event.after.value}
        case ev.Merged() | ev.Unmerged():
            parts = {}
        case ev.Reobserved() | ev.Retracted() | ev.Unlinked():
            parts = {"of_pos": event.of_pos}
        case ev.Redacted():
            parts = {"targets": list(event.targets), "skeletons": list(event.skeletons)}
        case ev.PrincipalChanged():
            parts = _principal_facts(event)
        case _:
            assert_never(event)
    return parts


def _named(name: str | None) -> Payload:
    return {} if name is None else {"name": name}


def _replaces(pos: int | None) -> Payload:
    return {} if pos is None else {"replaces": pos}


def _grounds_facts(grounds: Grounds) -> Payload:
    parts: Payload = {
        "source": grounds.source,
        "class": grounds.evidence_class.value,
        "rule": grounds.rule,
        "band": int(grounds.band),
        "root": grounds.root,
    }
    if grounds.evidence is not None:
        parts["evidence"] = grounds.evidence
    if grounds.derived_from:
        parts["derived_from"] = [str(parent) for parent in grounds.derived_from]
    if grounds.valid_from is not None:
        parts["valid_from"] = grounds.valid_from
    if grounds.valid_to is not None:
        parts["valid_to"] = grounds.valid_to
    return parts


def _principal_facts(event: ev.PrincipalChanged) -> Payload:
    parts: Payload = {
        "principal": str(event.principal_id),
        "change": event.change.value,
        "name": event.name,
        "role": event.role,
        "audiences": list(event.audiences),
        "owned_sources": list(event.owned_sources),
        "default_audience": event.default_audience,
    }
    if event.token_id is not None:
        parts["token_id"] = str(event.token_id)
    if event.expires_at is not None:
        parts["expires_at"] = event.expires_at
    return parts


def _encode(parts: Payload) -> str:
    encoded: list[str] = []
    for key in sorted(parts):
        part = parts[key]
        if part.__class__ is str:
            encoded.append(f'"{key}":{encode_string(part)}')
        else:
            encoded.append(f'"{key}":{_dump(part)}')
    return "{" + ",".join(encoded) + "}"


_dump: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), check_circular=False
).encode


def _grounds(parts: Mapping[str, Any]) -> Grounds:
    parents = parts.get("derived_from")
    return Grounds(
        source=parts["source"],
        evidence_class=_CLASSES[parts["class"]],
        rule=parts["rule"],
        band=_BANDS[parts["band"]],
        root=parts["root"],
        evidence=parts.get("evidence"),
        derived_from=tuple(UUID(parent) for parent in parents) if parents else (),
        valid_from=parts.get("valid_from"),
        valid_to=parts.get("valid_to"),
    )


def _parse_on_object(
    kind: Kind, parts: Payload, oid: UUID, related: UUID | None, value: str | None
) -> Event:
    match kind:
        case Kind.ASSERTED:
            return ev.Asserted(
                object_id=oid,
                property=parts["property"],
                value=value,
                many="many" in parts,
                grounds=_grounds(parts),
                replaces=parts.get("replaces"),
            )
        case Kind.REOBSERVED:
            return ev.Reobserved(object_id=oid, of_pos=parts["of_pos"])
        case Kind.OBJECT_CREATED:
            return ev.ObjectCreated(object_id=oid, type=parts["type"], name=parts.get("name"))
        case Kind.OBJECT_RENAMED:
            return ev.ObjectRenamed(object_id=oid, name=parts.get("name"))
        case Kind.STATUS_CHANGED:
            return ev.StatusChanged(
                object_id=oid, before=Status(parts["before"]), after=Status(parts["after"])
            )
        case Kind.RETRACTED:
            return ev.Retracted(object_id=oid, of_pos=parts["of_pos"])
        case _:
            return _parse_on_two(kind, parts, oid, _need(related))


def _parse_on_two(kind: Kind, parts: Payload, oid: UUID, other: UUID) -> Event:
    match kind:
        case Kind.LINKED:
            grounds = _grounds(parts) if "source" in parts else None
            return ev.Linked(
                object_id=oid,
                type=parts["type"],
                dst_id=other,
                grounds=grounds,
                replaces=parts.get("replaces"),
            )
        case Kind.UNLINKED:
            return ev.Unlinked(object_id=oid, dst_id=other, of_pos=parts["of_pos"])
        case Kind.MERGED:
            return ev.Merged(object_id=oid, survivor_id=other)
        case Kind.UNMERGED:
            return ev.Unmerged(object_id=oid, survivor_id=other)
        case _:
            raise ValueError(f"{kind} is of a later version than this one")


def _need(related: UUID | None) -> UUID:
    if related is None:
        raise ValueError("the event concerns two objects, and the second is missing")
    return related


def _parse_global(kind: Kind, parts: Payload) -> Event:
    if kind is Kind.REDACTED:
        return ev.Redacted(targets=tuple(parts["targets"]), skeletons=tuple(parts["skeletons"]))
    if kind is not Kind.PRINCIPAL_CHANGED:
        raise ValueError(f"{kind} concerns an object, and none is named")
    token = parts.get("token_id")
    return ev.PrincipalChanged(
        principal_id=UUID(parts["principal"]),
        change=ev.PrincipalChange(parts["change"]),
        name=parts["name"],
        role=parts["role"],
        audiences=tuple(parts["audiences"]),
        owned_sources=tuple(parts["owned_sources"]),
        default_audience=parts["default_audience"],
        token_id=UUID(token) if token else None,
        expires_at=parts.get("expires_at"),
    )


_KINDS: Final[dict[type, Kind]] = {
    ev.ObjectCreated: Kind.OBJECT_CREATED,
    ev.ObjectRenamed: Kind.OBJECT_RENAMED,
    ev.StatusChanged: Kind.STATUS_CHANGED,
    ev.Merged: Kind.MERGED,
    ev.Unmerged: Kind.UNMERGED,
    ev.Asserted: Kind.ASSERTED,
    ev.Reobserved: Kind.REOBSERVED,
    ev.Retracted: Kind.RETRACTED,
    ev.Linked: Kind.LINKED,
    ev.Unlinked: Kind.UNLINKED,
    ev.Redacted: Kind.REDACTED,
    ev.PrincipalChanged: Kind.PRINCIPAL_CHANGED,
}
_CLASSES: Final = {c.value: c for c in EvidenceClass}
_BANDS: Final = {int(b): b for b in Band}
VIAS: Final = {via.value: via for via in Via}
