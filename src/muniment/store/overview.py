"""What an operator wants to know of a database as a whole: how much is in it, whether it is sound.

Nothing of this reaches a reader: totals depend on rows that it may not see.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from muniment.store.database import Database, reachable
from muniment.store.statements import load

_SQL = load("overview.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Events of a workspace's log, and its active objects."""

    events: int
    objects: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """A server as it is. own_similarity: pg_trgm's of a text outside ASCII with itself, 1 if sound.

    bytes: the size of the database.
    """

    version: str
    version_number: int
    clock: datetime
    locale: str
    own_similarity: float
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeFacts:
    """A type of a workspace. added: by its operator, not built in."""

    name: str
    description: str
    added: bool


async def workspace_types(database: Database, workspace_id: UUID) -> list[TypeFacts]:
    """Return the types of a workspace, by name."""
    async with reachable():
        rows = await database.writer.fetch(_SQL["types"], workspace_id)
    return [TypeFacts(**dict(row)) for row in rows]


async def count(database: Database, workspace_id: UUID) -> Counts:
    """Count what a workspace holds."""
    async with reachable():
        row = await database.writer.fetchrow(_SQL["counts"], workspace_id)
    return Counts(events=0, objects=0) if row is None else Counts(**dict(row))


async def server_facts(database: Database) -> ServerFacts:
    """Ask the server about itself."""
    async with reachable():
        row = await database.writer.fetchrow(_SQL["server"])
    assert row is not None
    return ServerFacts(**dict(row))


async def log_grants(database: Database) -> dict[str, set[str]]:
    """Return which verbs each role may use on the log."""
    async with reachable():
        rows = await database.writer.fetch(_SQL["grants"])
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["role"], set())
        if row["granted"]:
            found[row["role"]].add(row["verb"])
    return found


async def log_guards(database: Database) -> int:
    """Count the triggers on the log that no session can switch off."""
    async with reachable():
        return await database.writer.fetchval(_SQL["guards"])
