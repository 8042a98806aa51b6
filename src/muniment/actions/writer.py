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
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from uuid import UUID

import asyncpg
import orjson
from asyncpg.pgproto.pgproto import UUID as FastUUID

from muniment.actions.delta import build_delta
from muniment.actions.digests import request_digest
from muniment.domain.commands import Command, IssueToken, RevokeToken
from muniment.domain.dates import parse_instant
from muniment.domain.decide import Session, decide
from muniment.domain.decide.needs import Needs
from muniment.domain.errors import Busy, Conflict, MunimentError, Refused, Unavailable
from muniment.domain.events import Envelope
from muniment.domain.identity import Actor
from muniment.domain.outcomes import Outcome
from muniment.store.database import UNREACHABLE, Connection, Database
from muniment.store.write.commit import commit
from muniment.store.write.delta import Credential, Delta
from muniment.store.write.load import Loaded, Scope, hash_at, load_batch, lock_head

log = logging.getLogger(__name__)

_OPTIMISTIC_TRIES: Final = 2
_TRIES: Final = 6
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


@dataclass(slots=True, kw_only=True)
class Pending:
    """A command in the queue, and the future that its caller waits on."""

    actor: Actor
    command: Command
    key: str | None
    future: asyncio.Future[Outcome]
    request_digest: bytes = b""

    def __post_init__(self) -> None:
        if self.key is not None:
            self.request_digest = request_digest(self.command)

    def settle(self, result: Outcome | Exception) -> None:
        """Answer the caller, unless it went away."""
        if self.future.done():
            return
        if isinstance(result, Exception):
            self.future.set_exception(result)
        else:
            self.future.set_result(result)


@dataclass(slots=True)
class _Decided:
    """A batch after its decisions, before its commit."""

    delta: Delta
    results: list[Outcome | MunimentError] = field(default_factory=list[Outcome | MunimentError])

    @property
    def writes(self) -> bool:
        return bool(self.delta.events or self.delta.retries)


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
            raise Busy(
                "The writer's queue is full. Nothing was written.",
                limit=self._settings.queue_limit,
                next_step="Try again with the same key.",
                details={"retry_after_ms": 500},
            ) from None

    async def close(self) -> None:
        """Write what is queued, then stop."""
        if self._task is not None:
            await self._queue.put(None)
            await self._task
            self._task = None

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
        except Exception as error:
            log.exception("a batch failed")
            self._fail(batch, _fault(error))
        else:
            for pending, result in zip(batch, results, strict=True):
                pending.settle(result)

    def _fail(self, batch: Sequence[Pending], error: Exception) -> None:
        for pending in batch:
            pending.settle(error)

    async def _write(self, batch: Sequence[Pending]) -> Sequence[Outcome | MunimentError]:
        """Return each command's result once it is durable."""
        deadline = asyncio.get_running_loop().time() + _OUTAGE_SECONDS
        tries = 0
        sent: Delta | None = None
        results: Sequence[Outcome | MunimentError] = ()
        while True:
            try:
                async with self._database.writer.acquire() as connection:
                    if sent is not None and await self._is_in_log(connection, sent):
                        return results
                    sent = None
                    decided = await self._decide(connection, batch)
                    results = decided.results
                    if not decided.writes:
                        return results
                    if tries < _OPTIMISTIC_TRIES:
                        sent = decided.delta
                        if await commit(connection, self._workspace_id, decided.delta):
                            return results
                        sent = None
                    else:
                        async with connection.transaction():
                            await lock_head(connection, self._workspace_id)
                            decided = await self._decide(connection, batch)
                            results, sent = decided.results, decided.delta
                            await commit(connection, self._workspace_id, decided.delta)
                        return results
            except UNREACHABLE as error:
                if asyncio.get_running_loop().time() >= deadline:
                    raise _away(error) from error
                await asyncio.sleep(_pause(tries))
            except _HELD as error:
                sent = None
                if asyncio.get_running_loop().time() >= deadline:
                    raise _held(error) from error
            tries += 1
            if tries >= _TRIES and sent is None:
                tries = _OPTIMISTIC_TRIES

    async def _is_in_log(self, connection: Connection, sent: Delta) -> bool:
        """Say whether a batch whose commit was not answered did happen."""
        if not sent.events:
            return False
        return await hash_at(connection, self._workspace_id, sent.pos) == sent.hash

    async def _decide(self, connection: Connection, batch: Sequence[Pending]) -> _Decided:
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
        return self._decide_all(loaded, batch)

    def _decide_all(self, loaded: Loaded, batch: Sequence[Pending]) -> _Decided:
        envelopes: list[Envelope] = []
        results: list[Outcome | MunimentError] = []
        retries: dict[tuple[UUID, str], tuple[Pending, Outcome]] = {}
        credentials: list[Credential] = []
        revoked: list[UUID] = []
        for pending in batch:
            mark = loaded.state.mark()
            session = Session(
                state=loaded.state,
                actor=pending.actor,
                now=loaded.now,
                new_id=_new_id,
                next_pos=loaded.pos + len(envelopes) + 1,
                known=loaded.known,
                reobserve_after=self._settings.reobserve_after,
            )
            try:
                outcome = _answered(loaded, retries, pending)
                if outcome is None:
                    outcome = decide(session, pending.command)
                    if pending.key is not None:
                        retries[pending.actor.principal_id, pending.key] = (pending, outcome)
            except MunimentError as error:
                loaded.state.roll_back(mark)
                results.append(error)
                continue
            except Exception as error:
                # A fault of ours in one command must not take its neighbours along.
                log.exception("deciding %s failed", type(pending.command).__name__)
                loaded.state.roll_back(mark)
                results.append(_fault(error))
                continue
            envelopes.extend(session.emitted)
            results.append(outcome)
            if session.emitted:
                _note_token(session, pending.command, credentials, revoked)
        delta = build_delta(
            loaded.state,
            envelopes,
            before_pos=loaded.pos,
            before_hash=loaded.hash,
            now=loaded.now,
            documents=self._settings.documents,
        )
        delta.credentials = credentials
        delta.revoked = revoked
        delta.retries = [_retry_row(pending, outcome) for pending, outcome in retries.values()]
        return _Decided(delta, results)


