"""Rows that come as they are: the events of an archive; and what housekeeping removes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from datetime import timedelta
from uuid import UUID

from muniment.domain.archive import ArchiveRow
from muniment.store.database import Connection
from muniment.store.statements import load

_SQL = load("write/append.sql")
_AFTER = load("write/after.sql")


async def insert_events(
    connection: Connection, workspace_id: UUID, rows: Sequence[ArchiveRow]
) -> None:
    """Insert events as an archive holds them, hashes included."""
    columns = zip(*map(astuple, rows), strict=True)
    await connection.execute(_SQL["insert_events"], workspace_id, *columns)


async def adopt_genesis(connection: Connection, workspace_id: UUID, genesis: bytes) -> None:
    """Let an empty log start where an archive's chain starts."""
    await connection.execute(_SQL["adopt_genesis"], workspace_id, genesis)
    await move_head(connection, workspace_id, 0, genesis)


async def move_head(connection: Connection, workspace_id: UUID, pos: int, digest: bytes) -> None:
    """Set the head of the log."""
    await connection.execute(_SQL["move_head"], workspace_id, pos, digest)


async def redacted_targets(connection: Connection, workspace_id: UUID) -> set[int]:
    """Return every position that a redaction in the log names."""
    return {row["pos"] for row in await connection.fetch(_SQL["redacted_targets"], workspace_id)}


async def honour_redactions(connection: Connection, workspace_id: UUID, after: int) -> None:
    """Remove what redactions past `after` name: they may reach back to events that stood before."""
    for row in await connection.fetch(_SQL["redactions_after"], workspace_id, after):
        await connection.execute(_AFTER["redact_answers"], workspace_id, row["targets"])
        await connection.execute(_AFTER["empty_payloads"], workspace_id, row["pos"])


async def expire_retries(connection: Connection, workspace_id: UUID, retention: timedelta) -> int:
    """Remove kept answers older than `retention`; return how many."""
    done = await connection.execute(_SQL["expire_retries"], workspace_id, retention)
    return int(done.rpartition(" ")[2])
