"""Writing through the one door: retries, duplicates, corrections, and what is read back of them."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import orjson
import pytest

from muniment.actions import Actions, WriterSettings, maintenance
from muniment.domain import parse
from muniment.domain.errors import Conflict, MunimentError
from muniment.domain.identity import Role
from muniment.reads import Reads
from muniment.store.database import Database
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal
from tests.conftest import MakeAgent
from tests.integration.core import calls
from tests.integration.core.calls import claim, create, ensure, link, merge, refusal, result_of


@pytest.mark.promise("P1")
async def test_same_key_twice_has_one_effect_and_one_answer(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    command = claim("Ann", "email", "a@example.org", type="Person")
    first = await actions.perform(operator.actor, command, key="k")
    second = await actions.perform(operator.actor, command, key="k")
    assert second.answer == first.answer
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.pos == 2


@pytest.mark.promise("P1")
async def test_twelve_calls_at_once_with_one_key_have_one_effect(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    command = ensure("Person", "Ann")
    other = Actions(database)
    outcomes = await asyncio.gather(
        *(door.perform(operator.actor, command, key="k") for door in (actions, other) * 6)
    )
    await other.close()
    assert {str(outcome.answer["outcome"]) for outcome in outcomes} == {"created"}
    assert len({calls.id_of(outcome.answer) for outcome in outcomes}) == 1
    assert (await calls.require_clean(database, workspace.workspace_id)).pos == 1


async def test_key_of_another_request_is_a_conflict(
    actions: Actions, operator: Principal, make_agent: MakeAgent
) -> None:
    await actions.perform(operator.actor, ensure("Person", "Ann"), key="k")
    with pytest.raises(Conflict) as caught:
        await actions.perform(operator.actor, ensure("Person", "Bob"), key="k")
    assert (caught.value.code, caught.value.field) == ("idempotency_conflict", "key")
    assert caught.value.next_step
    alice = (await make_agent("alice")).actor
    outcome = await actions.perform(alice, ensure("Person", "Bob"), key="k")
    assert outcome.answer["outcome"] == "created"


async def test_key_is_kept_for_answers_that_wrote_nothing_and_not_for_refusals(
    actions: Actions, operator: Principal
) -> None:
    who = operator.actor
    error = await refusal(actions, who, claim("Ann", "email", "x"))
    assert error.code == "unknown_object"
    with pytest.raises(MunimentError):
        await actions.perform(who, claim("Ann", "email", "x"), key="k")
    await actions.perform(who, ensure("Person", "Ann"))
    assert (await actions.perform(who, claim("Ann", "email", "x"), key="k")).answer["pos"] == 2
    found = await actions.perform(who, ensure("Person", "Ann"), key="f")
    await actions.perform(who, calls.rename("Ann", "Anne"))
    again = await actions.perform(who, ensure("Person", "Ann"), key="f")
    assert again.answer == found.answer


async def test_keys_of_one_batch_see_each_other(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    results = await actions.perform_many(
        operator.actor,
        [
            (ensure("Person", "Ann"), "k"),
            (ensure("Person", "Ann"), "k"),
            (ensure("Person", "Bob"), "k"),
        ],
    )
    assert not isinstance(results[0], MunimentError)
    assert not isinstance(results[1], MunimentError)
    assert results[0].answer == results[1].answer
    assert isinstance(results[2], Conflict)
    assert (await calls.require_clean(database, workspace.workspace_id)).pos == 1


async def test_expired_key_is_forgotten(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    await actions.perform(operator.actor, ensure("Person", "Ann"), key="k")
    kept = timedelta(hours=1)
    workspace_id = workspace.workspace_id
    assert await maintenance.expire_idempotency(database, workspace_id, kept) == 0
    assert await maintenance.expire_idempotency(database, workspace_id, timedelta(0)) == 1
    again = await actions.perform(operator.actor, ensure("Person", "Ann"), key="k")
    assert again.answer["outcome"] == "found"


async def test_four_creates_at_once_of_one_name_make_one_object(
    actions: Actions, database: Database, workspace: Workspace, make_agent: MakeAgent
) -> None:
    doors = [actions, Actions(database), Actions(database), Actions(database)]
    actors = [(await make_agent(name)).actor for name in ("a", "b", "c", "d")]
    outcomes = await asyncio.gather(
        *(
            door.perform(actor, ensure("Organization", "DGIA"))
            for door, actor in zip(doors, actors, strict=True)
        )
    )
    for door in doors[1:]:
        await door.close()
    assert sorted(str(o.answer["outcome"]) for o in outcomes) == ["created"] + ["found"] * 3
    assert len({calls.id_of(o.answer) for o in outcomes}) == 1
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.rows["objects"] == 1


async def test_same_payload_ingested_again_writes_nothing(
    actions: Actions, database: Database, workspace: Workspace, make_agent: MakeAgent
) -> None:
    ci = (await make_agent("ci", role=Role.INGESTOR, owned_sources=("git:x",))).actor
    batch = [
        (claim(f"f{i}.py", "path", f"src/f{i}.py", type="File", source="git:x"), None)
        for i in range(50)
    ] + [
        (link("f0.py", "references", f"f{i}.py", from_type="File", to_type="File"), None)
        for i in range(50)
    ]
    await actions.perform_many(ci, batch)
    before = await calls.dump_text(database, workspace.workspace_id)
    results = await actions.perform_many(ci, batch)
    assert all("pos" not in r.answer for r in results if not isinstance(r, MunimentError))
    assert not [r for r in results if isinstance(r, MunimentError)]
    assert await calls.dump_text(database, workspace.workspace_id) == before


@pytest.mark.promise("P4")
async def test_operator_correction_holds_against_a_hundred_writes_of_a_parser(
    actions: Actions,
    database: Database,
    workspace: Workspace,
    operator: Principal,
    make_agent: MakeAgent,
) -> None:
    ci = (await make_agent("ci", role=Role.INGESTOR, owned_sources=("git:*",))).actor
    ann = await create(actions, operator.actor, "Person", "Ann")
    await actions.perform(operator.actor, claim(ann, "email", "right@example.org"))
    await actions.perform_many(
        ci, [(claim(ann, "email", f"{i}@parsed", source="git:x"), None) for i in range(100)]
    )
    dossier = await Reads(database).open(operator.reader, parse.parse_ref(ann))
    shown: list[dict[str, Any]] = []
    json.loads(orjson.dumps(dossier), object_hook=shown.append)
    (winner,) = [row for row in shown if row.get("winner")]
    assert winner["value"] == "right@example.org"
    rows = await database.reader.fetch("SELECT source, value FROM assertions ORDER BY source")
    assert [tuple(row) for row in rows] == [
        ("git:x", '"99@parsed"'),
        ("operator", '"right@example.org"'),
    ]


async def test_omitted_class_is_stored_as_the_weakest(
    actions: Actions, database: Database, make_agent: MakeAgent
) -> None:
    alice = (await make_agent("alice")).actor
    await actions.perform(alice, claim("Ann", "email", "x", type="Person"))
    row = await database.reader.fetchrow("SELECT class, band FROM assertions")
    assert row is not None
    assert tuple(row) == ("co_occurrence", 1)


@pytest.mark.parametrize("status", ["archived", "retired", "historical"])
async def test_write_onto_what_is_out_of_use_is_refused_with_its_reason(
    actions: Actions,
    database: Database,
    workspace: Workspace,
    operator: Principal,
    status: str,
) -> None:
    who = operator.actor
    ann = await create(actions, who, "Person", "Ann")
    await actions.perform(who, calls.set_status(ann, status))
    error = await refusal(actions, who, claim("Ann", "email", "x"))
    assert error.code == f"object_{status}"
    assert "As it is." in error.message
    assert f"set_status {ann} active" in (error.next_step or "")
    batch: list[tuple[calls.Command, None]] = [
        (calls.set_status(ann, "active"), None),
        (claim("Ann", "email", "x"), None),
    ]
    results = await actions.perform_many(who, batch)
    assert not any(isinstance(result, MunimentError) for result in results)
    await calls.require_clean(database, workspace.workspace_id)


async def test_write_onto_a_merged_object_is_redirected_and_says_so(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    who = operator.actor
    a, b = [await create(actions, who, "Person", name) for name in ("Ann", "Bob")]
    await actions.perform(who, merge(a, b))
    shown = calls.part(result_of((await actions.perform(who, claim(a, "email", "x"))).answer)[
        "object"
    ])  # fmt: skip
    assert shown["id"] == b
    assert shown["redirected_from"] == {"id": a, "name": "Ann"}
    await calls.require_clean(database, workspace.workspace_id)


async def test_retired_name_made_again_is_refused_and_restored_by_the_operator(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    who = operator.actor
    ann = await create(actions, who, "Person", "Ann")
    await actions.perform(who, claim(ann, "email", "kept@example.org"))
    await actions.perform(who, calls.set_status(ann, "retired"))
    assert (await refusal(actions, who, ensure("Person", "Ann"))).code == "object_retired"
    reads = Reads(database)
    ref = parse.parse_ref(ann)
    dossier = await reads.open(operator.reader, ref)
    assert '"retired"' in orjson.dumps(dossier).decode()
    await actions.perform(who, calls.set_status(ann, "active"))
    assert (await actions.perform(who, ensure("Person", "Ann"))).answer["outcome"] == "found"
    again = await reads.open(operator.reader, ref)
    assert "kept@example.org" in str(again)


async def test_second_create_says_found_and_keeps_what_was_there(
    actions: Actions, database: Database, operator: Principal, make_agent: MakeAgent
) -> None:
    ann = await create(actions, operator.actor, "Person", "Ann")
    await actions.perform(operator.actor, claim(ann, "email", "first@example.org"))
    alice = (await make_agent("alice")).actor
    found = (await actions.perform(alice, ensure("Person", "ANN"))).answer
    assert found["outcome"] == "found"
    assert calls.part(found["object"])["name"] == "Ann"
    assert await database.reader.fetchval("SELECT value FROM assertions") == ('"first@example.org"')


async def test_every_outcome_that_says_written_is_found_in_the_log_and_the_tables(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    who = operator.actor
    a, b = [await create(actions, who, "Person", name) for name in ("Ann", "Bob")]
    for command, kind in (
        (claim(a, "email", "one"), "asserted"),
        (claim(a, "email", "two"), "asserted"),
        (link(a, "related_to", b), "linked"),
        (calls.retract(a, "email"), "retracted"),
        (
            parse.parse_retract({"from": a, "link": "related_to", "to": b, "reason": "No."}),
            "unlinked",
        ),
        (calls.rename(a, "Anne"), "object_renamed"),
        (calls.set_status(b, "archived"), "status_changed"),
        (calls.set_status(b, "active"), "status_changed"),
        (merge(a, b), "merged"),
        (calls.unmerge(a), "unmerged"),
        (calls.redact(3), "redacted"),
    ):
        pos = calls.pos_of((await actions.perform(who, command)).answer)
        found = await database.reader.fetchval(
            "SELECT kind FROM object_events WHERE workspace_id = $1 AND pos = $2",
            workspace.workspace_id,
            pos,
        )
        assert found == kind
        await calls.require_clean(database, workspace.workspace_id)


async def test_reobservation_is_written_once_an_interval(
    database: Database, workspace: Workspace, operator: Principal
) -> None:
    always = Actions(database, WriterSettings(reobserve_after=timedelta(0)))
    command = claim("Ann", "email", "x", type="Person")
    await always.perform(operator.actor, command)
    assert result_of((await always.perform(operator.actor, command)).answer)["outcome"] == (
        "reobserved"
    )
    await always.close()
    daily = Actions(database)
    answer = (await daily.perform(operator.actor, command)).answer
    assert result_of(answer)["outcome"] == "unchanged"
    await daily.close()
    row = await database.reader.fetchrow(
        "SELECT times, last_observed > first_observed AS later FROM assertions"
    )
    assert row is not None
    assert (row["times"], row["later"]) == (2, True)
    await calls.require_clean(database, workspace.workspace_id)
