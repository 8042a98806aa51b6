"""The raw log, read in order: what an archive is made of."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from muniment.domain.archive import ArchiveHeader, ArchiveRow
from muniment.store.database import Connection, Database, reachable
from muniment.store.statements import load

_SQL = load("archive.sql")
PAGE_ROWS: Final = 256
"""Events fetched at once: 64 MiB even if each holds the largest value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogView:
    """The log as it stood at one moment, whatever is written or redacted meanwhile."""

    workspace_id: UUID
    header: ArchiveHeader
    connection: Connection

    async def rows(self) -> AsyncIterator[ArchiveRow]:
        """Yield each event from the first to the head."""
        last = 0
        while last < self.header.pos:
            page = await self.connection.fetch(_SQL["page"], self.workspace_id, last, PAGE_ROWS)
            for row in page:
                yield ArchiveRow(**dict(row))
            if not page:
                return
            last = page[-1]["pos"]


@asynccontextmanager
async def log_view(database: Database, workspace_id: UUID) -> AsyncGenerator[LogView]:
    """Open a view of the whole log in one snapshot."""
    async with (
        reachable(),
        database.reader.acquire() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        yield LogView(
            workspace_id=workspace_id,
            header=await _head(connection, workspace_id),
            connection=connection,
        )


async def _head(connection: Connection, workspace_id: UUID) -> ArchiveHeader:
    row = await connection.fetchrow(_SQL["head"], workspace_id)
    assert row is not None
    return ArchiveHeader(genesis=row["genesis"], pos=row["pos"], hash=row["hash"])
