"""The history of one property: each version of each source, what closed it and what came after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import orjson

from muniment.domain.canonical import Json
from muniment.domain.errors import Malformed
from muniment.domain.identity import Reader
from muniment.domain.limits import VALUE_BYTES
from muniment.reads import cursors, shown
from muniment.reads.arguments import MOST_CHARS, TraceQuery
from muniment.reads.claims import VALUE_CHARS, shown_claim
from muniment.reads.resolve import resolve
from muniment.reads.shown import Shown
from muniment.reads.trace import group_below
from muniment.store.database import Executor
from muniment.store.read import lens, objects
from muniment.store.read.lens import Version

WHOLE_LIMIT: Final = 1
"""A history asked for one version at a time shows each value whole."""


async def history(executor: Executor, secret: bytes, reader: Reader, query: TraceQuery) -> Shown:
    """Return the versions of a property, oldest first, a page at a time.

    With a limit of 1 the value comes whole, however long it is.

    Raises:
        NotFound, Malformed: no such object, no property named, a cursor that belongs elsewhere.
    """
    if query.property is None:
        raise Malformed(
            "property is required.",
            code="missing_argument",
            field="property",
            next_step="Name the property, or leave history for trace.",
        )
    found = await resolve(executor, reader, query.ref)
    asked = cursors.question("history", id=found.object_id, property=query.property)
    place = None if query.cursor is None else cursors.unseal(secret, reader, asked, query.cursor)
    group = await group_below(executor, reader, found)
    rows = await lens.versions(
        executor,
        reader,
        group,
        query.property,
        after=place["pos"] if place else 0,
        preview=VALUE_BYTES if query.limit == WHOLE_LIMIT else VALUE_CHARS,
        limit=query.limit + 1,
    )
    answer: Shown = {"object": shown.obj(found.object_id, found.type, found.name)}
    answer["property"] = query.property
    names = await _names(executor, reader, found.head_id, group)
    made: list[Shown] = []
    size = 0
    for row in rows[: query.limit]:
        version = shown_claim(
            row, 0, names, found.object_id, whole=query.limit == WHOLE_LIMIT
        ) | _closing(row)
        size += len(orjson.dumps(version))
        if made and size > MOST_CHARS:
            break
        made.append(version)
    answer["versions"] = [*made]
    if len(made) < len(rows):
        answer["cursor"] = cursors.seal(secret, reader, asked, {"pos": rows[len(made) - 1].pos})
    return answer


async def _names(
    executor: Executor, reader: Reader, head_id: UUID, group: Sequence[UUID]
) -> dict[UUID, str]:
    if len(group) == 1:
        return {}
    members = await objects.group_of(executor, reader, head_id)
    return {member.object_id: member.name for member in members}


def _closing(row: Version) -> Shown:
    """Return what closed a version; a superseded one also names its successor."""
    if row.closed_pos is None or row.closing is None:
        return {"current": True}
    closed: dict[str, Json] = {"pos": row.closed_pos}
    if row.closed_at is not None and row.closed_actor_id is not None:
        closed["at"] = shown.time(row.closed_at)
        closed["actor"] = shown.actor(row.closed_actor_id, row.closed_actor)
    if row.closed_why is not None:
        closed["reason"] = row.closed_why
    if row.closing == "superseded" and row.closed_by is not None:
        closed["successor"] = str(row.closed_by)
    return {row.closing: closed}
