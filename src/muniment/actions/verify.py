"""Prove that the log is whole and that every projection is its fold; name what is not.

The chain is checked in SQL, a second implementation of the hash, while Python folds the events
on another connection: the two share two processors. Both look at the log up to one head.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final, cast
from uuid import UUID

import orjson

from muniment.actions.collector import collector_paused
from muniment.actions.rows import rows_of
from muniment.domain.canonical import Json
from muniment.domain.codec import micros
from muniment.domain.evolve import evolve
from muniment.domain.state import State
from muniment.store import log as event_log
from muniment.store.database import Connection, Database, reachable
from muniment.store.log import BrokenEvent, Head, UnreadableEvent
from muniment.store.write import projections as tables

PROBLEMS_MAX: Final = 100
"""Problems that a report lists one by one; it counts all of them."""


@dataclass(slots=True, kw_only=True)
class VerifyReport:
    """What a verification found.

    events: how many were checked. head: (pos, hash in hex) that it looked at.
    rows: how many rows of each projection were compared.
    problems: {"pos"|"table", "key", "problem"} each, at most `PROBLEMS_MAX`; found counts all.
    """

    events: int
    pos: int
    head: str
    rows: dict[str, int] = field(default_factory=dict[str, int])
    problems: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])
    found: int = 0

    @property
    def ok(self) -> bool:
        return self.found == 0

    def add(self, problem: str, **where: Json) -> None:
        """Note a problem and where it is."""
        self.found += 1
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append({**where, "problem": problem})

    def as_json(self) -> dict[str, Json]:
        """Return the report as flat JSON."""
        return {
            "ok": self.ok,
            "events": self.events,
            "head": {"pos": self.pos, "hash": self.head},
            "rows": dict(self.rows),
            "problems": list(self.problems),
            "found": self.found,
        }


@reachable()
async def verify(
    database: Database,
    workspace_id: UUID,
    *,
    expected_head: tuple[int, bytes] | None = None,
    documents: bool = True,
) -> VerifyReport:
    """Check the chain of the whole log and compare every projection with a fold.

    expected_head: a head that was exported earlier; a log that was cut off and re-ended before it
        is whole in itself, and only this can tell.
    documents: compare the search documents too, lexeme by lexeme.

    Raises:
        Unavailable: the database does not answer.
    """
    async with (
        database.writer.acquire() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        head = await event_log.read_head(connection, workspace_id)
        report = VerifyReport(events=head.events, pos=head.pos, head=head.hash.hex())
        chain = asyncio.create_task(_check_chain(database, workspace_id, 0, head))
        try:
            await _check_head(connection, workspace_id, head, expected_head, report)
            with collector_paused():
                await _check_projections(connection, workspace_id, head, documents, report)
        finally:
            _report_chain(report, await chain)
    return report


@reachable()
async def verify_sample(
    database: Database, workspace_id: UUID, *, events: int = 20_000
) -> VerifyReport:
    """Check the chain of a stretch of the log that chance picks: what a heartbeat can afford."""
    async with database.reader.acquire() as connection:
        head = await event_log.read_head(connection, workspace_id)
        start = random.randint(0, max(0, head.pos - events))
        report = VerifyReport(events=min(events, head.pos), pos=head.pos, head=head.hash.hex())
    stop = Head(
        genesis=head.genesis,
        pos=min(head.pos, start + events),
        hash=head.hash,
        events=head.events,
        last_hash=head.last_hash,
    )
    _report_chain(report, await _check_chain(database, workspace_id, start, stop))
    return report


async def dump(database: Database, workspace_id: UUID) -> AsyncGenerator[str]:
    """Yield all projections as JSON lines, sorted by table and key, each without its line end."""
    async with (
        reachable(),
        database.writer.acquire() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        for table in sorted(tables.COLUMNS):
            columns = tables.COLUMNS[table]
            async for page in tables.read_rows(connection, workspace_id, table):
                for row in page:
                    line = {"table": table} | dict(zip(columns, map(_plain, row), strict=True))
                    yield orjson.dumps(line, default=str, option=orjson.OPT_SORT_KEYS).decode()


async def _check_chain(
    database: Database, workspace_id: UUID, after: int, head: Head
) -> list[BrokenEvent]:
    async with database.reader.acquire() as connection, connection.transaction(readonly=True):
        await event_log.allow_minutes(connection)
        return await event_log.broken_events(
            connection, workspace_id, after=after, upto=head.pos, genesis=head.genesis
        )


async def _check_head(
    connection: Connection,
    workspace_id: UUID,
    head: Head,
    expected: tuple[int, bytes] | None,
    report: VerifyReport,
) -> None:
    if head.events != head.pos:
        report.add(
            f"the head is at pos {head.pos} and {head.events} events are there", pos=head.pos
        )
    last = head.last_hash if head.events else head.genesis
    if last != head.hash:
        report.add("the head's hash is not that of the last event", pos=head.pos)
    if expected is None:
        return
    pos, digest = expected
    there = await event_log.hash_at(connection, workspace_id, pos) if pos else head.genesis
    if there is None:
        report.add("the log was cut off: the event of the exported head is gone", pos=pos)
    elif there != digest:
        report.add("the log differs from the exported head", pos=pos)


async def _check_projections(
    connection: Connection, workspace_id: UUID, head: Head, documents: bool, report: VerifyReport
) -> None:
    await event_log.allow_minutes(connection)
    state = State()
    try:
        # Closed at once when an event cannot be folded: its next page is under way already.
        async with aclosing(
            event_log.read_envelopes(connection, workspace_id, upto=head.pos)
        ) as pages:
            async for page in pages:
                for envelope in page:
                    evolve(state, envelope)
    except UnreadableEvent as error:
        report.add(error.message, pos=error.details.get("pos"))
        return
    except (KeyError, ValueError) as error:
        report.add(f"the log cannot be folded: {error!r}")
        return
    for table in tables.COLUMNS:
        if not documents and table == "search_documents":
            continue
        try:
            await _compare(connection, workspace_id, table, state, report)
        except KeyError as error:
            report.add(f"the log speaks of an object that it never made: {error}", table=table)


async def _compare(
    connection: Connection, workspace_id: UUID, table: str, state: State, report: VerifyReport
) -> None:
    wanted = {tables.key_of(table, row): row for row in rows_of(table, state)}
    report.rows[table] = len(wanted)
    vectors: list[tuple[int, str]] = []
    width = -1 if table == "search_documents" else None
    async for page in tables.read_rows(connection, workspace_id, table):
        for row in page:
            key = tables.key_of(table, row)
            expected = wanted.pop(key, None)
            if expected is None:
                report.add("the row is in no fold of the log", table=table, key=_shown(key))
                continue
            if row[:width] != expected[:width]:
                columns = tables.COLUMNS[table][:width]
                wrong = [c for c, a, b in zip(columns, row, expected, strict=False) if a != b]
                report.add(f"differs in {', '.join(wrong)}", table=table, key=_shown(key))
            elif width is not None:
                vectors.append((row[0], expected[-1]))
    for key in wanted:
        report.add("the row is missing", table=table, key=_shown(key))
    for pos in await tables.differing_documents(connection, workspace_id, vectors):
        report.add("differs in tsv", table=table, key=str(pos))


def _shown(key: Any) -> str:
    parts = cast("Sequence[object]", key if isinstance(key, tuple) else (key,))
    return " ".join(map(str, parts))


def _plain(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return cell.hex()
    return micros(cell) if hasattr(cell, "tzinfo") else cell


def _report_chain(report: VerifyReport, found: Sequence[BrokenEvent]) -> None:
    for broken in found:
        first, last = broken.previous_pos + 1, broken.pos - 1
        if first == last:
            report.add("the event is missing", pos=first)
        elif first < last:
            report.add(f"the events from here to pos {last} are missing", pos=first)
        report.add(_describe(broken), pos=broken.pos)


def _describe(broken: BrokenEvent) -> str:
    said: list[str] = []
    if broken.out_of_order:
        said.append("it does not follow the event before it")
    if broken.payload_changed:
        said.append("its payload was changed")
    if broken.payload_missing:
        said.append("its payload is gone without a redaction")
    if broken.chain_broken:
        said.append("its hash does not continue the chain")
    return "; ".join(said)
