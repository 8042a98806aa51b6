"""The writer: one task per workspace and process, through which everything that changes passes.

While one batch commits, commands queue; the next batch takes all of them (at most `batch_limit`),
loads what they touch, decides each against the state that the ones before it left, and commits
events and projections together, gated by compare-and-set on the head of the log. When another
process was faster, the batch is decided anew; after two such conflicts it takes the lock first.

A command that fails fails alone. When the connection breaks after the commit was sent, the log
itself tells whether the batch is in it: no acknowledgement is guessed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

import asyncpg

from muniment.actions.batch import Decided, Pending, decide_batch, fault
from muniment.domain.decide.needs import Needs
from muniment.domain.errors import Busy, MunimentError, Refused, Unavailable
from muniment.domain.outcomes import Outcome
from muniment.store.database import UNREACHABLE, Connection, Database
from muniment.store.write.commit import commit
from muniment.store.write.delta import Delta
from muniment.store.write.load import Scope, hash_at, load_batch, lock_head

log = logging.getLogger(__name__)

_OPTIMISTIC_TRIES: Final = 2
_OUTAGE_SECONDS: Final = 8.0
"""How long a batch waits for a database that went away, before its callers are told."""


_HELD: Final = (
    asyncpg.LockNotAvailableError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
)
"""Another process holds what this one needs, such as a rebuild the head. It is no command's fault,
and nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterSettings:
    """queue_limit: commands that may wait. put_wait: how long a caller waits for room there."""

    queue_limit: int = 4096
    batch_limit: int = 500
    put_wait: timedelta = timedelta(milliseconds=250)
    reobserve_after: timedelta = timedelta(hours=24)
    documents: bool = True


