"""P2: the database itself refuses to change the log, whoever asks and however."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio

from muniment.actions import Actions
from muniment.store.database import READER_ROLE, WRITER_ROLE, Connection, Database
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal
from tests.integration.core import calls
from tests.integration.core.calls import claim, create

pytestmark = pytest.mark.promise("P2")

VERBS = {
    "update": "UPDATE {table} SET payload = '{{}}'",
    "update nothing": "UPDATE {table} SET kind = kind WHERE pos < 0",
    "update the hash": "UPDATE {table} SET hash = payload_hash",
    "delete": "DELETE FROM {table}",
    "truncate": "TRUNCATE {table}",
    "truncate with others": "TRUNCATE {table}, log_head CASCADE",
    "upsert": "INSERT INTO {table} SELECT * FROM object_events ON CONFLICT "
    "(workspace_id, pos) DO UPDATE SET payload = NULL",
    "merge": "MERGE INTO {table} t USING object_events s "
    "ON s.workspace_id = t.workspace_id AND s.pos = t.pos WHEN MATCHED THEN DELETE",
}
"""Refused verbs. `update nothing` touches no row: only a missing grant can refuse it."""

DENIED = (asyncpg.InsufficientPrivilegeError,)


@pytest_asyncio.fixture
async def owner(
    actions: Actions, database: Database, operator: Principal
) -> AsyncGenerator[Connection]:
    """The owner's connection to a log of three events."""
    ann = await create(actions, operator.actor, "Person", "Ann")
    await actions.perform(operator.actor, claim(ann, "email", "a"))
    await actions.perform(operator.actor, claim(ann, "email", "b"))
    connection = await asyncpg.connect(database.dsn)
    yield connection
    await connection.close()


async def _log(owner: Connection) -> list[asyncpg.Record]:
    return await owner.fetch("SELECT * FROM object_events ORDER BY pos")


async def _refused(owner: Connection, sql: str, role: str | None, replica: bool) -> None:
    transaction = owner.transaction()
    await transaction.start()
    try:
        if replica:
            await owner.execute("SET LOCAL session_replication_role = replica")
        if role is not None:
            await owner.execute("SELECT set_config('role', $1, true)", role)
        with pytest.raises(DENIED):
            await owner.execute(sql)
    finally:
        await transaction.rollback()


@pytest.mark.parametrize("replica", [False, True], ids=["origin", "replica"])
@pytest.mark.parametrize(
    "role", [None, WRITER_ROLE, READER_ROLE], ids=["owner", "writer", "reader"]
)
async def test_log_refuses_every_verb_but_insert_on_every_partition(
    owner: Connection, role: str | None, replica: bool
) -> None:
    before = await _log(owner)
    parts = await owner.fetch(
        "SELECT inhrelid::regclass::text FROM pg_inherits "
        "WHERE inhparent = 'object_events'::regclass"
    )
    tables = ["object_events", *(part[0] for part in parts)]
    assert {"object_events_0000", "object_events_rest"} < set(tables)
    for name, verb in VERBS.items():
        for table in tables:
            if role is None and name == "update nothing":
                continue
            empty = table not in ("object_events", "object_events_0000")
            if role is None and empty and not verb.startswith("TRUNCATE"):
                continue
            if name == "upsert" and empty:
                continue
            await _refused(owner, verb.format(table=table), role, replica)
    assert await _log(owner) == before


async def test_partition_that_is_far_away_is_guarded_as_well(
    owner: Connection, workspace: Workspace
) -> None:
    """A row in each partition, the default one included: the owner cannot change it."""
    for table, pos in (("object_events_0001", 10_000_001), ("object_events_rest", 10**12)):
        await owner.execute(
            "INSERT INTO object_events SELECT workspace_id, $1, gen_random_uuid(), kind, "
            "object_id, related_id, actor_id, via, audience, receipt_id, recorded_at, payload, "
            "payload_hash, hash FROM object_events WHERE pos = 1",
            pos,
        )
        for replica in (False, True):
            for verb in ("update", "delete", "truncate", "merge"):
                await _refused(owner, VERBS[verb].format(table=table), None, replica)
    assert await owner.fetchval("SELECT count(*) FROM object_events") == 5


LIFTS = [
    "ALTER TABLE object_events DISABLE TRIGGER ALL",
    "ALTER TABLE object_events_0000 DISABLE TRIGGER log_only_grows",
    "ALTER TABLE object_events DISABLE TRIGGER USER",
    "DROP TRIGGER log_only_grows ON object_events",
    "DROP TABLE object_events_0000",
    "ALTER TABLE object_events DETACH PARTITION object_events_0000",
    "DROP FUNCTION refuse_log_change() CASCADE",
    "CREATE OR REPLACE FUNCTION refuse_log_change() RETURNS trigger LANGUAGE plpgsql "
    "AS $$ BEGIN RETURN NEW; END $$",
    "ALTER TABLE object_events OWNER TO muniment_writer",
    "CREATE TABLE mine (x int)",
    "COPY object_events TO PROGRAM 'true'",
    "SET session_replication_role = replica",
]


