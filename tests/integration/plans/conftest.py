"""Owns a store of fifty thousand claims, and sessions that were opened while it was empty."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

import asyncpg
import pytest_asyncio

from muniment.actions import Actions
from muniment.domain import parse
from muniment.domain.commands import Remember
from muniment.domain.errors import MunimentError
from muniment.store.database import Connection, Database
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal
from tests.integration.plans.watch import tell

CALLS: Final = 500
ABOUT: Final = 10
"""Objects that one call of 100 claims is about."""
PROPERTIES: Final = ("note", "summary", "description", "email", "text")


def name(call: int, number: int) -> str:
    """Return the name of an object, which shares its words with no other."""
    return f"thing{call}x{number}"


def _claims(call: int) -> Remember:
    return parse.parse_remember(
        {
            "claims": [
                {
                    "about": name(call, number),
                    "type": "Note",
                    "property": "tag" if turn < 5 else PROPERTIES[turn - 5],
                    "value": f"word{call}x{number}x{turn} shared words",
                }
                for number in range(ABOUT)
                for turn in range(10)
            ]
        }
    )


def _links(call: int) -> Remember:
    return parse.parse_remember(
        {
            "links": [
                {"from": name(call, n), "link": "related_to", "to": name((call + k) % CALLS, n)}
                for n in range(ABOUT)
                for k in range(1, 3)
            ]
        }
    )


async def fill(actions: Actions, who: Principal) -> None:
    """Write fifty thousand claims on five thousand objects, ten thousand links between them."""
    commands = [(_claims(call), None) for call in range(CALLS)]
    commands += [(_links(call), None) for call in range(CALLS)]
    for result in await actions.perform_many(who.actor, commands):
        assert not isinstance(result, MunimentError), result.as_dict()


@pytest_asyncio.fixture
async def telling(dsn: str, workspace: Workspace) -> AsyncGenerator[Connection]:
    """The owner of a database whose new sessions tell their plans and keep generic ones.

    No table is analyzed behind the test's back: that would replace the plans it is about.
    """
    owner: Connection = await asyncpg.connect(dsn)
    await tell(owner, plan_cache_mode="force_generic_plan")
    for (table,) in await owner.fetch(
        "SELECT oid::regclass::text FROM pg_class "
        "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
    ):
        await owner.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    yield owner
    await owner.close()


async def open_sessions(dsn: str) -> Database:
    """Open a database with one session a pool, so that each statement meets its former plan."""
    return await Database.connect(dsn, writers=1, readers=1)
