"""Restore projections from the log, and logs from archives. Both hold the head while they work."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from muniment.actions.collector import collector_paused
from muniment.actions.rows import rows_of
from muniment.domain import codec
from muniment.domain.archive import ArchiveHeader, ArchiveRow
from muniment.domain.canonical import Json
from muniment.domain.errors import Malformed, Refused
from muniment.domain.evolve import evolve
from muniment.domain.state import State
from muniment.store import log as event_log
from muniment.store.database import Connection, Database, reachable
from muniment.store.log import Head
from muniment.store.write import append as raw
from muniment.store.write import projections as tables
from muniment.store.write.load import lock_head

_CHUNK: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildReport:
    """How many events were folded, and how many rows each projection has now."""

    events: int
    rows: dict[str, int]

    def as_json(self) -> dict[str, Json]:
        """Return the report as flat JSON."""
        return {"events": self.events, "rows": dict(self.rows)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """What became of an archive.

    outcome: `imported` into an empty log, `extended` one, or `already_there`.
    events: how many were appended.
    """

    outcome: str
    events: int
    pos: int

    def as_json(self) -> dict[str, Json]:
        """Return the report as flat JSON."""
        return {"outcome": self.outcome, "events": self.events, "pos": self.pos}


@reachable()
async def rebuild(database: Database, workspace_id: UUID) -> RebuildReport:
    """Replace every projection by the fold of the log. Writers wait meanwhile; readers do not.

    Raises:
        UnreadableEvent: the log cannot be folded; nothing was changed.
    """
    async with database.writer.acquire() as connection, connection.transaction():
        await event_log.allow_minutes(connection)
        await lock_head(connection, workspace_id)
        head = await event_log.read_head(connection, workspace_id)
        return await _refill(connection, workspace_id, head.pos)


@reachable()
async def append_archive(
    database: Database,
    workspace_id: UUID,
    header: ArchiveHeader,
    rows: AsyncIterator[ArchiveRow],
) -> RestoreReport:
    """Append an archive's events where it continues this log, all of them or none.

    Raises:
        Malformed: a row does not continue the archive's own chain, or ends before its head.
        Refused: `archive_diverges`, when this log is not a beginning of the archive.
    """
    async with database.writer.acquire() as connection, connection.transaction():
        await event_log.allow_minutes(connection)
        await lock_head(connection, workspace_id)
        head = await event_log.read_head(connection, workspace_id)
        if head.pos == 0:
            await raw.adopt_genesis(connection, workspace_id, header.genesis)
        elif head.genesis != header.genesis:
            raise _diverges(0)
        await _require_common(connection, workspace_id, head, header)
        appended, emptied = await _append(connection, workspace_id, head, header, rows)
        if appended:
            await raw.move_head(connection, workspace_id, header.pos, header.hash)
            await raw.honour_redactions(connection, workspace_id, head.pos)
            await _refill(connection, workspace_id, header.pos)
        if missing := emptied - await raw.redacted_targets(connection, workspace_id):
            raise _broken(min(missing), "its payload is gone without a redaction")
    outcome = "imported" if head.pos == 0 else "extended" if appended else "already_there"
    return RestoreReport(outcome=outcome, events=appended, pos=max(head.pos, header.pos))


async def _require_common(
    connection: Connection, workspace_id: UUID, head: Head, header: ArchiveHeader
) -> None:
    """Refuse early an archive that ends within this log on another hash."""
    if 0 < header.pos <= head.pos:
        there = await event_log.hash_at(connection, workspace_id, header.pos)
        if there != header.hash:
            raise _diverges(header.pos)


async def _append(
    connection: Connection,
    workspace_id: UUID,
    head: Head,
    header: ArchiveHeader,
    rows: AsyncIterator[ArchiveRow],
) -> tuple[int, set[int]]:
    """Check the archive's chain row by row and insert what this log does not have."""
    previous, pos, appended = header.genesis, 0, 0
    emptied: set[int] = set()
    chunk: list[ArchiveRow] = []
    async for row in rows:
        pos += 1
        _require_chained(row, pos, previous)
        previous = row.hash
        if pos == head.pos and row.hash != head.hash:
            raise _diverges(pos)
        if pos <= head.pos:
            continue
        if row.payload is None:
            emptied.add(pos)
        appended += 1
        chunk.append(row)
        if len(chunk) == _CHUNK:
            await raw.insert_events(connection, workspace_id, chunk)
            chunk.clear()
    if chunk:
        await raw.insert_events(connection, workspace_id, chunk)
    if (pos, previous) != (header.pos, header.hash):
        raise _broken(pos, f"the archive ends here, and its header names pos {header.pos}")
    return appended, emptied


def _require_chained(row: ArchiveRow, pos: int, previous: bytes) -> None:
    if row.pos != pos:
        raise _broken(pos, "an event is missing or out of order")
    if row.payload is not None and codec.payload_digest(row.payload) != row.payload_hash:
        raise _broken(pos, "its payload was changed")
    header = codec.header_bytes(
        pos=row.pos,
        event_id=row.event_id,
        kind=row.kind,
        object_id=row.object_id,
        related_id=row.related_id,
        actor_id=row.actor_id,
        via=row.via,
        audience=row.audience,
        receipt_id=row.receipt_id,
        recorded_micros=codec.micros(row.recorded_at),
    )
    if codec.link_hash(previous, header, row.payload_hash) != row.hash:
        raise _broken(pos, "its hash does not continue the chain")


async def _refill(connection: Connection, workspace_id: UUID, upto: int) -> RebuildReport:
    with collector_paused():
        return await _fold_and_fill(connection, workspace_id, upto)


async def _fold_and_fill(connection: Connection, workspace_id: UUID, upto: int) -> RebuildReport:
    state = State()
    events = 0
    async for page in event_log.read_envelopes(connection, workspace_id, upto=upto):
        for envelope in page:
            evolve(state, envelope)
        events += len(page)
    counts: dict[str, int] = {}
    for table in tables.COLUMNS:
        await tables.empty_table(connection, workspace_id, table)
        rows = list(rows_of(table, state))
        await tables.fill_table(connection, workspace_id, table, rows)
        counts[table] = len(rows)
    return RebuildReport(events=events, rows=counts)


def _broken(pos: int, problem: str) -> Malformed:
    return Malformed(
        f"The archive is damaged at pos {pos} (line {pos + 1}): {problem}.",
        code="archive_damaged",
        field=f"line {pos + 1}",
        next_step="Nothing was imported. Export it again, or use another copy.",
    )


def _diverges(pos: int) -> Refused:
    return Refused(
        f"The archive and this log differ at pos {pos}: neither continues the other.",
        code="archive_diverges",
        next_step="Import it into a workspace of its own: --workspace NAME.",
        details={"pos": pos},
    )