@pytest.mark.parametrize("role", [WRITER_ROLE, READER_ROLE])
async def test_service_roles_cannot_lift_the_guard(owner: Connection, role: str) -> None:
    for sql in LIFTS:
        transaction = owner.transaction()
        await transaction.start()
        # SET ROLE would leave the settings of the superuser who logged in within reach.
        await owner.execute(f"SET LOCAL SESSION AUTHORIZATION {role}")
        with pytest.raises(asyncpg.PostgresError):
            await owner.execute(sql)
        await transaction.rollback()


async def test_reader_and_writer_hold_only_what_they_need(owner: Connection) -> None:
    rows = await owner.fetch(
        "SELECT g.grantee::regrole::text AS grantee, c.relname, g.privilege_type "
        "FROM pg_class c, aclexplode(c.relacl) g WHERE c.relnamespace = 'public'::regnamespace "
        "AND g.grantee::regrole::text = ANY ($1) AND c.relkind IN ('r', 'p')",
        [READER_ROLE, WRITER_ROLE],
    )
    held = {(row["grantee"], row["relname"], row["privilege_type"]) for row in rows}
    log = {(role, right) for role, table, right in held if table.startswith("object_events")}
    assert {(READER_ROLE, "SELECT"), (WRITER_ROLE, "SELECT"), (WRITER_ROLE, "INSERT")} == log
    assert {right for role, _, right in held if role == READER_ROLE} == {"SELECT"}
    assert "credentials" not in {table for role, table, _ in held if role == READER_ROLE}
    assert not [held for *_, right in held if right in ("TRUNCATE", "TRIGGER", "REFERENCES")]


async def test_sessions_of_the_service_are_not_the_owner(database: Database) -> None:
    assert await database.writer.fetchval("SELECT current_user") == WRITER_ROLE
    assert await database.reader.fetchval("SELECT current_user") == READER_ROLE
    for pool, role in ((database.writer, WRITER_ROLE), (database.reader, READER_ROLE)):
        async with pool.acquire() as connection:
            await connection.execute("RESET ROLE")
            assert await connection.fetchval("SELECT current_user") == role
    with pytest.raises(asyncpg.PostgresError):
        await database.reader.execute("INSERT INTO workspaces DEFAULT VALUES")


@pytest.mark.parametrize("replica", [False, True], ids=["origin", "replica"])
async def test_payload_is_not_emptied_without_a_redaction_that_names_it(
    owner: Connection, actions: Actions, operator: Principal, replica: bool
) -> None:
    await actions.perform(operator.actor, calls.redact(2))
    for sql in (
        "UPDATE object_events SET payload = NULL WHERE pos = 3",
        "UPDATE object_events SET payload = NULL WHERE pos = 1",
        "UPDATE object_events SET payload = NULL WHERE pos = 4",
        "UPDATE object_events SET payload = NULL, reason = NULL WHERE pos = 2",
        "UPDATE object_events SET payload = '{}' WHERE pos = 2",
        "UPDATE object_events SET payload = NULL, audience = 'fleet' WHERE pos = 4",
        "DELETE FROM object_events WHERE pos = 2",
    ):
        transaction = owner.transaction()
        await transaction.start()
        if replica:
            await owner.execute("SET LOCAL session_replication_role = replica")
        with pytest.raises((*DENIED, asyncpg.UndefinedColumnError)):
            await owner.execute(sql)
        await transaction.rollback()


async def test_redaction_that_another_workspace_wrote_empties_nothing(
    owner: Connection, workspace: Workspace
) -> None:
    transaction = owner.transaction()
    await transaction.start()
    await owner.execute(
        "INSERT INTO object_events SELECT $1, 9, gen_random_uuid(), 'redacted', NULL, NULL, "
        'actor_id, via, NULL, NULL, recorded_at, \'{"skeletons":["{}"],"targets":[2]}\', '
        "payload_hash, hash FROM object_events WHERE pos = 1",
        UUID(int=5),
    )
    with pytest.raises(DENIED):
        await owner.execute("UPDATE object_events SET payload = NULL WHERE pos = 2")
    await transaction.rollback()


async def test_redaction_leaves_the_chain_whole_and_the_other_events_alone(
    owner: Connection, actions: Actions, database: Database, workspace: Workspace,
    operator: Principal,
) -> None:  # fmt: skip
    before = {row["pos"]: row for row in await _log(owner)}
    await asyncio.gather(
        actions.perform(operator.actor, calls.redact(2)),
        actions.perform(operator.actor, claim("Ann", "summary", "after")),
    )
    after = {row["pos"]: row for row in await _log(owner)}
    assert after[2]["payload"] is None
    assert {**after[2]} == {**before[2]} | {"payload": None}
    assert [after[1], after[3]] == [before[1], before[3]]
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.events == 5
