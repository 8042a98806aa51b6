"""Claims and links decided in memory: made, said again, corrected, disagreed with, withdrawn."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from muniment.domain import parse
from muniment.domain.canonical import Json
from muniment.domain.commands import Command
from muniment.domain.errors import Conflict, Malformed, MunimentError, NotFound, Refused
from muniment.domain.evidence import Band
from muniment.domain.identity import Actor, Role, Via
from tests.unit.domain.desk import ALICE, BOB, OPERATOR, Desk, actor, claim, link, same_tables

SECRET = "project:00000000-0000-0000-0000-0000000000aa"
CI = actor("ci", Role.INGESTOR, owned=("git:*",))


def retract(about: str, property: str, **more: Json) -> Command:
    raw: dict[str, Json] = {"about": about, "property": property, "reason": "It was wrong."}
    return parse.parse_retract(raw | more)


def unrelate(src: str, type: str, dst: str, **more: Json) -> Command:
    raw: dict[str, Json] = {"from": src, "link": type, "to": dst, "reason": "It was wrong."}
    return parse.parse_retract(raw | more)


def part(of: Json) -> Mapping[str, Any]:
    assert isinstance(of, dict)
    return of


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def ann(desk: Desk) -> str:
    return desk.make(ALICE, "Person", "Ann")


def refusal(desk: Desk, command: Command, who: Actor = ALICE) -> MunimentError:
    before = len(desk.log)
    with pytest.raises(MunimentError) as caught:
        desk.perform(who, command)
    assert len(desk.log) == before
    assert caught.value.next_step
    same_tables(desk.state, desk.replayed())
    return caught.value


def test_first_claim_is_asserted_with_its_id_class_and_pos(desk: Desk, ann: str) -> None:
    result = part(desk.say(ALICE, ann, "email", "a"))
    event_id = str(desk.log[1].event_id)
    assert result == {
        "outcome": "asserted",
        "pos": 2,
        "id": event_id,
        "class": "co_occurrence",
        "object": {"id": ann, "type": "Person", "name": "Ann"},
        "property": "email",
    }


def test_claim_about_a_new_object_creates_it(desk: Desk) -> None:
    result = part(desk.say(ALICE, "Bob", "email", "b", type="person"))
    assert part(result["object"])["created"] is True
    error = refusal(desk, claim("Carol", "email", "c"))
    assert (error.code, error.field) == ("unknown_object", "claims[0].about")
    assert "type" in (error.next_step or "")
    missing = refusal(desk, claim(str(UUID(int=5)), "email", "c", type="Person"))
    assert isinstance(missing, NotFound)


def test_correction_quotes_what_it_replaced(desk: Desk, ann: str) -> None:
    desk.say(ALICE, ann, "email", "first")
    result = part(desk.say(ALICE, ann, "email", "second"))
    assert (result["outcome"], result["replaced"]) == ("superseded", {"pos": 2, "value": "first"})
    long = part(desk.say(ALICE, ann, "email", "x" * 3000))
    assert long["replaced"] == {"pos": 3, "value": "second"}
    assert part(desk.say(ALICE, ann, "email", "short"))["replaced"] == {"pos": 4}


@pytest.mark.promise("P4")
def test_correction_supersedes_its_own_source_alone(desk: Desk, ann: str) -> None:
    desk.say(ALICE, ann, "email", "alice says")
    desk.say(BOB, ann, "email", "bob says")
    result = part(desk.say(BOB, ann, "email", "bob says now"))
    assert result["replaced"] == {"pos": 3, "value": "bob says"}
    assert result["disagrees"] == [
        {"source": "agent:alice", "class": "co_occurrence", "pos": 2, "value": "alice says"}
    ]
    values = {key.source: row.value for key, row in desk.state.claims.items()}
    assert values == {"agent:alice": '"alice says"', "agent:bob": '"bob says now"'}


def test_agreement_is_no_disagreement(desk: Desk, ann: str) -> None:
    desk.say(ALICE, ann, "email", "same")
    assert "disagrees" not in part(desk.say(BOB, ann, "email", "same"))


def test_property_of_many_values_keeps_each(desk: Desk, ann: str) -> None:
    for value in ("one", "two"):
        assert part(desk.say(ALICE, ann, "note", value))["outcome"] == "asserted"
    assert part(desk.say(ALICE, ann, "note", "one"))["outcome"] == "unchanged"
    assert len(desk.state.claims) == 2
    result = part(desk.say(ALICE, ann, "note", "one", class_="derived"))
    assert result["outcome"] == "superseded"
    assert len(desk.state.claims) == 2
    same_tables(desk.state, desk.replayed())


def test_same_words_again_are_unchanged_until_the_interval_is_over() -> None:
    desk = Desk(reobserve_after=timedelta(minutes=1))
    ann = desk.make(ALICE, "Person", "Ann")
    desk.say(ALICE, ann, "email", "a")
    assert part(desk.say(ALICE, ann, "email", "a"))["outcome"] == "unchanged"
    assert len(desk.log) == 2
    desk.now += timedelta(minutes=1)
    again = part(desk.say(ALICE, ann, "email", "a"))
    assert (again["outcome"], again["pos"]) == ("reobserved", 2)
    (row,) = desk.state.claims.values()
    assert row.provenance.times == 2
    assert row.provenance.last_observed == desk.now
    assert row.provenance.first_observed == desk.log[1].recorded_at
    assert part(desk.say(ALICE, ann, "email", "a"))["outcome"] == "unchanged"
    same_tables(desk.state, desk.replayed())


@pytest.mark.parametrize(
    "stated", [{"class_": "derived"}, {"valid_from": "2020"}, {"valid_to": "2030"}]
)
def test_same_value_on_other_grounds_is_a_new_claim(
    desk: Desk, ann: str, stated: dict[str, Json]
) -> None:
    who = actor("alice", audiences=(SECRET,))
    desk.say(who, ann, "email", "a")
    assert part(desk.say(who, ann, "email", "a", **stated))["outcome"] == "superseded"


def test_a_correction_under_another_audience_is_refused_until_the_former_is_retracted(
    desk: Desk, ann: str
) -> None:
    who = actor("alice", audiences=(SECRET,))
    desk.say(who, ann, "email", "a")
    for value in ("a", "b"):
        with pytest.raises(Refused) as refused:
            desk.say(who, ann, "email", value, audience=SECRET)
        assert refused.value.code == "audience_differs"
        assert refused.value.field == "claims[0].audience"
    assert len(desk.state.claims) == 1


def test_other_evidence_alone_is_noted_and_not_recorded(desk: Desk, ann: str) -> None:
    desk.say(ALICE, ann, "email", "a")
    again = part(desk.say(ALICE, ann, "email", "a", evidence="https://example.org"))
    assert again["outcome"] == "unchanged"
    assert "evidence" in again["note"]


def test_link_is_made_said_again_and_restated(desk: Desk, ann: str) -> None:
    project = desk.make(ALICE, "Project", "Muniment")
    made = part(desk.relate(ALICE, ann, "works_on", project))
    assert (made["outcome"], made["pos"], made["link"]) == ("linked", 3, "works_on")
    assert part(made["from"])["id"] == ann
    assert part(made["to"])["id"] == project
    assert part(desk.relate(ALICE, "ann", "WORKS_ON", "muniment"))["outcome"] == "unchanged"
    assert part(desk.relate(ALICE, ann, "works_on", project, class_="derived"))["outcome"] == (
        "superseded"
    )
    assert part(desk.relate(BOB, ann, "works_on", project))["outcome"] == "linked"
    assert len(desk.state.links) == 2
    created = part(desk.relate(ALICE, "N1", "about", "N2", from_type="Note", to_type="Note"))
    assert part(created["from"])["created"] is True
    assert refusal(desk, link(ann, "work_on", project)).details == {"nearest": "works_on"}


def test_call_is_all_or_nothing(desk: Desk, ann: str) -> None:
    command = parse.parse_remember(
        {
            "claims": [
                {"about": ann, "property": "email", "value": "a"},
                {"about": "New", "type": "Note", "property": "text", "value": "b"},
                {"about": "Unknown", "property": "text", "value": "c"},
            ]
        }
    )
    assert refusal(desk, command).field == "claims[2].about"
    assert len(desk.state.objects) == 1
    assert not desk.state.claims


def test_claims_of_one_call_see_each_other(desk: Desk) -> None:
    command = parse.parse_remember(
        {
            "claims": [
                {"about": "N", "type": "Note", "property": "text", "value": "a"},
                {"about": "N", "property": "text", "value": "b"},
            ],
            "links": [{"from": "N", "link": "about", "to": "n"}],
        }
    )
    answer = desk.answer(ALICE, command)
    results = answer["results"]
    assert isinstance(results, list)
    outcomes = [part(result)["outcome"] for result in results]
    assert outcomes == ["asserted", "superseded", "linked"]
    assert answer["pos"] == 4


@pytest.mark.parametrize("make", [claim, link])
def test_expected_version_is_that_of_the_sources_own_claim(desk: Desk, ann: str, make: Any) -> None:
    end = ("email", "a") if make is claim else ("related_to", ann)
    field = "claims[0].expected_version" if make is claim else "expected_version"
    first = make(ann, *end, expected_version=1)
    error = refusal(desk, first)
    assert isinstance(error, Conflict)
    assert (error.code, error.details) == ("version_conflict", {"current": 0})
    assert (error.field or "").endswith(field.rpartition(".")[2])
    desk.perform(ALICE, make(ann, *end, expected_version=0))
    assert refusal(desk, make(ann, *end, expected_version=0)).details == {"current": 2}
    desk.perform(BOB, make(ann, *end, expected_version=0))
    desk.perform(ALICE, make(ann, *end, class_="derived", expected_version=2))


@pytest.mark.parametrize(
    ("who", "class_", "evidence", "legal"),
    [
        (ALICE, "self_declared", None, False),
        (ALICE, "authoritative_api", "https://x", False),
        (ALICE, "direct_observation", None, False),
        (ALICE, "direct_observation", "https://x", True),
        (ALICE, "derived", None, True),
        (ALICE, "co_occurrence", None, True),
        (OPERATOR, "self_declared", None, True),
        (OPERATOR, "authoritative_api", "https://x", False),
        (CI, "self_declared", None, False),
        (CI, "authoritative_api", None, False),
        (CI, "authoritative_api", "https://x", True),
        (CI, "direct_observation", None, False),
        (CI, "direct_observation", "https://x", True),
    ],
)
def test_class_is_legal_for_the_principal_or_refused(
    desk: Desk, ann: str, who: Actor, class_: str, evidence: str | None, legal: bool
) -> None:
    stated: dict[str, Json] = {"class_": class_}
    if evidence:
        stated["evidence"] = evidence
    if legal:
        assert part(desk.say(who, ann, "email", "a", **stated))["class"] == class_
        return
    error = refusal(desk, claim(ann, "email", "a", **stated), who)
    assert (error.code, error.field) == ("class_illegal", "claims[0].class")


def test_omitted_class_is_the_weakest_that_fits(desk: Desk, ann: str) -> None:
    found = {
        who.reader.name: part(desk.say(who, ann, "email", who.source))["class"]
        for who in (
            ALICE,
            CI,
            OPERATOR,
            actor("by-mcp", Role.OPERATOR, via=Via.MCP, source="by-mcp"),
            actor("ingests", Role.OPERATOR, via=Via.INGEST, source="ingests"),
        )
    }
    assert found == {
        "alice": "co_occurrence",
        "ci": "co_occurrence",
        "operator": "self_declared",
        "by-mcp": "self_declared",
        "ingests": "co_occurrence",
    }


def test_agent_declares_itself_and_its_own_acts_alone(desk: Desk) -> None:
    desk.say(ALICE, "Alice", "status", "busy", type="Agent", class_="self_declared")
    desk.say(ALICE, "Use Postgres", "reason", "It holds.", type="Decision", class_="self_declared")
    for who, about in ((BOB, "Alice"), (BOB, "Use Postgres")):
        error = refusal(desk, claim(about, "status", "x", class_="self_declared"), who)
        assert error.code == "class_illegal"


@pytest.mark.promise("P9")
def test_band_is_that_of_the_door_and_never_above_what_it_rests_on(desk: Desk, ann: str) -> None:
    low = actor("import", Role.OPERATOR, via=Via.IMPORT, source="import")
    first = part(desk.say(low, ann, "email", "from outside"))
    second = part(desk.say(ALICE, ann, "email", "observed"))
    desk.say(OPERATOR, ann, "summary", "x", derived_from=[first["id"], second["id"]])
    bands = {row.key.property + row.key.source: row.provenance.band for row in
             desk.state.claims.values()}  # fmt: skip
    assert bands == {
        "emailimport": Band.UNTRUSTED,
        "emailagent:alice": Band.OBSERVED,
        "summaryoperator": Band.UNTRUSTED,
    }


@pytest.mark.promise("P8")
def test_hidden_and_absent_parents_get_one_answer(desk: Desk, ann: str) -> None:
    hidden = part(desk.say(OPERATOR, ann, "email", "x", audience=SECRET))
    errors = [
        refusal(desk, claim(ann, "summary", "y", derived_from=[parent])).as_dict()
        for parent in (hidden["id"], str(UUID(int=3)))
    ]
    assert errors[0] == errors[1] | {"message": f"There is no claim {hidden['id']} to derive from."}
    assert errors[0]["code"] == "not_found"


def test_source_that_the_credential_does_not_own_is_refused(desk: Desk, ann: str) -> None:
    for command in (
        claim(ann, "email", "a", source="agent:bob"),
        link(ann, "related_to", ann, source="operator"),
        retract(ann, "email", source="agent:bob"),
        unrelate(ann, "related_to", ann, source="agent:bob"),
    ):
        error = refusal(desk, command)
        assert error.code == "source_not_owned"
        assert (error.field or "").endswith("source")
    assert part(desk.say(CI, ann, "email", "a", source="git:x"))["outcome"] == "asserted"


def test_role_without_a_rule_for_its_door_makes_no_claims(desk: Desk, ann: str) -> None:
    error = refusal(desk, claim(ann, "email", "a"), actor("ci", Role.INGESTOR, via=Via.MCP))
    assert isinstance(error, Malformed)
    assert error.code == "provenance_illegal"


def test_merged_group_answers_as_one_for_disagreements(desk: Desk, ann: str) -> None:
    bob = desk.make(ALICE, "Person", "Bob")
    desk.say(BOB, ann, "email", "of ann")
    desk.perform(OPERATOR, parse.parse_merge({"loser": ann, "survivor": bob, "reason": "One."}))
    result = part(desk.say(ALICE, "Bob", "email", "other"))
    assert [part(d)["value"] for d in result["disagrees"]] == ["of ann"]


def test_operator_correction_holds_against_a_hundred_weaker_writes(desk: Desk, ann: str) -> None:
    desk.say(OPERATOR, ann, "email", "the operator's")
    for count in range(100):
        result = part(desk.say(CI, ann, "email", f"parsed {count}", source=f"git:{count % 5}"))
        assert {"source": "operator", "class": "self_declared", "pos": 2,
                "value": "the operator's"} in result["disagrees"]  # fmt: skip
    own = [row for key, row in desk.state.claims.items() if key.source == "operator"]
    assert [row.value for row in own] == ['"the operator\'s"']


def test_refused_command_is_an_error_of_the_domain(desk: Desk) -> None:
    assert isinstance(refusal(desk, claim("x", "email", "y")), Refused)
