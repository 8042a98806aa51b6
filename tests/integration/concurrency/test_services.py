"""Owns what several services on one database come to: dense positions, none lost, none doubled."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

import asyncpg
import pytest

from muniment.actions import Actions
from muniment.domain.commands import Command
from muniment.domain.errors import MunimentError, NotFound
from muniment.domain.events import Envelope
from muniment.domain.identity import Via, project_audience
from muniment.domain.outcomes import Outcome
from muniment.reads import Reads
from muniment.reads.follow import follow
from muniment.store.database import Database
from muniment.store.statements import load
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal
from tests.conftest import MakeAgent
from tests.integration.concurrency.conftest import Serve
from tests.integration.core import calls
from tests.integration.core.calls import claim, ensure, link
from tests.integration.plans.watch import listen, tell
from tests.integration.reads.desk import Desk, names

Result = Outcome | MunimentError


async def _perform(actions: Actions, who: Principal, command: Command, key: str | None) -> Result:
    try:
        return await actions.perform(who.actor, command, key=key)
    except MunimentError as error:
        return error


async def _positions(database: Database, workspace: Workspace) -> list[int]:
    rows = await database.reader.fetch(
        "SELECT pos FROM object_events WHERE workspace_id = $1 ORDER BY pos",
        workspace.workspace_id,
    )
    return [row["pos"] for row in rows]


def _mixed(objects: Sequence[str], count: int) -> list[Command]:
    """Return commands that meet each other on a few objects."""
    chance = random.Random(7)
    made: list[Command] = []
    for n in range(count):
        one, two = chance.sample(objects, 2)
        made.append(
            (
                claim(one, "note", f"n{n}"),
                claim(one, "tag", f"t{n % 20}"),
                link(one, "related_to", two),
                ensure("Person", f"new {n % 15}"),
                calls.retract(one, "note"),
                calls.merge(one, two),
                calls.unmerge(one),
                calls.rename(one, f"renamed {n % 30}"),
                calls.set_status(two, "archived" if n % 2 else "active"),
                calls.redact(1 + n % 60),
            )[n % 10]
        )
    return made


@pytest.mark.promise("P1")
@pytest.mark.parametrize("count", [2, 4])
async def test_services_with_the_same_keys_lose_and_double_nothing(
    serve: Serve, database: Database, workspace: Workspace, operator: Principal, count: int
) -> None:
    """Each key is sent to each service, as by a caller whose answer was lost on its way."""
    services = await serve(count)
    ids = [await calls.create(services[0], operator.actor, "Person", f"p{n}") for n in range(6)]
    commands = _mixed(ids, 300)
    sent = [(n, service) for n in range(len(commands)) for service in services]
    random.Random(11).shuffle(sent)
    results = await asyncio.gather(
        *(_perform(service, operator, commands[n], f"k{n}") for n, service in sent)
    )
    answers: dict[int, list[Result]] = {}
    for (n, _), result in zip(sent, results, strict=True):
        answers.setdefault(n, []).append(result)
    for n, given in answers.items():
        done = [result.answer for result in given if isinstance(result, Outcome)]
        # A redaction between two answers takes the words out of the kept one.
        said = [answer for answer in done if answer.get("outcome") != "redacted"]
        assert all(answer == said[0] for answer in said), (n, said)
        for error in given:
            if isinstance(error, MunimentError):
                assert error.code not in ("internal", "store_refused", "unavailable"), error
    report = await calls.require_clean(database, workspace.workspace_id)
    assert await _positions(database, workspace) == list(range(1, report.pos + 1))
    kept = await database.writer.fetchval("SELECT count(DISTINCT key) FROM idempotency_keys")
    assert kept == sum(
        any(isinstance(result, Outcome) for result in given) for given in answers.values()
    )


@pytest.mark.filterwarnings("ignore:.*active log listener")
async def test_conflicts_are_met_resolved_and_at_last_locked_out(
    serve: Serve, database: Database, workspace: Workspace, operator: Principal, dsn: str
) -> None:
    """The server tells each commit that found the head moved, and each head that was locked."""
    owner = await asyncpg.connect(dsn)
    await tell(owner)
    await owner.close()
    services = await serve(4)
    watches = [listen(service.database) for service in services]

    async def write(n: int) -> None:
        for turn in range(25):
            note = ensure("Note", f"note {n} {turn}")
            await services[n % 4].perform(operator.actor, note)

    await asyncio.gather(*map(write, range(16)))
    tried = [
        plan for watch in watches for plan in watch.plans[_purpose("write/commit.sql", "commit")]
    ]
    lost = [plan for plan in tried if "actual rows=0.00" in plan.text.splitlines()[0]]
    locked = [
        plan
        for watch in watches
        for plan in watch.plans.get(_purpose("write/load.sql", "lock_head"), [])
    ]
    assert lost
    assert locked
    report = await calls.require_clean(database, workspace.workspace_id)
    assert await _positions(database, workspace) == list(range(1, 401))
    assert report.rows["objects"] == 400


def _purpose(file: str, statement: str) -> str:
    return load(file)[statement].splitlines()[0][3:]


async def test_four_services_that_create_one_name_at_once_make_one_object(
    serve: Serve, database: Database, workspace: Workspace, operator: Principal
) -> None:
    services = await serve(4)
    for name in ("DGIA", "Dgia Two", "dgia-3"):
        outcomes = await asyncio.gather(
            *(service.perform(operator.actor, ensure("Project", name)) for service in services)
        )
        assert len({calls.id_of(outcome.answer) for outcome in outcomes}) == 1
        said = sorted(str(outcome.answer["outcome"]) for outcome in outcomes)
        assert said == ["created", "found", "found", "found"]
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.pos == report.rows["objects"] == 3


@pytest.mark.promise("P1")
async def test_twelve_calls_with_one_key_on_four_services_have_one_effect(
    serve: Serve, database: Database, workspace: Workspace, operator: Principal
) -> None:
    services = await serve(4)
    ann = await calls.create(services[0], operator.actor, "Person", "Ann")
    outcomes = await asyncio.gather(
        *(
            services[n % 4].perform(operator.actor, claim(ann, "email", "a@b.c"), key="one")
            for n in range(12)
        )
    )
    assert len({str(outcome.answer) for outcome in outcomes}) == 1
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.pos == 2
    assert report.rows["assertions"] == 1


async def test_merges_of_two_into_each_other_on_two_services_never_deadlock(
    serve: Serve, database: Database, workspace: Workspace, operator: Principal
) -> None:
    one, two = await serve(2)
    for turn in range(10):
        a = await calls.create(one, operator.actor, "Person", f"a{turn}")
        b = await calls.create(one, operator.actor, "Person", f"b{turn}")
        await one.perform(operator.actor, claim(a, "note", "of a"))
        await one.perform(operator.actor, claim(b, "note", "of b"))
        results = await asyncio.gather(
            _perform(one, operator, calls.merge(a, b), None),
            _perform(two, operator, calls.merge(b, a), None),
        )
        refused = [result for result in results if isinstance(result, MunimentError)]
        assert len(refused) == 1
        assert refused[0].code not in ("internal", "store_refused", "busy", "unavailable")
        assert refused[0].next_step
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.pos == 10 * 5


async def test_command_whose_rule_the_database_lacks_fails_alone(
    serve: Serve, database: Database, workspace: Workspace, operator: Principal, dsn: str
) -> None:
    """The foreign key to the trust rules refuses what is imported, and nothing beside it."""
    (actions,) = await serve(1)
    importer = Principal(actor=replace(operator.actor, via=Via.IMPORT))
    owner = await asyncpg.connect(dsn)
    await owner.execute("DELETE FROM trust_rules WHERE rule = 'imported'")
    await owner.close()
    good = [
        _perform(actions, operator, claim("Ann", "tag", f"{n}", type="Person"), f"g{n}")
        for n in range(60)
    ]
    bad = [
        _perform(actions, importer, claim("Ann", "tag", f"bad {n}", type="Person"), f"b{n}")
        for n in range(3)
    ]
    mixed = [*good[:20], bad[0], *good[20:45], bad[1], bad[2], *good[45:]]
    results = await asyncio.gather(*mixed)
    refused = [result for result in results if isinstance(result, MunimentError)]
    assert [error.code for error in refused] == ["store_refused"] * 3
    assert [error.details["sqlstate"] for error in refused] == ["23503"] * 3
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.pos == 61
    assert report.rows["assertions"] == 60
    keys = await database.writer.fetch("SELECT key FROM idempotency_keys")
    assert {row["key"] for row in keys} == {f"g{n}" for n in range(60)}


async def test_callers_that_are_cancelled_wrote_once_or_not_at_all(
    serve: Serve, database: Database, workspace: Workspace, operator: Principal
) -> None:
    services = await serve(2)
    ann = await calls.create(services[0], operator.actor, "Person", "Ann")
    tasks = [
        asyncio.create_task(
            services[n % 2].perform(operator.actor, claim(ann, "tag", f"{n}"), key=f"{n}")
        )
        for n in range(300)
    ]
    await tasks[0]
    for task in tasks[1::2]:
        task.cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    told = {n for n, result in enumerate(done) if isinstance(result, Outcome)}
    assert told >= set(range(0, 300, 2))
    before = await _said(database)
    assert {str(n) for n in told} <= before
    # Their keys tell those who went away: sent again, each has its one effect.
    for n in range(300):
        await services[n % 2].perform(operator.actor, claim(ann, "tag", f"{n}"), key=f"{n}")
    report = await calls.require_clean(database, workspace.workspace_id)
    assert await _said(database) == {str(n) for n in range(300)}
    assert report.pos == 301


async def _said(database: Database) -> set[str]:
    rows = await database.reader.fetch("SELECT value FROM assertions")
    said = [row["value"].strip('"') for row in rows]
    assert len(said) == len(set(said))
    return set(said)


async def test_five_thousand_project_audiences_leave_writing_and_search_as_they_are(
    serve: Serve,
    database: Database,
    workspace: Workspace,
    operator: Principal,
    make_agent: MakeAgent,
) -> None:
    (actions,) = await serve(1)
    scopes = [project_audience(uuid4()) for _ in range(5_000)]
    created = [
        (claim(f"plan {n}", "note", f"secret of {n}", type="Note", audience=scope), None)
        for n, scope in enumerate(scopes)
    ]
    for result in await actions.perform_many(operator.actor, created):
        assert not isinstance(result, MunimentError), result.as_dict()
    member = await make_agent("member", audiences=(scopes[7], *scopes[1_000:3_000]))
    desk = Desk(who=member, actions=actions, reads=Reads(database))
    assert (await desk.recall("secret of 7"))["hits"][0]["object"]["name"] == "plan 7"
    seen = names(await desk.recall("plan 8", limit=100))
    assert seen
    assert set(seen) <= {f"plan {n}" for n in (7, *range(1_000, 3_000))}
    with pytest.raises(NotFound):
        await desk.open("plan 8")
    assert await desk.say("plan 7", "summary", "seen", type="Note", audience=scopes[7])
    locks = await database.reader.fetchval("SELECT count(*) FROM pg_locks WHERE granted")
    assert locks < 200
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.rows["objects"] == 5_000


@pytest.mark.promise("P3")
async def test_followers_see_each_pos_once_in_order_while_two_services_write(
    serve: Serve, database: Database, workspace: Workspace, operator: Principal
) -> None:
    services = await serve(2)
    total = 16 * 30

    async def read(after: int) -> list[Envelope]:
        seen: list[Envelope] = []
        async for envelope in follow(
            database, workspace.workspace_id, after, interval=0.005, page=13
        ):
            seen.append(envelope)
            if envelope.pos == total:
                break
        return seen

    async def write(writer: int) -> None:
        for turn in range(30):
            note = ensure("Note", f"{writer} {turn}")
            await services[writer % 2].perform(operator.actor, note, key=f"{writer} {turn}")

    followers = [asyncio.create_task(read(after)) for after in (0, 0, 100)]
    await asyncio.gather(*map(write, range(16)))
    for follower, after in zip(followers, (0, 0, 100), strict=True):
        seen = await asyncio.wait_for(follower, timeout=60)
        assert [envelope.pos for envelope in seen] == list(range(after + 1, total + 1))
        assert len({envelope.event_id for envelope in seen}) == total - after
