"""Looks up who a token belongs to. Only its hash is ever stored, sent or compared.

Rows of the table are written by the writer, together with the event that says so.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from muniment.store.database import Database, reachable
from muniment.store.statements import load

_SQL = load("credentials.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Whom a token belongs to, and whether it still opens anything (by the database's clock)."""

    workspace_id: UUID
    principal_id: UUID
    name: str
    role: str
    audiences: list[str]
    owned_sources: list[str]
    default_audience: str
    expired: bool
    revoked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """A token as an operator may see it. `valid`: neither expired nor revoked."""

    token_id: UUID
    name: str
    role: str
    issued_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    valid: bool


async def find_holder(database: Database, token_hash: bytes) -> Holder | None:
    """Return whom the token with this SHA-256 was issued to, if there is one.

    The answer is never cached: a revoked token must stop at its next use.

    Raises:
        Unavailable: the database does not answer.
    """
    async with reachable():
        row = await database.reader.fetchrow(_SQL["find"], token_hash)
    return None if row is None else Holder(**dict(row))


async def list_tokens(database: Database, workspace_id: UUID) -> list[TokenRow]:
    """Return every token of a workspace, oldest first.

    Raises:
        Unavailable: the database does not answer.
    """
    async with reachable():
        rows = await database.writer.fetch(_SQL["listing"], workspace_id)
    return [TokenRow(**dict(row)) for row in rows]


async def answers(database: Database, *, within: float) -> None:
    """Ask both pools for a sign of life before `within` seconds have passed.

    Raises:
        Unavailable: one of them gives none.
    """
    async with reachable(), asyncio.timeout(within):
        await database.reader.fetchval(_SQL["answers"])
        await database.writer.fetchval(_SQL["answers"])
