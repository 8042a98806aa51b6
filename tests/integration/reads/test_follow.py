"""Owns the follower of the log: each position once, in order, none missing."""

from __future__ import annotations

import asyncio

import pytest

from muniment.domain import parse
from muniment.domain.events import Asserted, Envelope
from muniment.reads.follow import follow
from muniment.store.database import Database
from tests.integration.reads.desk import Desk

WRITERS = 16
CLAIMS = 25


async def _take(database: Database, desk: Desk, count: int) -> list[Envelope]:
    seen: list[Envelope] = []
    workspace = desk.who.reader.workspace_id
    async for envelope in follow(database, workspace, 0, interval=0.01, page=17):
        seen.append(envelope)
        if len(seen) == count:
            break
    return seen


async def test_follower_sees_each_pos_once_in_order_under_sixteen_writers(
    database: Database, desk: Desk
) -> None:
    async def write(writer: int) -> None:
        for n in range(CLAIMS):
            await desk.say(f"object {writer}", "note", f"claim {n}", type="Note")

    total = WRITERS * (CLAIMS + 1)
    follower = asyncio.create_task(_take(database, desk, total))
    late = asyncio.create_task(_take(database, desk, total))
    await asyncio.gather(*(write(writer) for writer in range(WRITERS)))
    for task in (follower, late):
        seen = await asyncio.wait_for(task, timeout=30)
        assert [envelope.pos for envelope in seen] == list(range(1, total + 1))
        assert len({envelope.event_id for envelope in seen}) == total


async def test_bell_ends_the_wait_at_once(database: Database, desk: Desk) -> None:
    bell = asyncio.Event()
    workspace = desk.who.reader.workspace_id
    events = follow(database, workspace, 0, interval=3_600, bell=bell)
    first = asyncio.ensure_future(anext(events))
    await desk.make("Note", "new")
    bell.set()
    assert (await asyncio.wait_for(first, timeout=10)).pos == 1
    await events.aclose()


@pytest.mark.promise("P2")
async def test_redacted_event_comes_as_its_skeleton(database: Database, desk: Desk) -> None:
    made = await desk.say("Billing", "note", "a secret", type="Service")
    redact = parse.parse_redact({"positions": [made["pos"]], "reason": "It was a secret."})
    await desk.do(redact)
    seen = await _take(database, desk, 3)
    emptied = seen[1].event
    assert isinstance(emptied, Asserted)
    assert emptied.value is None
    assert emptied.property == "note"
