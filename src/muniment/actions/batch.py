"""A batch under decision: its commands in order, each against what the ones before it left.

A command that fails is taken back and fails alone. A key that was answered before, or earlier in
the batch, gets that answer again.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import orjson
from asyncpg.pgproto.pgproto import UUID as FastUUID

from muniment.actions.delta import build_delta
from muniment.actions.digests import request_digest
from muniment.domain.commands import Command, IssueToken, RevokeToken
from muniment.domain.dates import parse_instant
from muniment.domain.decide import Session, decide
from muniment.domain.errors import Conflict, MunimentError
from muniment.domain.events import Envelope
from muniment.domain.identity import Actor
from muniment.domain.outcomes import Outcome
from muniment.store.write.delta import Credential, Delta
from muniment.store.write.load import Loaded

log = logging.getLogger(__name__)


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
class Decided:
    """A batch after its decisions, before its commit."""

    delta: Delta
    results: list[Outcome | MunimentError] = field(default_factory=list[Outcome | MunimentError])

    @property
    def writes(self) -> bool:
        return bool(self.delta.events or self.delta.retries)


def decide_batch(
    loaded: Loaded, batch: Sequence[Pending], *, reobserve_after: timedelta, documents: bool
) -> Decided:
    """Decide a batch in order and return its writes and results. Changes `loaded.state`."""
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
            reobserve_after=reobserve_after,
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
            results.append(fault(error))
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
        documents=documents,
    )
    delta.credentials = credentials
    delta.revoked = revoked
    delta.retries = [_retry_row(pending, outcome) for pending, outcome in retries.values()]
    return Decided(delta, results)


def fault(error: Exception) -> MunimentError:
    """Return what a caller is told of a fault of ours."""
    return MunimentError(
        "muniment failed to decide this; nothing was written.",
        code="internal",
        next_step="Report it with the service's log.",
        details={"kind": type(error).__name__},
    )


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
