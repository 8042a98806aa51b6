"""Objects by type and status, a page at a time, and those that nobody looked at for long."""

from __future__ import annotations

from uuid import UUID

from muniment.domain.canonical import Json
from muniment.domain.identity import Reader
from muniment.domain.model import Status
from muniment.reads import cursors, shown
from muniment.reads.arguments import ListQuery
from muniment.reads.resolve import known_type
from muniment.reads.shown import Shown
from muniment.store.database import Executor
from muniment.store.read import objects


async def list_objects(
    executor: Executor, secret: bytes, reader: Reader, query: ListQuery
) -> Shown:
    """Return objects of a type and status by id, with when each was last observed.

    Raises:
        Malformed: an unknown type, a cursor that does not belong here.
    """
    type_ = await known_type(executor, reader, query.type)
    asked = cursors.question(
        "list", type=type_, status=query.status.value, stale_before=query.stale_before
    )
    place = None if query.cursor is None else cursors.unseal(secret, reader, asked, query.cursor)
    rows = await objects.list_objects(
        executor,
        reader,
        status=query.status.value,
        type_=type_,
        stale_before=query.stale_before,
        after=UUID(place["id"]) if place else None,
        limit=query.limit + 1,
    )
    listed: list[Json] = []
    for row in rows[: query.limit]:
        made = shown.obj(row.object_id, row.type, row.name)
        if row.status != Status.ACTIVE:
            made["status"] = row.status
        made["claims"] = row.claims
        if row.last_observed is not None:
            made["last_observed"] = shown.time(row.last_observed)
        listed.append(made)
    answer: Shown = {"objects": listed}
    if query.stale_before is not None:
        answer["stale_before"] = shown.time(query.stale_before)
    if len(rows) > query.limit:
        last = rows[query.limit - 1]
        answer["cursor"] = cursors.seal(secret, reader, asked, {"id": str(last.object_id)})
    return answer


async def count_objects(executor: Executor, reader: Reader) -> Shown:
    """Return how many objects of each type and status the reader may know of."""
    counts: dict[str, Json] = {}
    for type_, status, count in await objects.count_objects(executor, reader):
        of_status = counts.setdefault(status, {})
        assert isinstance(of_status, dict)
        of_status[type_] = count
    return counts
