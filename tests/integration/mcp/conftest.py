"""Owns what the tests of MCP share: an open service, tokens for it, and each way in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from muniment.actions import Actions
from muniment.bootstrap import Service
from muniment.config import Settings
from muniment.reads import Reads
from muniment.store.database import Database
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal, create_token
from tests.integration.mcp.doors import DOORS, ERAS, Door

MakeToken = Callable[..., Awaitable[str]]


@pytest.fixture
def service(database: Database, actions: Actions, workspace: Workspace, tmp_path: Path) -> Service:
    """An open service with the default settings."""
    return Service(
        settings=Settings(home=tmp_path),
        database=database,
        actions=actions,
        reads=Reads(database),
        workspace=workspace,
    )


@pytest.fixture
def make_token(actions: Actions, operator: Principal) -> MakeToken:
    """Issue a token: `await make_token("agent", name="alice")`."""

    async def make(role: str, name: str | None = None, **more: Any) -> str:
        new = await create_token(
            actions, operator.actor, name=name or f"some-{role}", role=role, **more
        )
        return new.token

    return make


@pytest.fixture(params=[(door, era) for door in DOORS for era in ERAS], ids="-".join)
def door(request: pytest.FixtureRequest, service: Service) -> Door:
    """Each way in, in each era of the protocol."""
    name, era = request.param
    return Door(service=service, door=name, era=era)
