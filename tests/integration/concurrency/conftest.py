"""Owns several services on one database: each with its own pools and its own writer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest_asyncio

from muniment.actions import Actions
from muniment.store.database import Database

Serve = Callable[[int], Awaitable[list[Actions]]]


@pytest_asyncio.fixture
async def serve(dsn: str) -> AsyncGenerator[Serve]:
    """Start as many services as are asked for: `await serve(4)`."""
    started: list[Actions] = []

    async def start(count: int) -> list[Actions]:
        opened = [await Database.connect(dsn, writers=2, readers=1) for _ in range(count)]
        started.extend(map(Actions, opened))
        return started

    yield start
    for actions in started:
        await actions.close()
        await actions.database.close()
