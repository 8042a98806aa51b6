"""A follower of the log: each event once, in order, none missing, for as long as it is wanted.

Positions are dense and given under the head's lock, so what comes after the last one seen is all
there is to know: no event can appear below it later. A follower asks again after an interval, or
as soon as somebody who knows of a write sets its bell.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Final
from uuid import UUID

from muniment.domain import codec
from muniment.domain.events import Envelope
from muniment.store.database import Database, reachable
from muniment.store.read import events
from muniment.store.read.events import EventRow

PAGE: Final = 500


async def follow(
    database: Database,
    workspace_id: UUID,
    after_pos: int,
    *,
    interval: float = 1.0,
    bell: asyncio.Event | None = None,
    page: int = PAGE,
) -> AsyncGenerator[Envelope]:
    """Yield the events of a workspace past `after_pos`, and go on as they are written.

    A redacted event comes with its skeleton. interval: seconds between looks when there is
    nothing new; `bell` ends the wait at once.

    Raises:
        Unavailable: the database does not answer; a new follower goes on from the last pos.
    """
    at = after_pos
    while True:
        if bell is not None:
            bell.clear()
        async with reachable():
            rows = await events.after(database.reader, workspace_id, at, page)
        for row in rows:
            yield envelope(row)
            at = row.pos
        if not rows:
            await _wait(bell, interval)


def envelope(row: EventRow) -> Envelope:
    """Return the event of a row of the log."""
    event, reason = codec.parse_payload(
        row.kind, row.payload or "{}", row.object_id, row.related_id
    )
    return Envelope(
        pos=row.pos,
        event_id=row.event_id,
        actor_id=row.actor_id,
        via=codec.VIAS[row.via],
        audience=row.audience,
        recorded_at=row.recorded_at,
        reason=reason,
        event=event,
    )


async def _wait(bell: asyncio.Event | None, interval: float) -> None:
    if bell is None:
        await asyncio.sleep(interval)
        return
    try:
        await asyncio.wait_for(bell.wait(), timeout=interval)
    except TimeoutError:
        return