class Writer:
    """Appends to one workspace's log. Made and run by `Actions`."""

    def __init__(self, database: Database, workspace_id: UUID, settings: WriterSettings) -> None:
        self._database = database
        self._workspace_id = workspace_id
        self._settings = settings
        self._queue: asyncio.Queue[Pending | None] = asyncio.Queue(settings.queue_limit)
        self._task: asyncio.Task[None] | None = None

    async def submit(self, pending: Pending) -> None:
        """Queue a command.

        Raises:
            Busy: the queue stayed full. Nothing was written.
        """
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=f"writer-{self._workspace_id}")
        try:
            self._queue.put_nowait(pending)
        except asyncio.QueueFull:
            await self._wait_for_room(pending)

    async def _wait_for_room(self, pending: Pending) -> None:
        try:
            async with asyncio.timeout(self._settings.put_wait.total_seconds()):
                await self._queue.put(pending)
        except TimeoutError:
            raise self._full() from None
        if self._task is None:
            raise self._full()

    def _full(self) -> Busy:
        return Busy(
            "The writer's queue is full. Nothing was written.",
            limit=self._settings.queue_limit,
            next_step="Try again with the same key.",
            details={"retry_after_ms": 500},
        )

    async def close(self) -> None:
        """Write what is queued, then stop; who came too late is told to try again."""
        if self._task is not None:
            await self._queue.put(None)
            await self._task
            self._task = None
        while not self._queue.empty():
            if (late := self._queue.get_nowait()) is not None:
                late.settle(self._full())

    async def _run(self) -> None:
        running = True
        while running:
            batch, running = await self._take()
            if batch:
                await self._process(batch)

    async def _take(self) -> tuple[list[Pending], bool]:
        """Return what is queued, waiting for the first, and whether to go on after it."""
        taken = [await self._queue.get()]
        while len(taken) < self._settings.batch_limit and not self._queue.empty():
            taken.append(self._queue.get_nowait())
        batch = [item for item in taken if item is not None]
        return [item for item in batch if not item.future.done()], None not in taken

    async def _process(self, batch: Sequence[Pending]) -> None:
        """Decide and commit a batch; on a row that the database refuses, halve it to find it."""
        try:
            results = await self._write(batch)
        except asyncpg.PostgresError as error:
            if isinstance(error, UNREACHABLE):
                self._fail(batch, _away(error))
            elif len(batch) > 1:
                middle = len(batch) // 2
                await self._process(batch[:middle])
                await self._process(batch[middle:])
            else:
                log.exception("the database refused a command")
                self._fail(batch, _refused(error))
        except MunimentError as error:
            self._fail(batch, error)
            if isinstance(error, Unavailable):
                self._fail_queued(error)
        except Exception as error:
            log.exception("a batch failed")
            self._fail(batch, fault(error))
        else:
            for pending, result in zip(batch, results, strict=True):
                pending.settle(result)

    def _fail(self, batch: Sequence[Pending], error: Exception) -> None:
        for pending in batch:
            pending.settle(error)

    def _fail_queued(self, error: Exception) -> None:
        """Tell who queued meanwhile: they waited through the same outage, and need no second."""
        for _ in range(self._queue.qsize()):
            if (pending := self._queue.get_nowait()) is None:
                self._queue.put_nowait(None)
            else:
                pending.settle(error)

    async def _write(self, batch: Sequence[Pending]) -> Sequence[Outcome | MunimentError]:
        """Return each command's result once it is durable."""
        deadline = asyncio.get_running_loop().time() + _OUTAGE_SECONDS
        tries = 0
        begun: list[Decided] = []
        while True:
            try:
                async with self._database.writer.acquire() as connection:
                    if tries < _OPTIMISTIC_TRIES:
                        results = await self._attempt(connection, batch, begun)
                    else:
                        async with connection.transaction():
                            await lock_head(connection, self._workspace_id)
                            results = await self._attempt(connection, batch, begun)
                if results is not None:
                    return results
            except UNREACHABLE as error:
                if asyncio.get_running_loop().time() >= deadline:
                    raise _away(error) from error
                await asyncio.sleep(_pause(tries))
            except _HELD as error:
                if asyncio.get_running_loop().time() >= deadline:
                    raise _held(error) from error
            tries += 1

    async def _attempt(
        self, connection: Connection, batch: Sequence[Pending], begun: list[Decided]
    ) -> Sequence[Outcome | MunimentError] | None:
        """Decide and commit once; return None when another process was faster.

        begun: earlier attempts whose commit was not answered. One of them may still happen, even
        after a look found nothing: its server process may wait for a lock. So the look comes
        after the load, and what happens after that the compare-and-set finds out.
        """
        decided = await self._decide(connection, batch)
        for earlier in begun:
            if await self._is_in_log(connection, earlier.delta):
                return earlier.results
        if not decided.writes:
            return decided.results
        begun.append(decided)
        if await commit(connection, self._workspace_id, decided.delta):
            return decided.results
        begun.pop()
        return None

    async def _is_in_log(self, connection: Connection, sent: Delta) -> bool:
        """Say whether a batch whose commit was not answered did happen."""
        if not sent.events:
            return False
        return await hash_at(connection, self._workspace_id, sent.pos) == sent.hash

    async def _decide(self, connection: Connection, batch: Sequence[Pending]) -> Decided:
        needs = Needs()
        audiences: set[str] = set()
        keys: list[tuple[UUID, str]] = []
        for pending in batch:
            needs.add(pending.command)
            audiences |= pending.actor.reader.audiences
            if pending.key is not None:
                keys.append((pending.actor.principal_id, pending.key))
        scope = Scope(
            audiences=sorted(audiences),
            sees_all=any(pending.actor.reader.sees_all for pending in batch),
        )
        loaded = await load_batch(connection, self._workspace_id, needs, scope, keys)
        return decide_batch(
            loaded,
            batch,
            reobserve_after=self._settings.reobserve_after,
            documents=self._settings.documents,
        )


def _pause(tries: int) -> float:
    return min(0.05 * 2 ** min(tries, 5), 1.0)


def _away(error: Exception) -> Unavailable:
    log.warning("the database is away: %s", error)
    return Unavailable(
        "The database does not answer; whether this was written is not known.",
        next_step="Try again with the same key: it has one effect, however often it is sent.",
    )


def _held(error: Exception) -> Busy:
    log.warning("the log is held: %s", error)
    return Busy(
        "Another process holds the log. Nothing was written.",
        next_step="Try again with the same key.",
        details={"retry_after_ms": 2_000},
    )


def _refused(error: asyncpg.PostgresError) -> Refused:
    return Refused(
        "The database refused this; nothing was written.",
        code="store_refused",
        next_step="Report it with the service's log.",
        details={"sqlstate": error.sqlstate or ""},
    )
