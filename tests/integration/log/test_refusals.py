"""P2: the database itself refuses to change the log, whoever asks and however."""

from __future__ import annotations

import asyncpg
import pytest

from muniment.actions import Actions
from muniment.actions.maintenance import verify
from muniment.domain.identity import Actor
from muniment.domain.parse import parse_redact
from muniment.store.database import Database
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal
from tests.integration.log.conftest import Owner

ROLES = ("owner", "muniment_writer", "muniment_reader")
TABLES = ("object_events", "object_events_0000", "object_events_0002", "object_events_rest")
_DELETE_ONE = "DELETE FROM {t} WHERE pos = 1"
_DELETE_ALL = "DELETE FROM {t}"
REPLICATION = ("origin", "replica", "local")

UPDATES = {
    "payload": "UPDATE {t} SET payload = '{{}}'",
    "payload emptied": "UPDATE {t} SET payload = NULL",
    "hash": "UPDATE {t} SET hash = sha256('x')",
    "pos": "UPDATE {t} SET pos = pos + 1000",
    "recorded_at": "UPDATE {t} SET recorded_at = now()",
    "actor": "UPDATE {t} SET actor_id = gen_random_uuid()",
    "audience": "UPDATE {t} SET audience = 'fleet'",
    "nothing": "UPDATE {t} SET pos = pos",
}


async def _act_as(owner: Owner, role: str, replication: str) -> None:
    await owner.execute("RESET ROLE")
    await owner.execute(f"SET session_replication_role = {replication}")
    if role != "owner":
        await owner.execute(f"SET ROLE {role}")


async def _refused(owner: Owner, statement: str) -> None:
    before = await owner.fetchval("SELECT count(*) FROM object_events")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await owner.execute(statement)
    assert await owner.fetchval("SELECT count(*) FROM object_events") == before


@pytest.mark.promise("P2")
@pytest.mark.parametrize("role", ROLES)
async def test_update_of_a_logged_row_is_refused(written: Actor, owner: Owner, role: str) -> None:
    for replication in REPLICATION:
        await _act_as(owner, role, replication)
        for statement in UPDATES.values():
            await _refused(owner, statement.format(t="object_events"))
            await _refused(owner, statement.format(t="object_events_0000"))


@pytest.mark.promise("P2")
@pytest.mark.parametrize("role", ROLES)
async def test_delete_of_a_logged_row_is_refused(written: Actor, owner: Owner, role: str) -> None:
    for replication in REPLICATION:
        await _act_as(owner, role, replication)
        for table in ("object_events", "object_events_0000"):
            await _refused(owner, _DELETE_ONE.format(t=table))
            await _refused(owner, _DELETE_ALL.format(t=table))


@pytest.mark.promise("P2")
@pytest.mark.parametrize("role", ROLES)
async def test_truncate_of_the_log_and_of_each_part_is_refused(
    written: Actor, owner: Owner, role: str
) -> None:
    for replication in REPLICATION:
        await _act_as(owner, role, replication)
        for table in TABLES:
            await _refused(owner, f"TRUNCATE {table}")
            await _refused(owner, f"TRUNCATE {table} CASCADE")


@pytest.mark.promise("P2")
@pytest.mark.parametrize("role", ROLES[1:])
@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE object_events DISABLE TRIGGER ALL",
        "ALTER TABLE object_events_0000 DISABLE TRIGGER log_only_grows",
        "ALTER TABLE object_events DETACH PARTITION object_events_0000",
        "DROP TABLE object_events_0000",
        "DROP FUNCTION refuse_log_change() CASCADE",
        "CREATE OR REPLACE FUNCTION refuse_log_change() RETURNS trigger LANGUAGE plpgsql "
        "AS $$ BEGIN RETURN NEW; END $$",
    ],
)
async def test_service_roles_cannot_disarm_the_guard(
    written: Actor, owner: Owner, role: str, statement: str
) -> None:
    await owner.execute(f"SET ROLE {role}")
    with pytest.raises(asyncpg.PostgresError) as refused:
        await owner.execute(statement)
    assert refused.value.sqlstate in {"42501", "0LP01"}


@pytest.mark.promise("P2")
@pytest.mark.parametrize("role", ROLES[1:])
async def test_service_roles_cannot_give_themselves_more(
    written: Actor, owner: Owner, role: str
) -> None:
    await owner.execute(f"SET ROLE {role}")
    # Postgres answers a grant of what one does not own with a warning alone.
    await owner.execute("GRANT UPDATE, DELETE ON object_events TO muniment_writer")
    for verb in ("UPDATE", "DELETE", "TRUNCATE"):
        assert not await owner.fetchval(
            "SELECT has_table_privilege('muniment_writer', 'object_events', $1)", verb
        )


@pytest.mark.promise("P2")
async def test_service_sessions_cannot_become_the_owner(database: Database) -> None:
    for pool in (database.writer, database.reader):
        async with pool.acquire() as connection:
            before = await connection.fetchval("SELECT current_user")
            await connection.execute("RESET ROLE")
            assert await connection.fetchval("SELECT current_user") == before
            await connection.execute("RESET ALL")
            assert await connection.fetchval("SELECT current_user") == before


@pytest.mark.promise("P2")
async def test_the_redacting_function_empties_nothing_without_its_event(
    database: Database, workspace: Workspace, written: Actor
) -> None:
    emptied = await database.writer.fetchval(
        "SELECT empty_redacted_payloads($1, 3)", workspace.workspace_id
    )
    assert emptied == 0
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await database.reader.fetchval(
            "SELECT empty_redacted_payloads($1, 3)", workspace.workspace_id
        )


@pytest.mark.promise("P2")
async def test_redaction_removes_the_content_and_leaves_verify_clean(
    actions: Actions,
    database: Database,
    workspace: Workspace,
    operator: Principal,
    written: Actor,
    owner: Owner,
) -> None:
    pos = await owner.fetchval("SELECT pos FROM object_events WHERE payload LIKE '%secret sauce%'")
    outcome = await actions.perform(
        operator.actor, parse_redact({"positions": [pos], "reason": "It was a secret."})
    )
    assert outcome.answer["outcome"] == "redacted"
    for table in ("object_events", "assertions", "assertion_history", "search_documents"):
        assert not await owner.fetchval(
            f"SELECT count(*) FROM {table} t WHERE t::text LIKE '%secret%sauce%'"  # noqa: S608
        ), table
    report = await verify(database, workspace.workspace_id)
    assert report.ok, report.problems
    again = await actions.perform(
        operator.actor, parse_redact({"positions": [pos], "reason": "Once more."})
    )
    assert again.answer["outcome"] == "unchanged"


@pytest.mark.promise("P2")
async def test_a_redaction_event_itself_can_never_be_emptied(
    actions: Actions, operator: Principal, written: Actor, owner: Owner
) -> None:
    await actions.perform(
        operator.actor, parse_redact({"positions": [4], "reason": "A first one."})
    )
    last = await owner.fetchval("SELECT max(pos) FROM object_events")
    statement = "UPDATE object_events SET payload = NULL WHERE pos = {pos}"
    await _refused(owner, statement.format(pos=last))
