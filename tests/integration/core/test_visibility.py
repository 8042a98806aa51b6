"""What comes from the credential alone, what is hidden, and what a redaction takes: P7 and P8."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from muniment.actions import Actions, maintenance
from muniment.domain import parse
from muniment.domain.errors import NotFound
from muniment.domain.identity import private_audience
from muniment.store.database import Database
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal
from tests.conftest import MakeAgent
from tests.integration.core import calls
from tests.integration.core.calls import claim, create, ensure, link, refusal, result_of


@pytest.mark.promise("P7")
async def test_band_source_and_time_come_from_the_credential_and_the_database(
    actions: Actions, database: Database, make_agent: MakeAgent
) -> None:
    alice = (await make_agent("alice")).actor
    before = await database.reader.fetchval("SELECT clock_timestamp()")
    await actions.perform(alice, claim("Ann", "email", "x", type="Person", valid_from="1900"))
    row = await database.reader.fetchrow(
        "SELECT source, actor_id, band, rule, root, first_observed FROM assertions"
    )
    assert row is not None
    assert (row["source"], row["band"], row["rule"]) == ("agent:alice", 1, "agent_asserted")
    assert row["actor_id"] == alice.principal_id
    assert row["root"] == f"principal:{alice.principal_id}"
    after = await database.reader.fetchval("SELECT clock_timestamp()")
    assert before <= row["first_observed"] <= after


async def test_redaction_takes_the_content_out_of_every_table_and_kept_answer(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    who = operator.actor
    ann = await create(actions, who, "Person", "Geheimnis Ann")
    told = await actions.perform(who, claim(ann, "email", "geheimnis@example.org"))
    await actions.perform(who, claim(ann, "email", "public@example.org"), key="quotes")
    await actions.perform(who, calls.rename(ann, "Ann"), key="rename")
    await actions.perform(who, ensure("Person", "Geheimnis Ann"), key="names")
    await actions.perform(who, calls.redact(1, calls.pos_of(told.answer)))
    await calls.require_clean(database, workspace.workspace_id)
    for table in (
        "objects",
        "object_aliases",
        "assertions",
        "assertion_history",
        "search_documents",
        "object_events",
        "idempotency_keys",
    ):
        rows = await database.writer.fetch(_EVERYTHING[table])
        assert not [row for row in rows if "geheimnis" in row["text"].lower()], table
    retried = await actions.perform(who, ensure("Person", "Geheimnis Ann"), key="names")
    assert retried.answer["outcome"] == "redacted"
    dump = await calls.dump_text(database, workspace.workspace_id)
    await maintenance.rebuild(database, workspace.workspace_id)
    assert await calls.dump_text(database, workspace.workspace_id) == dump


_EVERYTHING = {
    "objects": "SELECT t::text AS text FROM objects t",
    "object_aliases": "SELECT t::text AS text FROM object_aliases t",
    "assertions": "SELECT t::text AS text FROM assertions t",
    "assertion_history": "SELECT t::text AS text FROM assertion_history t",
    "search_documents": "SELECT t::text AS text FROM search_documents t",
    "object_events": "SELECT t::text AS text FROM object_events t",
    "idempotency_keys": "SELECT t::text AS text FROM idempotency_keys t",
}


@pytest.mark.promise("P8")
async def test_acts_on_hidden_things_answer_like_acts_on_absent_ones(
    actions: Actions, operator: Principal, make_agent: MakeAgent
) -> None:
    alice = (await make_agent("alice")).actor
    bob = await make_agent("bob", audience="private")
    own = private_audience(bob.actor.principal_id)
    secret = await create(actions, bob.actor, "Person", "Secret", audience=own)
    hidden = await actions.perform(bob.actor, claim(secret, "email", "x"))
    event = str(result_of(hidden.answer)["id"])
    await create(actions, operator.actor, "Person", "Ann")
    absent = "0b7e1c1e-3d5b-4a53-8a50-4d4b8c9f0a11"
    for there, gone in ((secret, absent), ("Secret", "Absent")):
        makes: list[Callable[[str], calls.Command]] = [
            lambda name: claim(name, "email", "y"),
            lambda name: link(name, "related_to", "Ann"),
            lambda name: link("Ann", "related_to", name),
            lambda name: calls.retract(name, "email"),
            lambda name: parse.parse_retract(
                {"from": name, "link": "related_to", "to": "Ann", "reason": "No."}
            ),
            lambda name: parse.parse_retract(
                {"from": "Ann", "link": "related_to", "to": name, "reason": "No."}
            ),
        ]
        for make in makes:
            one, other = [await refusal(actions, alice, make(name)) for name in (there, gone)]
            assert str(one.as_dict()) == str(other.as_dict()).replace(gone, there)
            assert type(one) is type(other)
    parents = [
        await refusal(actions, alice, claim("Ann", "email", "y", derived_from=[parent]))
        for parent in (event, absent)
    ]
    assert isinstance(parents[0], NotFound)
    assert str(parents[0].as_dict()) == str(parents[1].as_dict()).replace(absent, event)


async def test_name_is_unique_within_an_audience_and_free_in_another(
    actions: Actions, database: Database, workspace: Workspace, make_agent: MakeAgent
) -> None:
    alice = (await make_agent("alice")).actor
    bob = (await make_agent("bob", audience="private")).actor
    mine = await create(actions, alice, "Note", "Plan")
    secret = await create(actions, bob, "Note", "Plan", audience=private_audience(bob.principal_id))
    assert mine != secret
    again = await actions.perform(bob, ensure("Note", "plan"))
    assert calls.id_of(again.answer) == secret
    seen = await actions.perform(alice, ensure("Note", "PLAN"))
    assert calls.id_of(seen.answer) == mine
    await calls.require_clean(database, workspace.workspace_id)
