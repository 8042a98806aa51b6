"""Many writers at once: none lost, none doubled, a bad command alone refused, a full queue said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio

from muniment.actions import Actions
from muniment.domain.commands import Command, Redact, SetStatus
from muniment.domain.errors import MunimentError, Refused
from muniment.domain.events import Envelope
from muniment.domain.identity import Actor
from muniment.domain.model import Status
from muniment.domain.parse import parse_ref
from muniment.reads.follow import follow
from muniment.store.database import Connection, Database
from muniment.store.workspaces import Workspace, ensure_workspace
from muniment.surfaces.principal import Principal
from tests.conftest import MakeAgent
from tests.integration.core import calls
from tests.integration.core.calls import claim, create, ensure, link


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


@pytest.mark.promise("P1")
@pytest.mark.parametrize("processes", [2, 4])
async def test_several_processes_on_one_log_lose_and_double_nothing(
    database: Database,
    workspace: Workspace,
    operator: Principal,
    make_agent: MakeAgent,
    processes: int,
) -> None:
    agents = [(await make_agent(f"agent-{n}")).actor for n in range(4)]
    ann = await _named(database, operator.actor, "Ann")
    doors = [Actions(database) for _ in range(processes)]

    async def caller(number: int) -> list[str]:
        door, who = doors[number % processes], agents[number % 4]
        said: list[str] = []
        for turn in range(6):
            value = f"{number}.{turn}"
            await door.perform(who, claim(ann, "note", value), key=f"k{value}")
            await door.perform(who, claim(ann, "summary", value))
            said.append(value)
        return said

    told = [value for said in await asyncio.gather(*map(caller, range(24))) for value in said]
    for door in doors:
        await door.close()
    rows = await database.reader.fetch("SELECT value FROM assertions WHERE property = 'note'")
    assert sorted(row["value"].strip('"') for row in rows) == sorted(told)
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.pos == 4 + 1 + 2 * len(told)
    assert report.rows["assertions"] == len(told) + 4


async def _named(database: Database, who: Actor, name: str) -> str:
    actions = Actions(database)
    made = await create(actions, who, "Person", name)
    await actions.close()
    return made


async def test_fifty_mixed_writes_at_once_leave_a_whole_store(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    other = Actions(database)
    who = operator.actor
    ids = [await create(actions, who, "Person", f"p{n}") for n in range(5)]
    kinds: list[Command] = []
    for n in range(50):
        one, two = ids[n % 5], ids[(n + 1) % 5]
        kinds.append(
            (
                claim(one, "email", f"{n}"),
                link(one, "related_to", two),
                calls.merge(one, two),
                calls.unmerge(one),
                calls.rename(one, f"name {n}"),
                calls.set_status(two, "archived" if n % 2 else "active"),
                calls.retract(one, "email"),
                calls.redact(1 + n),
            )[n % 8]
        )
    doors = (actions, other)
    results = await asyncio.gather(
        *(doors[n % 2].perform(who, command) for n, command in enumerate(kinds)),
        return_exceptions=True,
    )
    await other.close()
    for result in results:
        if isinstance(result, BaseException):
            assert isinstance(result, MunimentError)
            assert result.code not in ("internal", "store_refused")
    await calls.require_clean(database, workspace.workspace_id)


async def test_lock_is_taken_when_another_process_keeps_being_faster(
    database: Database, workspace: Workspace, operator: Principal, outsider: Connection
) -> None:
    """Each try finds the head moved, until the writer holds it and the mover has to wait."""
    actions = Actions(database)
    ann = await create(actions, operator.actor, "Person", "Ann")
    await outsider.execute(
        "CREATE FUNCTION jump() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF pg_trigger_depth() = 1 AND (SELECT count(*) FROM jumps) < 2 THEN "
        "INSERT INTO jumps VALUES (1); RETURN NULL; END IF; RETURN NEW; END $$"
    )
    await outsider.execute("CREATE TABLE jumps (x int)")
    await outsider.execute("GRANT ALL ON jumps TO muniment_writer")
    # To the writer this looks like another process: its compare-and-set finds nothing to set.
    await outsider.execute(
        "CREATE TRIGGER jump BEFORE UPDATE ON log_head FOR EACH ROW EXECUTE FUNCTION jump()"
    )
    outcome = await actions.perform(operator.actor, claim(ann, "email", "a"), key="k")
    assert outcome.answer["pos"] == 2
    assert await outsider.fetchval("SELECT count(*) FROM jumps") == 2
    await actions.close()
    await calls.require_clean(database, workspace.workspace_id)


@pytest.mark.promise("P1")
async def test_commit_whose_connection_broke_and_that_happens_late_is_not_doubled(
    database: Database, workspace: Workspace, operator: Principal, outsider: Connection
) -> None:
    actions = Actions(database)
    ann = await create(actions, operator.actor, "Person", "Ann")
    await _hold_head(outsider)
    waiting = asyncio.create_task(actions.perform(operator.actor, claim(ann, "note", "once")))
    await _until_blocked(database)
    # The client side goes away; the server process waits on for its lock, and will commit.
    for holder in database.writer._holders:  # pyright: ignore
        if holder._con is not None and holder._in_use is not None:  # pyright: ignore
            holder._con.terminate()  # pyright: ignore
    await _until_blocked(database, 2)
    await outsider.execute("ROLLBACK")
    outcome = await waiting
    assert calls.result_of(outcome.answer)["outcome"] == "asserted"
    await actions.close()
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.pos == 2


async def test_log_that_another_process_holds_makes_callers_wait_and_not_fail(
    actions: Actions,
    database: Database,
    workspace: Workspace,
    operator: Principal,
    outsider: Connection,
) -> None:
    """As long as a rebuild, say: longer than one lock timeout, shorter than the patience."""
    ann = await create(actions, operator.actor, "Person", "Ann")
    await outsider.execute("ALTER ROLE muniment_writer SET lock_timeout = '50ms'")
    await _hold_head(outsider)
    async with database.writer.acquire() as connection:
        await connection.execute("SET lock_timeout = '50ms'")
    waiting = [
        asyncio.create_task(actions.perform(operator.actor, claim(ann, "note", f"{n}")))
        for n in range(20)
    ]
    for _ in range(3):
        await _until_blocked(database)
        while await _blocked(database):
            pass
    await outsider.execute("ROLLBACK")
    outcomes = await asyncio.gather(*waiting)
    assert {calls.result_of(o.answer)["outcome"] == "asserted" for o in outcomes} == {True}
    await outsider.execute("ALTER ROLE muniment_writer RESET lock_timeout")
    await calls.require_clean(database, workspace.workspace_id)


async def test_command_that_the_database_refuses_fails_alone(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    """What no parser lets through, and what a fault of ours could send all the same."""
    who = operator.actor
    ann = await create(actions, who, "Person", "Ann")
    good: list[tuple[Command, str | None]] = [
        (claim(ann, "note", f"good {n}"), f"g{n}") for n in range(100)
    ]
    bad: list[tuple[Command, str | None]] = [
        (Redact(positions=(2**70,), reason="Past 64 bit."), None),
        (ensure("Person", "Bob"), "k" * 500),
        (ensure("Person", "Carol"), "nul\x00"),
        (claim(ann, "note", "bad", audience=None, evidence=None), "\ud800"),
        (SetStatus(about=parse_ref(ann), status=Status.MERGED, reason="No."), None),
    ]
    mixed = list(good)
    for n, command in enumerate(bad):
        mixed.insert(n * 20, command)
    results = await actions.perform_many(who, mixed)
    assert len(results) == len(mixed)
    for (command, key), result in zip(mixed, results, strict=True):
        if (command, key) in bad:
            assert isinstance(result, MunimentError)
            assert result.next_step
            assert result.code != "unavailable"
        else:
            assert not isinstance(result, MunimentError), result.as_dict()
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.rows["assertions"] == 100
    assert report.rows["objects"] == 1


async def test_row_that_the_database_refuses_is_said_to_its_caller(
    actions: Actions, database: Database, outsider: Connection, operator: Principal
) -> None:
    await outsider.execute("ALTER TABLE objects ADD CHECK (name <> 'Poison')")
    results = await asyncio.gather(
        *(actions.perform(operator.actor, ensure("Note", name)) for name in ("a", "Poison", "b")),
        return_exceptions=True,
    )
    assert isinstance(results[1], Refused)
    assert results[1].code == "store_refused"
    assert results[1].details["sqlstate"] == "23514"
    assert not any(isinstance(result, BaseException) for result in (results[0], results[2]))


@pytest.mark.promise("P3")
async def test_follower_sees_each_pos_once_in_order_under_sixteen_writers(
    database: Database, workspace: Workspace, operator: Principal
) -> None:
    doors = [Actions(database), Actions(database)]
    bell = asyncio.Event()
    seen: list[Envelope] = []
    total = 16 * 25

    async def read() -> None:
        async for envelope in follow(
            database, workspace.workspace_id, 0, interval=0.01, bell=bell, page=7
        ):
            seen.append(envelope)
            if len(seen) == total:
                return

    async def write(number: int) -> None:
        for turn in range(25):
            name = f"{number}.{turn}"
            await doors[number % 2].perform(operator.actor, ensure("Note", name))
            bell.set()

    reader = asyncio.create_task(read())
    await asyncio.gather(*map(write, range(16)))
    await asyncio.wait_for(reader, timeout=60)
    for door in doors:
        await door.close()
    assert [envelope.pos for envelope in seen] == list(range(1, total + 1))
    assert len({envelope.event_id for envelope in seen}) == total
    times = [envelope.recorded_at for envelope in seen]
    assert times == sorted(times)


async def test_writers_of_two_workspaces_share_nothing(
    database: Database, workspace: Workspace, operator: Principal, actions: Actions
) -> None:
    other = await ensure_workspace(database, "other")
    reader = replace(operator.reader, workspace_id=other.workspace_id)
    stranger = replace(operator.actor, reader=reader)
    mine = await create(actions, operator.actor, "Person", "Ann")
    theirs = await create(actions, stranger, "Person", "Ann")
    assert mine != theirs
    error = await calls.refusal(actions, stranger, claim(mine, "email", "x"))
    absent = await calls.refusal(actions, stranger, claim(str(UUID(int=9)), "email", "x"))
    assert str(error.as_dict()).replace(mine, str(UUID(int=9))) == str(absent.as_dict())
    for each in (workspace.workspace_id, other.workspace_id):
        assert (await calls.require_clean(database, each)).pos == 1
