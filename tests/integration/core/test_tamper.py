"""What was changed behind the service's back is named by `verify`: by its pos, or by its row."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import asyncpg
import pytest
import pytest_asyncio

from muniment.actions import Actions, maintenance
from muniment.actions.verify import PROBLEMS_MAX
from muniment.store.database import Connection, Database
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal
from tests.integration.core import calls
from tests.integration.core.calls import claim, create, link, merge

LOG = 12


@pytest_asyncio.fixture
async def owner(
    actions: Actions, database: Database, operator: Principal
) -> AsyncGenerator[Connection]:
    """The owner's connection to a log of twelve events, its guard switched off."""
    who = operator.actor
    ann = await create(actions, who, "Person", "Ann")
    bob = await create(actions, who, "Person", "Bob")
    carol = await create(actions, who, "Person", "Carol")
    for command in (
        claim(ann, "email", "first"),
        claim(ann, "email", "second"),
        claim(bob, "note", "Said of Bob."),
        link(ann, "related_to", carol),
        merge(bob, ann),
        calls.redact(6),
        calls.rename(carol, "Caroline"),
        claim(carol, "summary", "She writes."),
        calls.set_status(carol, "archived"),
    ):
        await actions.perform(who, command)
    connection = await asyncpg.connect(database.dsn)
    for table in ("object_events", "object_events_0000"):
        await connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
    yield connection
    await connection.close()


async def _problems(
    database: Database, workspace: Workspace, head: tuple[int, bytes] | None = None
) -> dict[int, str]:
    report = await maintenance.verify(database, workspace.workspace_id, expected_head=head)
    assert report.ok is (report.found == 0)
    found: dict[int, str] = {}
    for row in report.problems:
        pos = row.get("pos")
        if isinstance(pos, int):
            found[pos] = f"{found.get(pos, '')} {row['problem']}"
    assert bool(report.problems) is not report.ok
    return found


async def _head(owner: Connection) -> tuple[int, bytes]:
    row = await owner.fetchrow("SELECT pos, hash FROM log_head")
    assert row is not None
    return row["pos"], row["hash"]


async def test_log_that_nobody_touched_is_clean(
    owner: Connection, database: Database, workspace: Workspace
) -> None:
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.events == LOG
    head = await _head(owner)
    assert await _problems(database, workspace, head) == {}


CHANGES = [
    (5, "payload = replace(payload, 'second', 'forged')"),
    (5, "payload = payload || ' '"),
    (5, "payload = NULL"),
    (5, "payload = 'not json'"),
    (9, "payload = replace(payload, '6', '5')"),
    (9, "payload = 'not json'"),
    (9, "payload = NULL"),
    (1, "recorded_at = recorded_at + interval '1 microsecond'"),
    (4, "actor_id = gen_random_uuid()"),
    (4, "audience = NULL"),
    (4, "via = 'mcp'"),
    (4, "kind = 'reobserved'"),
    (4, "event_id = gen_random_uuid()"),
    (4, "object_id = gen_random_uuid()"),
    (7, "related_id = gen_random_uuid()"),
    (4, "receipt_id = gen_random_uuid()"),
    (4, "hash = sha256('x')"),
    (4, "payload_hash = sha256('x')"),
    (LOG, "hash = sha256('x')"),
    (LOG, "object_id = gen_random_uuid()"),
]


@pytest.mark.promise("P2")
async def test_changed_event_is_named_by_its_pos(
    owner: Connection, database: Database, workspace: Workspace
) -> None:
    for pos, change in CHANGES:
        transaction = owner.transaction()
        await owner.execute("CREATE TEMP TABLE kept AS SELECT * FROM object_events")
        await owner.execute(f"UPDATE object_events SET {change} WHERE pos = {pos}")  # noqa: S608
        assert pos in await _problems(database, workspace), change
        await transaction.start()
        await owner.execute("DELETE FROM object_events")
        await owner.execute("INSERT INTO object_events SELECT * FROM kept")
        await owner.execute("DROP TABLE kept")
        await transaction.commit()
    await calls.require_clean(database, workspace.workspace_id)


@pytest.mark.promise("P2")
async def test_removed_events_are_named_by_their_positions(
    owner: Connection, database: Database, workspace: Workspace
) -> None:
    for pos in (9, 1, 5, 4):
        await owner.execute("DELETE FROM object_events WHERE pos = $1", pos)
        assert "missing" in (await _problems(database, workspace))[pos]
    assert "from here to pos 5" in (await _problems(database, workspace))[4]


@pytest.mark.promise("P2")
async def test_reordered_events_are_named_by_their_positions(
    owner: Connection, database: Database, workspace: Workspace
) -> None:
    for one, other in ((4, 999), (5, 4), (999, 5)):
        await owner.execute("UPDATE object_events SET pos = $2 WHERE pos = $1", one, other)
    problems = await _problems(database, workspace)
    assert {4, 5} <= set(problems)


@pytest.mark.promise("P2")
async def test_log_that_was_cut_off_is_named_against_its_exported_head(
    owner: Connection, database: Database, workspace: Workspace
) -> None:
    head = await _head(owner)
    await owner.execute("DELETE FROM object_events WHERE pos > 9")
    assert LOG in await _problems(database, workspace)
    await owner.execute(
        "UPDATE log_head SET pos = 9, hash = (SELECT hash FROM object_events WHERE pos = 9)"
    )
    await maintenance.rebuild(database, workspace.workspace_id)
    assert await _problems(database, workspace) == {}
    assert "cut off" in (await _problems(database, workspace, head))[LOG]


