"""The trace: every event of an object and of all that is merged into it, in the order of the log.

Events of objects that were merged, archived or retired are here as well: the log forgets nothing,
and what a redaction emptied says by which one.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import orjson

from muniment.domain import codec, events
from muniment.domain.identity import Reader
from muniment.reads import cursors, shown, snippets
from muniment.reads.arguments import MOST_CHARS, TraceQuery
from muniment.reads.claims import HOW_TO_SEE, VALUE_CHARS
from muniment.reads.resolve import resolve
from muniment.reads.shown import Shown
from muniment.store.database import Executor
from muniment.store.read import events as store
from muniment.store.read import objects
from muniment.store.read.events import TracedRow
from muniment.store.read.objects import FoundObject


async def trace(executor: Executor, secret: bytes, reader: Reader, query: TraceQuery) -> Shown:
    """Return the events of an object, a page at a time.

    Raises:
        NotFound, Malformed: no such object, a cursor that does not belong here.
    """
    found = await resolve(executor, reader, query.ref)
    asked = cursors.question("trace", id=found.object_id)
    place = None if query.cursor is None else cursors.unseal(secret, reader, asked, query.cursor)
    group = await group_below(executor, reader, found)
    rows = await store.of_objects(
        executor, reader, group, after=place["pos"] if place else 0, limit=query.limit + 1
    )
    answer: Shown = {"object": shown.obj(found.object_id, found.type, found.name)}
    answer["status"] = found.status
    if found.head_id != found.object_id:
        answer["merged_into"] = shown.obj(found.head_id, found.head_type, found.head_name)
    made: list[Shown] = []
    size = 0
    for row in rows[: query.limit]:
        event = _event(row, found.object_id)
        size += len(orjson.dumps(event))
        if made and size > MOST_CHARS:
            break
        made.append(event)
    answer["events"] = [*made]
    if len(made) < len(rows):
        answer["cursor"] = cursors.seal(secret, reader, asked, {"pos": rows[len(made) - 1].pos})
    return answer


async def group_below(executor: Executor, reader: Reader, found: FoundObject) -> Sequence[UUID]:
    """Return the ids of an object and of all that is merged into it, directly or not."""
    members = await objects.group_of(executor, reader, found.head_id)
    group: dict[UUID, None] = {found.object_id: None}
    before = 0
    while len(group) > before:
        before = len(group)
        group |= {m.object_id: None for m in members if m.merged_into in group}
    return list(group)


def _event(row: TracedRow, about: UUID) -> Shown:
    made: Shown = {
        "pos": row.pos,
        "kind": row.kind,
        "at": shown.time(row.recorded_at),
        "actor": shown.actor(row.actor_id, row.actor),
        "via": row.via,
        "id": str(row.event_id),
    }
    if row.object_id != about:
        made["of"] = {"id": str(row.object_id), "name": row.object_name}
    if row.related_id is not None and row.related_id != about:
        made["to"] = {"id": str(row.related_id), "name": row.related_name or ""}
    if row.payload is None:
        made["redacted"] = f"redacted by pos {row.redacted_by}"
        return made
    event, reason = codec.parse_payload(row.kind, row.payload, row.object_id, row.related_id)
    made |= _facts(event)
    if reason is not None:
        made["reason"] = reason
    return made


def _facts(event: events.Event) -> Shown:
    match event:
        case events.ObjectCreated():
            return shown.present({"type": event.type, "name": event.name})
        case events.ObjectRenamed():
            return shown.present({"name": event.name})
        case events.StatusChanged():
            return {"before": event.before.value, "after": event.after.value}
        case events.Asserted():
            return {"property": event.property} | _value(event.value) | _grounds(event.grounds)
        case events.Linked():
            made: Shown = {"link": event.type}
            return made | (_grounds(event.grounds) if event.grounds is not None else {})
        case events.Reobserved() | events.Retracted() | events.Unlinked():
            return {"of_pos": event.of_pos}
        case events.Merged() | events.Unmerged():
            return {}
        case events.Redacted():
            return {"targets": [*event.targets]}
        case events.PrincipalChanged():
            return {"change": event.change.value}


def _value(value: str | None) -> Shown:
    if value is None:
        return {}
    if len(value) < VALUE_CHARS:
        return {"value": snippets.whole(value)}
    cut = snippets.text_of(value[:VALUE_CHARS])
    return {
        "value": cut,
        "truncated": True,
        "bytes": len(value.encode()),
        "whole": HOW_TO_SEE,
    }


def _grounds(grounds: events.Grounds) -> Shown:
    return {"source": grounds.source} | shown.present(
        {
            "class": grounds.evidence_class.value,
            "band": grounds.band.label,
            "evidence": grounds.evidence,
            "derived_from": [str(parent) for parent in grounds.derived_from],
            "valid": shown.valid(grounds.valid_from, grounds.valid_to),
        }
    )
