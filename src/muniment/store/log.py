"""Read the log: its head, its events in order, and whether its chain holds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from muniment.domain.codec import VIAS, parse_payload
from muniment.domain.errors import MunimentError
from muniment.domain.events import Envelope
from muniment.store.database import Connection, Executor
from muniment.store.statements import load

_SQL = load("log.sql")
_PAGE = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a log stands. events: rows that are there; last_hash: of the last of them."""

    genesis: bytes
    pos: int
    hash: bytes
    events: int
    last_hash: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenEvent:
    """An event that the chain does not vouch for, and in which ways.

    previous_pos: of the event before it that is there.
    """

    pos: int
    previous_pos: int
    out_of_order: bool
    payload_changed: bool
    payload_missing: bool
    chain_broken: bool


class UnreadableEvent(MunimentError):
    """An event's payload is not what its kind must hold."""

    default_code = "unreadable_event"


async def read_head(executor: Executor, workspace_id: UUID) -> Head:
    """Return where the log stands."""
    row = await executor.fetchrow(_SQL["head"], workspace_id)
    if row is None:
        raise LookupError("the workspace has no log")
    return Head(**dict(row))


async def hash_at(executor: Executor, workspace_id: UUID, pos: int) -> bytes | None:
    """Return the chain's hash at `pos`, if there is an event."""
    return await executor.fetchval(_SQL["hash_at"], workspace_id, pos)


async def allow_minutes(connection: Connection) -> None:
    """Lift the timeouts of statements and of thinking between them, for this transaction."""
    await connection.fetchval(_SQL["allow_minutes"])


async def broken_events(
    executor: Executor, workspace_id: UUID, *, after: int, upto: int, genesis: bytes
) -> list[BrokenEvent]:
    """Return the events in (after, upto] that break the chain, at most 100, oldest first."""
    rows = await executor.fetch(_SQL["broken"], workspace_id, after, upto, genesis, timeout=3600)
    return [BrokenEvent(**dict(row)) for row in rows]


async def read_envelopes(
    connection: Connection, workspace_id: UUID, *, upto: int, after: int = 0
) -> AsyncGenerator[list[Envelope]]:
    """Yield the events in (after, upto] in order, in pages; skeletons stand in for redacted ones.

    Raises:
        UnreadableEvent: a payload cannot be read, or is gone without a redaction.
    """
    bones = await _skeletons(connection, workspace_id, upto)
    page = asyncio.ensure_future(_fetch(connection, workspace_id, after, upto))
    try:
        while rows := await page:
            page = asyncio.ensure_future(_fetch(connection, workspace_id, rows[-1]["pos"], upto))
            yield [_envelope(row, bones) for row in rows]
    finally:
        if not page.done():
            await page


async def _fetch(
    connection: Connection, workspace_id: UUID, after: int, upto: int
) -> list[asyncpg.Record]:
    return await connection.fetch(_SQL["page"], workspace_id, after, upto, _PAGE)


async def _skeletons(connection: Connection, workspace_id: UUID, upto: int) -> dict[int, str]:
    found: dict[int, str] = {}
    for row in await connection.fetch(_SQL["skeletons"], workspace_id, upto):
        try:
            parts = json.loads(row["payload"] or "")
            found.update(zip(parts["targets"], parts["skeletons"], strict=True))
        except (ValueError, KeyError, TypeError) as error:
            raise _unreadable("redacted", row["pos"], error) from error
    return found


def _unreadable(kind: str, pos: int, error: Exception) -> UnreadableEvent:
    return UnreadableEvent(
        f"The {kind} at pos {pos} cannot be read: {error}",
        next_step="Restore the log from an archive or a backup.",
        details={"pos": pos},
    )


def _envelope(row: asyncpg.Record, bones: dict[int, str]) -> Envelope:
    pos, event_id, kind, object_id, related_id, actor_id, via, audience, moment, payload = row
    if payload is None:
        payload = bones.get(pos, "")
    try:
        event, reason = parse_payload(kind, payload, object_id, related_id)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(kind, pos, error) from error
    return Envelope(
        pos=pos,
        event_id=event_id,
        actor_id=actor_id,
        via=VIAS[via],
        audience=audience,
        recorded_at=moment,
        reason=reason,
        event=event,
    )