@pytest.mark.promise("P2")
async def test_log_that_was_rewritten_differs_from_its_exported_head(
    owner: Connection, database: Database, workspace: Workspace, actions: Actions,
    operator: Principal,
) -> None:  # fmt: skip
    head = await _head(owner)
    await owner.execute("DELETE FROM object_events WHERE pos > 9")
    await owner.execute(
        "UPDATE log_head SET pos = 9, hash = (SELECT hash FROM object_events WHERE pos = 9)"
    )
    await maintenance.rebuild(database, workspace.workspace_id)
    for value in "abc":
        await actions.perform(operator.actor, claim("Ann", "email", value))
    assert await _problems(database, workspace) == {}
    assert "differs" in (await _problems(database, workspace, head))[LOG]


async def test_head_that_was_moved_is_named(
    owner: Connection, database: Database, workspace: Workspace
) -> None:
    await owner.execute("UPDATE log_head SET hash = sha256('x')")
    assert set(await _problems(database, workspace)) == {LOG}
    await owner.execute("UPDATE log_head SET pos = pos + 1")
    assert LOG + 1 in await _problems(database, workspace)


DAMAGES = [
    ("objects", "UPDATE objects SET name = 'X' WHERE name = 'Ann'"),
    ("objects", "UPDATE objects SET status = 'retired' WHERE name = 'Caroline'"),
    ("objects", "UPDATE objects SET audience = 'x' WHERE name = 'Ann'"),
    ("objects", "UPDATE objects SET version = version + 1 WHERE name = 'Ann'"),
    ("object_aliases", "DELETE FROM object_aliases WHERE name = 'Carol'"),
    ("object_aliases", "UPDATE object_aliases SET is_current = true"),
    ("assertions", "UPDATE assertions SET value = '\"x\"' WHERE property = 'email'"),
    ("assertions", "UPDATE assertions SET band = 0"),
    ("assertions", "UPDATE assertions SET head_id = gen_random_uuid()"),
    ("assertions", "DELETE FROM assertions WHERE property = 'summary'"),
    ("assertions", "UPDATE assertions SET valid_since = valid_since + interval '1 day'"),
    ("assertion_history", "DELETE FROM assertion_history"),
    ("assertion_history", "UPDATE assertion_history SET closing = 'retracted'"),
    ("links", "DELETE FROM links"),
    ("links", "UPDATE links SET times = 2"),
    ("link_history", "INSERT INTO link_history SELECT l.*, 9, 'retracted' FROM links l"),
    ("search_documents", "UPDATE search_documents SET active = true"),
    ("search_documents", "UPDATE search_documents SET tsv = ''"),
    ("search_documents", "DELETE FROM search_documents WHERE property = 'email'"),
    ("search_documents", "UPDATE search_documents SET closed_pos = NULL"),
    ("catalog_types", "INSERT INTO catalog_types SELECT workspace_id, 'Vessel', 'x', 3 "
     "FROM workspaces"),
    ("principals", "INSERT INTO principals SELECT workspace_id, gen_random_uuid(), 'x', "
     "'operator', '{}', '{}', 'fleet', 1 FROM workspaces"),
]  # fmt: skip


@pytest.mark.promise("P3")
async def test_damaged_projection_is_named_and_rebuild_restores_it(
    owner: Connection, database: Database, workspace: Workspace
) -> None:
    before = await calls.dump_text(database, workspace.workspace_id)
    for table, damage in DAMAGES:
        await owner.execute(damage)
        report = await maintenance.verify(database, workspace.workspace_id)
        assert {str(row.get("table")) for row in report.problems} == {table}, damage
        assert all(row["key"] and row["problem"] for row in report.problems)
        rebuilt = await maintenance.rebuild(database, workspace.workspace_id)
        assert rebuilt.events == LOG
        assert await calls.dump_text(database, workspace.workspace_id) == before
    await calls.require_clean(database, workspace.workspace_id)


async def test_sample_of_the_chain_finds_a_change_in_it(
    owner: Connection, database: Database, workspace: Workspace
) -> None:
    clean = await maintenance.verify_sample(database, workspace.workspace_id, events=100)
    assert clean.ok
    await owner.execute("UPDATE object_events SET audience = NULL WHERE pos = 4")
    found = await maintenance.verify_sample(database, workspace.workspace_id, events=100)
    assert found.problems[0]["pos"] == 4
    shown = found.as_json()
    assert shown["ok"] is False
    assert shown["found"] == found.found


async def test_many_problems_are_counted_and_the_first_hundred_listed(
    owner: Connection, actions: Actions, database: Database, workspace: Workspace,
    operator: Principal,
) -> None:  # fmt: skip
    await actions.perform_many(
        operator.actor, [(claim("Ann", "note", f"n{i}"), None) for i in range(150)]
    )
    await owner.execute("DELETE FROM assertions WHERE property = 'note'")
    report = await maintenance.verify(database, workspace.workspace_id, documents=False)
    assert report.found == 150
    assert len(report.problems) == PROBLEMS_MAX
