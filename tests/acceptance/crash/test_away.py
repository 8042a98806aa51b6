"""Postgres is killed and stays away: 64 callers are told so within the limit, and then go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from uuid import UUID

import pytest
import pytest_asyncio

from muniment.actions import Actions, maintenance, writer
from muniment.domain.errors import MunimentError, Unavailable
from muniment.domain.identity import Actor
from muniment.embedded.postgres import EmbeddedPostgres
from muniment.store.database import Database
from muniment.store.workspaces import ensure_workspace
from muniment.surfaces.principal import local_operator
from tests.acceptance.crash.servers import kill_postgres
from tests.acceptance.crash.service import command_of

pytestmark = [pytest.mark.promise("P1"), pytest.mark.timeout(120)]

KEYS = [f"ff{n:030x}" for n in range(64)]
LIMIT_SECONDS = 8.0
CONNECT_SECONDS = 2.0
"""What the last attempt to connect may take on a machine that does other things as well."""


@pytest_asyncio.fixture
async def database(server: EmbeddedPostgres) -> AsyncGenerator[Database]:
    database = await Database.connect(server.address)
    yield database
    await database.close()


async def _results(actions: Actions, actor: Actor) -> list[object]:
    return await asyncio.gather(
        *(actions.perform(actor, command_of(key), key=key) for key in KEYS), return_exceptions=True
    )


async def _come_back(database: Database, workspace_id: UUID, actions: Actions) -> None:
    """Each command is answered now, in the same process, and has one effect."""
    actor = local_operator(workspace_id).actor
    first = await _results(actions, actor)
    assert not [result for result in first if isinstance(result, BaseException)]
    assert await _results(actions, actor) == first
    values = await database.reader.fetch(
        "SELECT payload::jsonb ->> 'value' AS value FROM object_events "
        "WHERE payload::jsonb ->> 'property' = 'text'"
    )
    assert sorted(row["value"] for row in values) == KEYS
    assert (await maintenance.verify(database, workspace_id)).ok


async def test_callers_of_a_killed_postgres_wait_through_one_outage_and_no_second(
    server: EmbeddedPostgres, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_OUTAGE_SECONDS", 0.5)
    workspace = await ensure_workspace(database, "default")
    actor = local_operator(workspace.workspace_id).actor
    actions = Actions(database)
    kill_postgres(server)
    first = asyncio.create_task(actions.perform(actor, command_of(KEYS[0]), key=KEYS[0]))
    # Now the first is a batch by itself, and the others queue behind it.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    others = asyncio.create_task(_results(actions, actor))
    loop = asyncio.get_running_loop()
    began = loop.time()
    with pytest.raises(Unavailable):
        await first
    told_first = loop.time()
    results = await others
    assert {type(result) for result in results} == {Unavailable}
    assert loop.time() - told_first < (told_first - began) / 2
    server.start()
    await _come_back(database, workspace.workspace_id, actions)
    await actions.close()


@pytest.mark.long
async def test_callers_of_a_killed_postgres_are_told_within_eight_seconds(
    server: EmbeddedPostgres, database: Database
) -> None:
    workspace = await ensure_workspace(database, "default")
    actor = local_operator(workspace.workspace_id).actor
    actions = Actions(database)
    kill_postgres(server)
    waits: list[float] = []
    errors: list[object] = []
    loop = asyncio.get_running_loop()

    async def insist(key: str) -> None:
        for _ in range(2):
            began = loop.time()
            try:
                await actions.perform(actor, command_of(key), key=key)
            except MunimentError as error:
                errors.append(type(error))
            waits.append(loop.time() - began)

    await asyncio.gather(*map(insist, KEYS))
    assert errors == [Unavailable] * 2 * len(KEYS)
    assert max(waits) < LIMIT_SECONDS + CONNECT_SECONDS
    server.start()
    await _come_back(database, workspace.workspace_id, actions)
    await actions.close()
