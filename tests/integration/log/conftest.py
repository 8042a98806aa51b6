"""A log with every kind of event in it, and the owner's connection for those who tamper."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

import asyncpg
import pytest_asyncio

from muniment.actions import Actions
from muniment.domain.identity import Actor
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal
from tests.conftest import MakeAgent
from tests.integration.core.calls import claim, create, link, merge

if TYPE_CHECKING:
    Owner = asyncpg.Connection[asyncpg.Record]
else:
    Owner = asyncpg.Connection


@pytest_asyncio.fixture
async def written(
    actions: Actions, workspace: Workspace, operator: Principal, make_agent: MakeAgent
) -> Actor:
    """An agent, after a dozen events."""
    agent = (await make_agent("alice")).actor
    a = await create(actions, agent, "Person", "Ann Lee")
    b = await create(actions, agent, "Person", "A. Lee")
    for command in (
        claim(a, "email", "ann@example.org"),
        claim(a, "email", "lee@example.org"),
        claim(a, "note", "secret sauce"),
        claim(b, "summary", "the same person"),
        link(a, "same_as", b),
    ):
        await actions.perform(agent, command)
    await actions.perform(operator.actor, merge(b, a))
    return agent


@pytest_asyncio.fixture
async def owner(dsn: str) -> AsyncGenerator[Owner]:
    """The owner's own connection, which no service uses while it serves."""
    connection: Owner = await asyncpg.connect(dsn)
    yield connection
    await connection.close()
