"""The writer's queue: full, held up, left by its callers, closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta

import asyncpg
import pytest
import pytest_asyncio

from muniment.actions import Actions, WriterSettings, writer
from muniment.domain.errors import Busy, MunimentError
from muniment.store.database import Connection, Database
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal
from tests.integration.core import calls
from tests.integration.core.calls import claim, create, ensure


@pytest_asyncio.fixture
async def outsider(database: Database) -> AsyncGenerator[Connection]:
    """The owner's connection, beside the service's."""
    connection = await asyncpg.connect(database.dsn)
    yield connection
    await connection.close()


async def _hold_head(outsider: Connection) -> None:
    await outsider.execute("BEGIN")
    await outsider.execute("SELECT pos FROM log_head FOR UPDATE")


async def _blocked(database: Database) -> int:
    """Return how many sessions wait for a lock."""
    return await database.reader.fetchval(
        "SELECT count(DISTINCT l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
        "WHERE NOT l.granted AND a.datname = current_database()"
    )


async def _until_blocked(database: Database, sessions: int = 1) -> None:
    while await _blocked(database) < sessions:
        pass


async def test_full_queue_answers_busy_with_a_retry_hint_and_writes_nothing(
    database: Database, workspace: Workspace, operator: Principal, outsider: Connection
) -> None:
    settings = WriterSettings(queue_limit=10, batch_limit=5, put_wait=timedelta(milliseconds=20))
    actions = Actions(database, settings)
    await create(actions, operator.actor, "Person", "Ann")
    await _hold_head(outsider)
    tasks = [
        asyncio.create_task(actions.perform(operator.actor, claim("Ann", "note", f"{n}")))
        for n in range(40)
    ]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    await outsider.execute("ROLLBACK")
    results = await asyncio.gather(*tasks, return_exceptions=True)
    busy = [result for result in results if isinstance(result, Busy)]
    assert {(error.limit, bool(error.next_step)) for error in busy} == {(10, True)}
    assert all(error.details["retry_after_ms"] for error in busy)
    written = len(results) - len(busy)
    assert 10 <= written < 40
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.rows["assertions"] == written
    await actions.close()


async def test_bulk_waits_for_room_where_a_single_caller_is_told_busy(
    database: Database, workspace: Workspace, operator: Principal, outsider: Connection
) -> None:
    settings = WriterSettings(queue_limit=3, put_wait=timedelta(milliseconds=1))
    actions = Actions(database, settings)
    await create(actions, operator.actor, "Person", "Ann")
    await _hold_head(outsider)
    commands = [(claim("Ann", "tag", f"{n}"), None) for n in range(60)]
    bulk = asyncio.create_task(actions.perform_many(operator.actor, commands))
    await _until_blocked(database)
    error = await calls.refusal(actions, operator.actor, claim("Ann", "tag", "single"))
    assert isinstance(error, Busy)
    await outsider.execute("ROLLBACK")
    assert not [result for result in await bulk if isinstance(result, MunimentError)]
    await actions.close()
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.rows["assertions"] == 60


async def test_log_that_stays_held_is_busy_and_nothing_was_written(
    actions: Actions,
    database: Database,
    workspace: Workspace,
    operator: Principal,
    outsider: Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer, "_OUTAGE_SECONDS", 0.0)
    ann = await create(actions, operator.actor, "Person", "Ann")
    await _hold_head(outsider)
    async with database.writer.acquire() as connection:
        await connection.execute("SELECT set_config('lock_timeout', '50ms', false)")
    errors = await asyncio.gather(
        *(actions.perform(operator.actor, claim(ann, "note", f"{n}")) for n in range(3)),
        return_exceptions=True,
    )
    await outsider.execute("ROLLBACK")
    for error in errors:
        assert isinstance(error, Busy)
        assert error.details["retry_after_ms"]
        assert error.next_step
    assert (await calls.require_clean(database, workspace.workspace_id)).pos == 1


async def test_cancelled_caller_that_still_queued_wrote_nothing(
    actions: Actions,
    database: Database,
    workspace: Workspace,
    operator: Principal,
    outsider: Connection,
) -> None:
    ann = await create(actions, operator.actor, "Person", "Ann")
    await _hold_head(outsider)
    first = asyncio.create_task(actions.perform(operator.actor, claim(ann, "note", "first")))
    await _until_blocked(database)
    queued = [
        asyncio.create_task(actions.perform(operator.actor, claim(ann, "note", f"late {n}")))
        for n in range(20)
    ]
    await asyncio.sleep(0)
    for task in (*queued[:19], first):
        task.cancel()
    await outsider.execute("ROLLBACK")
    await queued[19]
    assert all(task.cancelled() for task in queued[:19])
    with pytest.raises(asyncio.CancelledError):
        await first
    rows = await database.reader.fetch("SELECT value FROM assertions ORDER BY pos")
    # What was on its way to the database is written: its caller does not know the outcome.
    assert [row["value"] for row in rows] == ['"first"', '"late 19"']
    await calls.require_clean(database, workspace.workspace_id)


async def test_close_finishes_what_is_queued_and_takes_no_more(
    database: Database, workspace: Workspace, operator: Principal
) -> None:
    actions = Actions(database, WriterSettings(queue_limit=4, batch_limit=2))
    tasks = [
        asyncio.create_task(actions.perform(operator.actor, ensure("Note", f"n{n}")))
        for n in range(12)
    ]
    await asyncio.sleep(0)
    await asyncio.wait_for(actions.close(), timeout=20)
    results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), timeout=20)
    written = [result for result in results if not isinstance(result, BaseException)]
    assert all(isinstance(r, Busy | RuntimeError) for r in results if r not in written)
    assert len(written) >= 4
    with pytest.raises(RuntimeError):
        await actions.perform(operator.actor, ensure("Note", "late"))
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.rows["objects"] == len(written)
