"""P2: who gets around the guard, as the owner with the triggers off, is found and named."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from muniment.actions.maintenance import VerifyReport, rebuild, verify
from muniment.domain.identity import Actor
from muniment.store.database import Database
from muniment.store.log import read_head
from muniment.store.workspaces import Workspace
from tests.integration.log.conftest import Owner


@asynccontextmanager
async def _guard_off(owner: Owner) -> AsyncGenerator[None]:
    await owner.execute("ALTER TABLE object_events DISABLE TRIGGER USER")
    await owner.execute("ALTER TABLE object_events_0000 DISABLE TRIGGER USER")
    yield
    await owner.execute("ALTER TABLE object_events ENABLE ALWAYS TRIGGER log_only_grows")


def _named(report: VerifyReport) -> dict[int, str]:
    return {
        int(str(problem["pos"])): str(problem["problem"])
        for problem in report.problems
        if problem.get("pos") is not None
    }


@pytest.mark.promise("P2")
@pytest.mark.parametrize(
    "change",
    [
        "payload = replace(payload, 'ann@', 'bob@')",
        "actor_id = '00000000-0000-0000-0000-000000000001'",
        "via = 'console'",
        "audience = 'principal:00000000-0000-0000-0000-000000000001'",
        "recorded_at = recorded_at - interval '1 microsecond'",
        "event_id = '00000000-0000-0000-0000-000000000009'",
        "object_id = '00000000-0000-0000-0000-000000000009'",
        "kind = 'retracted'",
        "payload_hash = sha256('x')",
        "hash = sha256('x')",
        "payload = NULL",
    ],
)
async def test_a_changed_row_is_named(
    database: Database, workspace: Workspace, written: Actor, owner: Owner, change: str
) -> None:
    pos: int = await owner.fetchval("SELECT pos FROM object_events WHERE payload LIKE '%ann@%'")
    async with _guard_off(owner):
        await owner.execute(
            f"UPDATE object_events SET {change} WHERE pos = $1",  # noqa: S608
            pos,
        )
    report = await verify(database, workspace.workspace_id)
    assert not report.ok
    assert pos in _named(report)


@pytest.mark.promise("P2")
async def test_a_removed_row_is_named_and_so_is_the_one_after_it(
    database: Database, workspace: Workspace, written: Actor, owner: Owner
) -> None:
    async with _guard_off(owner):
        await owner.execute("DELETE FROM object_events WHERE pos = 4")
    named = _named(await verify(database, workspace.workspace_id))
    assert "missing" in named[4]
    assert "does not follow" in named[5]


@pytest.mark.promise("P2")
async def test_the_first_row_removed_is_named(
    database: Database, workspace: Workspace, written: Actor, owner: Owner
) -> None:
    async with _guard_off(owner):
        await owner.execute("DELETE FROM object_events WHERE pos = 1")
    assert 2 in _named(await verify(database, workspace.workspace_id))


@pytest.mark.promise("P2")
async def test_reordered_rows_are_named(
    database: Database, workspace: Workspace, written: Actor, owner: Owner
) -> None:
    async with _guard_off(owner):
        await owner.execute("UPDATE object_events SET pos = 1000 WHERE pos = 4")
        await owner.execute("UPDATE object_events SET pos = 4 WHERE pos = 5")
        await owner.execute("UPDATE object_events SET pos = 5 WHERE pos = 1000")
    assert {4, 5} <= set(_named(await verify(database, workspace.workspace_id)))


@pytest.mark.promise("P2")
async def test_a_cut_off_end_is_named(
    database: Database, workspace: Workspace, written: Actor, owner: Owner
) -> None:
    head = await read_head(database.reader, workspace.workspace_id)
    async with _guard_off(owner):
        await owner.execute("DELETE FROM object_events WHERE pos > $1", head.pos - 2)
    assert head.pos in _named(await verify(database, workspace.workspace_id))


@pytest.mark.promise("P2")
async def test_a_cut_off_end_with_its_head_set_back_is_named_against_an_exported_head(
    database: Database, workspace: Workspace, written: Actor, owner: Owner
) -> None:
    head = await read_head(database.reader, workspace.workspace_id)
    async with _guard_off(owner):
        await owner.execute("DELETE FROM object_events WHERE pos > $1", head.pos - 2)
        await owner.execute(
            "UPDATE log_head SET pos = e.pos, hash = e.hash FROM object_events e WHERE e.pos = $1",
            head.pos - 2,
        )
    report = await verify(database, workspace.workspace_id, expected_head=(head.pos, head.hash))
    assert "cut off" in _named(report)[head.pos]


@pytest.mark.promise("P2")
async def test_a_log_written_anew_differs_from_an_exported_head(
    database: Database, workspace: Workspace, written: Actor
) -> None:
    report = await verify(database, workspace.workspace_id, expected_head=(3, bytes(32)))
    assert "differs from the exported head" in _named(report)[3]


@pytest.mark.promise("P3")
@pytest.mark.parametrize(
    ("table", "statement"),
    [
        ("assertions", "UPDATE assertions SET value = '\"forged\"' WHERE property = 'email'"),
        ("assertions", "UPDATE assertions SET band = 2"),
        ("assertions", "DELETE FROM assertions WHERE property = 'note'"),
        ("assertion_history", "DELETE FROM assertion_history"),
        ("objects", "UPDATE objects SET name = 'Mallory' WHERE status = 'active'"),
        ("object_aliases", "UPDATE object_aliases SET name = 'Mallory'"),
        ("links", "UPDATE links SET evidence = 'forged'"),
        ("principals", "UPDATE principals SET role = 'operator'"),
        ("search_documents", "UPDATE search_documents SET active = NOT active"),
        ("search_documents", "UPDATE search_documents SET tsv = 'forged'"),
    ],
)
async def test_a_projection_that_is_not_the_fold_is_named_and_rebuilt(
    database: Database,
    workspace: Workspace,
    written: Actor,
    owner: Owner,
    table: str,
    statement: str,
) -> None:
    await owner.execute(statement)
    report = await verify(database, workspace.workspace_id)
    assert not report.ok
    assert {str(problem.get("table")) for problem in report.problems} == {table}
    await rebuild(database, workspace.workspace_id)
    assert (await verify(database, workspace.workspace_id)).ok
