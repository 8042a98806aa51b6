"""The statements that read the log: the events of objects, of identities, of everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from muniment.domain.identity import Reader
from muniment.store.database import Executor
from muniment.store.read.eyes import eyes_of
from muniment.store.statements import load

_SQL = load("read/events.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """One row of the log. payload: None once redacted."""

    pos: int
    event_id: UUID
    kind: str
    object_id: UUID | None
    related_id: UUID | None
    actor_id: UUID
    via: str
    audience: str | None
    recorded_at: datetime
    payload: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedRow(EventRow):
    """An event with the names in it. redacted_by: pos of the redaction that emptied it."""

    actor: str | None
    redacted_by: int | None
    object_name: str
    related_name: str | None


async def of_objects(
    executor: Executor, reader: Reader, group: Sequence[UUID], *, after: int, limit: int
) -> list[TracedRow]:
    """Return events after a pos that concern one of the objects, in order."""
    rows = await executor.fetch(_SQL["of_objects"], *eyes_of(reader), list(group), after, limit)
    return [TracedRow(**dict(row)) for row in rows]


async def of_identity(
    executor: Executor, reader: Reader, object_id: UUID, *, until: int
) -> list[EventRow]:
    """Return what made, named, merged or moved an object and its kin up to a pos, in order."""
    rows = await executor.fetch(_SQL["of_identity"], *eyes_of(reader), object_id, until)
    return [EventRow(**dict(row)) for row in rows]


async def why_status(executor: Executor, reader: Reader, object_id: UUID) -> str | None:
    """Return the reason of the event that gave an object its status."""
    found: Any = await executor.fetchval(_SQL["why_status"], *eyes_of(reader), object_id)
    return None if found is None else str(found)


async def after(executor: Executor, workspace_id: UUID, pos: int, limit: int) -> list[EventRow]:
    """Return the next events of the whole log after a pos, in order."""
    rows = await executor.fetch(_SQL["after"], workspace_id, pos, limit)
    return [EventRow(**dict(row)) for row in rows]