def _answered(
    loaded: Loaded, retries: dict[tuple[UUID, str], tuple[Pending, Outcome]], pending: Pending
) -> Outcome | None:
    """Return the answer that the key got before, here or earlier in this batch.

    Raises:
        Conflict: the key was used for something else.
    """
    if pending.key is None:
        return None
    at = (pending.actor.principal_id, pending.key)
    if (kept := loaded.retries.get(at)) is not None:
        digest, outcome = kept.request_digest, Outcome(answer=orjson.loads(kept.answer))
    elif at in retries:
        first, outcome = retries[at]
        digest = first.request_digest
    else:
        return None
    if digest == pending.request_digest:
        return outcome
    raise Conflict(
        "That key was used for another request.",
        code="idempotency_conflict",
        field="key",
        next_step="Use a fresh key for each distinct request, the same one for its retries.",
    )


def _retry_row(pending: Pending, outcome: Outcome) -> tuple[object, ...]:
    quotes = outcome.quotes or None
    return (
        pending.actor.principal_id,
        pending.key,
        pending.request_digest,
        orjson.dumps(outcome.answer).decode(),
        quotes,
    )


def _note_token(
    session: Session, command: Command, credentials: list[Credential], revoked: list[UUID]
) -> None:
    match command:
        case IssueToken():
            owner = next(p for p in session.state.principals.values() if p.name == command.name)
            expires = command.expires_at
            credentials.append(
                Credential(
                    token_id=command.token_id,
                    principal_id=owner.principal_id,
                    token_hash=command.token_hash,
                    expires_at=parse_instant(expires, "expires_at") if expires else None,
                )
            )
        case RevokeToken():
            revoked.append(command.token_id)
        case _:
            pass


def _new_id() -> UUID:
    """Return a random UUID (RFC 9562, version 4); asyncpg's class is made ten times as fast."""
    bits = bytearray(os.urandom(16))
    bits[6] = bits[6] & 0x0F | 0x40
    bits[8] = bits[8] & 0x3F | 0x80
    return FastUUID(bytes(bits))


def _pause(tries: int) -> float:
    return min(0.05 * 2**tries, 1.0)


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


def _fault(error: Exception) -> MunimentError:
    return MunimentError(
        "muniment failed to decide this; nothing was written.",
        code="internal",
        next_step="Report it with the service's log.",
        details={"kind": type(error).__name__},
    )
