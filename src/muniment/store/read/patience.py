"""How long a read may take: the session's limits, told as an error that says what to do."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import asyncpg

from muniment.domain.errors import Unavailable


@asynccontextmanager
async def patient() -> AsyncGenerator[None]:
    """Turn a statement that the server gave up on into `Unavailable`."""
    try:
        yield
    except (asyncpg.QueryCanceledError, asyncpg.LockNotAvailableError) as error:
        raise Unavailable(
            "The read took too long and was given up.",
            code="read_timeout",
            next_step="Try again in a moment, or ask for less of it.",
        ) from error
