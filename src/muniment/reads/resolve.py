"""Find the object that a reader means. What it cannot see is absent: the two are one answer."""

from __future__ import annotations

from datetime import datetime

from muniment.domain.catalog import TYPES, require_same_type, require_type
from muniment.domain.commands import Ref
from muniment.domain.errors import Malformed, NotFound
from muniment.domain.identity import FLEET, Reader, private_audience
from muniment.domain.text import canonical_name
from muniment.store.database import Executor
from muniment.store.read import objects as store
from muniment.store.read.objects import FoundObject
from muniment.store.read.recall import added_types, nearest_names


async def resolve(
    executor: Executor, reader: Reader, ref: Ref, *, field: str = "about"
) -> FoundObject:
    """Return the object that `ref` names, of any status.

    Among visible objects of one type that share a name, the nearest audience wins: the reader's
    own, then a project, then the fleet.

    Raises:
        NotFound: absent or hidden.
        Malformed: `ambiguous_name`, naming the types that are visible; unknown type, or not the
            object's.
    """
    if ref.object_id is not None:
        found = await store.object_by_id(executor, reader, ref.object_id)
        if found is None:
            raise _absent(ref, field, None)
        if ref.type is not None:
            added = await added_types(executor, reader)
            require_same_type(ref.type, found.type, added)
        return found
    type_ = await known_type(executor, reader, ref.type)
    canonical = ref.canonical or canonical_name(ref.name or "")
    rows = await store.objects_by_name(executor, reader, canonical, type_)
    if not rows:
        near = await nearest_names(executor, reader, [canonical], 1)
        raise _absent(ref, field, near[0] if near else None)
    types = sorted({row.type for row in rows})
    if len(types) > 1:
        raise Malformed(
            f"{ref.name!r} is the name of objects of several types.",
            code="ambiguous_name",
            field="type",
            next_step=f"Give the type: {', '.join(types)}.",
            details={"types": [*types]},
        )
    return min(rows, key=lambda row: _distance(reader, row.audience))


async def known_type(
    executor: Executor, reader: Reader, type_: str | None, field: str = "type"
) -> str | None:
    """Return a type in the catalog's spelling.

    Raises:
        Malformed: unknown; the error names the nearest.
    """
    if type_ is None or type_ in TYPES:
        return type_
    return require_type(type_, await added_types(executor, reader), field)


async def known_pos(
    executor: Executor, reader: Reader, known_at: int | datetime | None
) -> int | None:
    """Return the pos that `known_at` means: itself, or the last one at that moment."""
    if isinstance(known_at, datetime):
        return await store.pos_at(executor, reader.workspace_id, known_at)
    return known_at


def _distance(reader: Reader, audience: str) -> tuple[int, str]:
    if audience == private_audience(reader.principal_id):
        return 0, audience
    return (2 if audience == FLEET else 1), audience


def _absent(ref: Ref, field: str, near: tuple[str, str] | None) -> NotFound:
    return NotFound(
        f"There is no {ref.shown()}.",
        field=field,
        next_step=f"Did you mean {near[1]} {near[0]!r}?"
        if near
        else "Look it up with recall, or check the spelling.",
    )
