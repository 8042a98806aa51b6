"""Owns reading: the only door through which anything is looked up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from muniment.domain.commands import Ref
from muniment.domain.errors import NotFound
from muniment.domain.identity import Reader
from muniment.reads import dossier, history, listing, neighbours, recall, trace
from muniment.reads.arguments import (
    ListQuery,
    NeighboursQuery,
    OpenQuery,
    RecallQuery,
    TraceQuery,
)
from muniment.reads.shown import Shown
from muniment.store.database import Database, Executor, reachable
from muniment.store.read.patience import patient
from muniment.store.workspaces import get_workspace

__all__ = ["ListQuery", "NeighboursQuery", "OpenQuery", "Reads", "RecallQuery", "TraceQuery"]

Q = TypeVar("Q")


class Reads:
    """Answers questions with the reader's eyes. Holds nothing but the secrets that sign cursors."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._secrets: dict[UUID, bytes] = {}

    async def recall(self, reader: Reader, query: RecallQuery) -> Shown:
        """Search. Raises: NotFound, Malformed, Unavailable."""
        return await self._answer(recall.recall, reader, query)

    async def open(
        self,
        reader: Reader,
        ref: Ref,
        *,
        as_of: datetime | None = None,
        known_at: int | datetime | None = None,
        cursor: str | None = None,
    ) -> Shown:
        """Return an object's dossier. Raises: NotFound, Malformed, Unavailable."""
        query = OpenQuery(ref=ref, as_of=as_of, known_at=known_at, cursor=cursor)
        return await self._answer(dossier.dossier, reader, query)

    async def trace(
        self, reader: Reader, ref: Ref, *, limit: int = 50, cursor: str | None = None
    ) -> Shown:
        """Return the events of an object. Raises: NotFound, Malformed, Unavailable."""
        query = TraceQuery(ref=ref, limit=limit, cursor=cursor)
        return await self._answer(trace.trace, reader, query)

    async def history(
        self,
        reader: Reader,
        ref: Ref,
        property_: str,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Shown:
        """Return the versions of one property. Raises: NotFound, Malformed, Unavailable."""
        query = TraceQuery(ref=ref, property=property_, limit=limit, cursor=cursor)
        return await self._answer(history.history, reader, query)

    async def neighbours(self, reader: Reader, query: NeighboursQuery) -> Shown:
        """Return what an object is linked with. Raises: NotFound, Malformed, Unavailable."""
        return await self._answer(neighbours.neighbours, reader, query)

    async def list_objects(self, reader: Reader, query: ListQuery) -> Shown:
        """Return objects by type and status. Raises: Malformed, Unavailable."""
        return await self._answer(listing.list_objects, reader, query)

    async def count_objects(self, reader: Reader) -> Shown:
        """Return how many objects of each status and type there are. Raises: Unavailable."""
        async with reachable(), patient():
            return await listing.count_objects(self._database.reader, reader)

    async def _answer(
        self,
        read: Callable[[Executor, bytes, Reader, Q], Awaitable[Shown]],
        reader: Reader,
        query: Q,
    ) -> Shown:
        async with reachable(), patient(), self._database.reader.acquire() as connection:
            secret = self._secrets.get(reader.workspace_id)
            if secret is None:
                secret = await _secret(connection, reader.workspace_id)
                self._secrets[reader.workspace_id] = secret
            return await read(connection, secret, reader, query)


async def _secret(executor: Executor, workspace_id: UUID) -> bytes:
    workspace = await get_workspace(executor, workspace_id)
    if workspace is None:
        raise NotFound("There is no such workspace.", next_step="Check the credential.")
    return workspace.secret
