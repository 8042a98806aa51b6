"""The statements that find objects: by id, by name, by type and status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from muniment.domain.identity import Reader
from muniment.store.database import Executor
from muniment.store.read.eyes import eyes_of
from muniment.store.statements import load

_SQL = load("read/objects.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundObject:
    """An object as it stands, and the object that answers for it today (itself unless merged)."""

    object_id: UUID
    type: str
    name: str
    status: str
    merged_into: UUID | None
    head_id: UUID
    audience: str
    created_by: UUID
    created_pos: int
    version: int
    head_type: str
    head_name: str
    head_status: str


class NameOf(NamedTuple):
    """One name that leads to an object, and which object of its merged group it belongs to."""

    object_id: UUID
    name: str
    is_current: bool


class Member(NamedTuple):
    """One object of a merged group."""

    object_id: UUID
    type: str
    name: str
    merged_into: UUID | None


class Listed(NamedTuple):
    """An object in a list. last_observed: of any claim in force, None without one."""

    object_id: UUID
    type: str
    name: str
    status: str
    audience: str
    last_observed: datetime | None
    claims: int


async def object_by_id(executor: Executor, reader: Reader, object_id: UUID) -> FoundObject | None:
    """Return the object of that id, if the reader may know of it."""
    row = await executor.fetchrow(_SQL["by_id"], *eyes_of(reader), object_id)
    return None if row is None else FoundObject(**dict(row))


async def objects_by_name(
    executor: Executor, reader: Reader, canonical: str, type_: str | None
) -> list[FoundObject]:
    """Return the objects that a name leads to, those that bear it now first."""
    rows = await executor.fetch(_SQL["by_name"], *eyes_of(reader), canonical, type_)
    return [FoundObject(**dict(row)) for row in rows]


async def group_of(executor: Executor, reader: Reader, head_id: UUID) -> list[Member]:
    """Return an object, then what is merged into it, oldest first."""
    rows = await executor.fetch(_SQL["group_of"], *eyes_of(reader), head_id)
    return [Member(*row) for row in rows]


async def names_of(
    executor: Executor, reader: Reader, group: Sequence[UUID], limit: int
) -> list[NameOf]:
    """Return the names that lead to a group of objects, in the order of the group."""
    rows = await executor.fetch(_SQL["names_of"], *eyes_of(reader), list(group), limit)
    return [NameOf(*row) for row in rows]


async def list_objects(
    executor: Executor,
    reader: Reader,
    *,
    status: str,
    type_: str | None,
    stale_before: datetime | None,
    after: UUID | None,
    limit: int,
) -> list[Listed]:
    """Return objects by id. stale_before: only what was not observed since then."""
    rows = await executor.fetch(
        _SQL["list_objects"], *eyes_of(reader), status, type_, stale_before, after, limit
    )
    return [Listed(*row) for row in rows]


async def count_objects(executor: Executor, reader: Reader) -> list[tuple[str, str, int]]:
    """Return (type, status, count) of what the reader may know of."""
    rows = await executor.fetch(_SQL["count_objects"], *eyes_of(reader))
    return [(row["type"], row["status"], row["objects"]) for row in rows]


async def pos_at(executor: Executor, workspace_id: UUID, moment: datetime) -> int:
    """Return the last pos that was in the log at a moment, 0 for none."""
    found: int = await executor.fetchval(_SQL["pos_at"], workspace_id, moment)
    return found
