"""Owns what the tests of reads share: a desk for the operator, and one for each new agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from muniment.actions import Actions
from muniment.domain.identity import Via
from muniment.reads import Reads
from muniment.store.database import Database
from muniment.surfaces.principal import Principal
from tests.conftest import MakeAgent
from tests.integration.reads.desk import Desk

MakeDesk = Callable[..., Awaitable[Desk]]


@pytest.fixture
def reads(database: Database) -> Reads:
    """The door to reading."""
    return Reads(database)


@pytest.fixture
def desk(operator: Principal, actions: Actions, reads: Reads) -> Desk:
    """The operator at work."""
    return Desk(who=operator, actions=actions, reads=reads)


@pytest.fixture
def make_desk(desk: Desk, make_agent: MakeAgent) -> MakeDesk:
    """Make an agent and return its desk: `await make_desk("alice", audience="private")`."""

    async def make(name: str, **more: object) -> Desk:
        return desk.of(await make_agent(name, **more))

    return make


@pytest.fixture
def imported(desk: Desk) -> Desk:
    """The operator at the door of imports, where claims come in untrusted."""
    return desk.of(Principal(actor=replace(desk.who.actor, via=Via.IMPORT)))
