"""The two pools: one whose sessions may write, one whose sessions may only look.

The role is part of each session's start, so it is also what `RESET ROLE` goes back to. Both roles
are granted no more than they need; the owner, who migrates, is not used while serving.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import asyncpg

from muniment.domain.errors import Unavailable

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Pool = asyncpg.Pool[asyncpg.Record]
    Connection = asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]
    Executor = Pool | Connection
else:
    Pool = Connection = Executor = Any

WRITER_ROLE: Final = "muniment_writer"
READER_ROLE: Final = "muniment_reader"

_SESSION: Final = {
    "application_name": "muniment",
    "timezone": "UTC",
    "jit": "off",
    "synchronous_commit": "on",
    "lock_timeout": "2000",
    "idle_in_transaction_session_timeout": "30000",
    # A session keeps a plan that was made while a table was small; each statement has an index.
    "enable_seqscan": "off",
}
_READER_SESSION: Final = {
    "statement_timeout": "10000",
    # Reads take many parameters that narrow nothing; planning them anew costs more than they do.
    # And one without values would pass an index over for a parallel scan.
    "plan_cache_mode": "force_generic_plan",
    "max_parallel_workers_per_gather": "0",
}
UNREACHABLE: Final = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.InternalClientError,
)
"""What asyncpg raises when the server is gone, going or not yet there. `InternalClientError` is for
a connection that lay idle while its server said goodbye: it takes no further statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """An open database. `dsn`: as its owner connects, for migrations and maintenance."""

    dsn: str
    writer: Pool
    reader: Pool

    @classmethod
    async def connect(cls, dsn: str, *, writers: int = 4, readers: int = 8) -> Database:
        """Open both pools.

        Raises:
            Unavailable: the database does not answer, or is not migrated.
        """
        try:
            writer = await _pool(dsn, WRITER_ROLE, writers, {"statement_timeout": "60000"})
            reader = await _pool(dsn, READER_ROLE, readers, _READER_SESSION)
        except (*UNREACHABLE, asyncpg.PostgresError) as error:
            raise Unavailable(
                f"The database does not answer: {error}",
                next_step="Check MUNIMENT_DATABASE_URL and run muniment migrate.",
            ) from error
        return cls(dsn=dsn, writer=writer, reader=reader)

    async def close(self) -> None:
        """Close both pools; connections still in use are given five seconds."""
        for pool in (self.writer, self.reader):
            try:
                await asyncio.wait_for(pool.close(), timeout=5)
            except (TimeoutError, *UNREACHABLE):
                pool.terminate()


@asynccontextmanager
async def reachable(what: str = "The database") -> AsyncGenerator[None]:
    """Turn the many ways in which a connection fails into `Unavailable`."""
    try:
        yield
    except UNREACHABLE as error:
        raise Unavailable(
            f"{what} does not answer.",
            next_step="Try again in a moment; muniment doctor says what is wrong.",
        ) from error


async def _pool(dsn: str, role: str, size: int, settings: dict[str, str]) -> Pool:
    return await asyncpg.create_pool(
        dsn,
        min_size=1,
        max_size=size,
        max_inactive_connection_lifetime=300,
        statement_cache_size=256,
        command_timeout=90,
        timeout=10,
        server_settings=_SESSION | {"role": role} | settings,
        reset=_as_it_is,
    )


async def _as_it_is(_: object) -> None:
    """Keep a session as it comes back: no statement of ours changes it, and asyncpg ends an open
    transaction all the same. Its own reset would cost a round trip for each use."""
