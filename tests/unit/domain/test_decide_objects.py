"""Objects decided in memory: made or found, renamed, given a status, merged and unmerged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from muniment.domain import parse
from muniment.domain.canonical import Json
from muniment.domain.commands import Command
from muniment.domain.errors import CapabilityDenied, Conflict, Malformed, MunimentError, Refused
from muniment.domain.identity import Role, private_audience
from tests.unit.domain.desk import (
    ALICE,
    BOB,
    OPERATOR,
    Desk,
    actor,
    claim,
    link,
    same_tables,
)

SECRET = "project:00000000-0000-0000-0000-0000000000aa"


def rename(about: str, name: str, **more: Json) -> Command:
    return parse.parse_rename({"about": about, "name": name, "reason": "Its new name."} | more)


def set_status(about: str, status: str, **more: Json) -> Command:
    raw: dict[str, Json] = {"about": about, "status": status, "reason": "It is over."}
    return parse.parse_set_status(raw | more)


def merge(loser: str, survivor: str, **more: Json) -> Command:
    raw: dict[str, Json] = {"loser": loser, "survivor": survivor, "reason": "One."}
    return parse.parse_merge(raw | more)


def unmerge(loser: str, **more: Json) -> Command:
    return parse.parse_unmerge({"loser": loser, "reason": "Two."} | more)


def ensure(type: str, name: str, **more: Json) -> Command:
    return parse.parse_ensure({"type": type, "name": name} | more)


def part(of: Json) -> Mapping[str, Any]:
    assert isinstance(of, dict)
    return of


@pytest.fixture
def desk() -> Desk:
    return Desk()


def refusal(desk: Desk, command: Command, who: Any = OPERATOR) -> MunimentError:
    before = len(desk.log)
    with pytest.raises(MunimentError) as caught:
        desk.perform(who, command)
    assert len(desk.log) == before
    assert caught.value.next_step
    same_tables(desk.state, desk.replayed())
    return caught.value


def test_second_create_finds_the_first_by_any_spelling(desk: Desk) -> None:
    made = desk.answer(ALICE, ensure("Person", "Ann Lee"))
    assert (made["outcome"], made["pos"], made["version"]) == ("created", 1, 1)
    assert part(made["object"])["created"] is True
    found = desk.answer(BOB, ensure("person", "ANN  lee"))
    assert found == {
        "outcome": "found",
        "object": {"id": part(made["object"])["id"], "type": "Person", "name": "Ann Lee"},
        "version": 1,
    }


def test_same_name_under_two_types_is_two_objects_and_needs_its_type(desk: Desk) -> None:
    desk.make(ALICE, "Person", "Mercury")
    desk.make(ALICE, "Concept", "Mercury")
    error = refusal(desk, rename("mercury", "Hermes"))
    assert isinstance(error, Malformed)
    assert (error.code, error.field) == ("ambiguous_name", "type")
    assert error.next_step == "Give the type: Concept, Person."
    desk.perform(OPERATOR, rename("mercury", "Hermes", type="Person"))


@pytest.mark.promise("P8")
def test_hidden_types_are_not_named_in_an_ambiguity(desk: Desk) -> None:
    desk.make(OPERATOR, "Person", "Mercury")
    desk.make(OPERATOR, "Incident", "Mercury", audience=SECRET)
    result = part(desk.say(ALICE, "Mercury", "note", "x"))
    assert part(result["object"])["type"] == "Person"


def test_type_given_along_with_an_id_is_not_ignored(desk: Desk) -> None:
    ann = desk.make(ALICE, "Person", "Ann")
    desk.perform(OPERATOR, rename(ann, "Anne", type="PERSON"))
    error = refusal(desk, rename(ann, "Ann", type="Note"))
    assert isinstance(error, Malformed)
    assert (error.code, error.field) == ("type_mismatch", "type")
    assert "Person" in error.message
    assert refusal(desk, rename(ann, "Ann", type="Persn")).code == "unknown_type"


def test_name_is_unique_within_an_audience_and_free_in_another(desk: Desk) -> None:
    desk.make(OPERATOR, "Project", "X", audience=SECRET)
    mine = desk.make(ALICE, "Project", "X")
    other = desk.make(actor("alice", audience="private"), "Note", "X")
    assert mine != other
    member = actor("carol", audiences=(SECRET,), audience=SECRET)
    result = part(desk.say(member, "X", "note", "x", type="Project"))
    assert part(result["object"])["id"] != mine


@pytest.mark.promise("P8")
def test_nearest_audience_wins_among_those_that_hold_a_name(desk: Desk) -> None:
    own = private_audience(ALICE.principal_id)
    ids = {
        audience: desk.make(OPERATOR, "Project", "X", audience=audience)
        for audience in ("fleet", SECRET, own)
    }
    alice = actor("alice", audiences=(SECRET,))
    fleet = part(part(desk.say(alice, "X", "note", "x"))["object"])["id"]
    assert fleet == ids["fleet"]
    at_project = actor("alice", audiences=(SECRET,), audience=SECRET)
    assert part(part(desk.say(at_project, "X", "note", "y"))["object"])["id"] == ids[SECRET]
    private = actor("alice", audience="private")
    assert part(part(desk.say(private, "X", "note", "z"))["object"])["id"] == ids[own]
    elsewhere = actor("alice", audiences=(SECRET,), audience="principal:none")
    assert (
        part(part(desk.say(elsewhere, "X", "tag", "z", audience="fleet"))["object"])["id"]
        == (ids["fleet"])
    )


def test_operator_adds_a_type_and_agents_use_it(desk: Desk) -> None:
    error = refusal(desk, ensure("Type", "Vessel"), ALICE)
    assert (error.code, error.field) == ("catalog_closed", "type")
    assert refusal(desk, ensure("Vessel", "Argo"), ALICE).code == "unknown_type"
    desk.make(OPERATOR, "Type", "Vessel")
    desk.make(ALICE, "vessel", "Argo")
    assert refusal(desk, ensure("Type", "not pascal")).code == "bad_type_name"
    assert refusal(desk, ensure("Type", "Person")).code == "type_exists"
    assert refusal(desk, ensure("Type", "PERSON")).code == "type_exists"
    assert desk.answer(OPERATOR, ensure("Type", "Vessel"))["outcome"] == "found"


def test_former_name_still_leads_to_the_object(desk: Desk) -> None:
    ann = desk.make(ALICE, "Person", "Ann")
    answer = desk.answer(OPERATOR, rename("Ann", "Anne"))
    assert answer["outcome"] == "renamed"
    assert answer["version"] == answer["pos"] == 2
    assert part(answer["object"]) == {
        "id": ann,
        "type": "Person",
        "name": "Anne",
        "status": "active",
    }
    assert part(part(desk.say(ALICE, "ann", "note", "x"))["object"])["id"] == ann
    desk.perform(OPERATOR, rename("Anne", "Ann"))
    assert [row.current for row in desk.state.names.values()].count(True) == 1
    same_tables(desk.state, desk.replayed())


def test_change_of_letter_case_is_a_rename(desk: Desk) -> None:
    desk.make(ALICE, "Person", "ann")
    assert desk.answer(OPERATOR, rename("ann", "Ann"))["outcome"] == "renamed"
    assert desk.answer(OPERATOR, rename("ann", "Ann"))["outcome"] == "unchanged"
    assert [row.name for row in desk.state.names.values()] == ["Ann"]
    same_tables(desk.state, desk.replayed())


def test_name_of_another_object_cannot_be_taken(desk: Desk) -> None:
    ann, bob = desk.make(ALICE, "Person", "Ann"), desk.make(ALICE, "Person", "Bob")
    desk.perform(OPERATOR, rename(ann, "Anne"))
    for taken in ("ANNE", "Ann"):
        error = refusal(desk, rename(bob, taken))
        assert (error.code, error.field) == ("name_taken", "name")
        assert ann in (error.next_step or "")


@pytest.mark.parametrize("status", ["archived", "retired", "historical"])
def test_object_out_of_use_takes_no_writes_and_can_be_restored(desk: Desk, status: str) -> None:
    ann, bob = desk.make(ALICE, "Person", "Ann"), desk.make(ALICE, "Person", "Bob")
    answer = desk.answer(OPERATOR, set_status(ann, status))
    assert (answer["outcome"], part(answer["object"])["status"]) == ("status_changed", status)
    for command in (
        claim("Ann", "email", "x"),
        ensure("Person", "ann"),
        link(ann, "related_to", bob),
        link(bob, "related_to", ann),
        rename(ann, "Anne"),
        merge(ann, bob),
        merge(bob, ann),
    ):
        error = refusal(desk, command)
        assert isinstance(error, Refused)
        assert error.code in (f"object_{status}", f"merge_{status}")
        assert f"set_status {ann} active" in (error.next_step or "")
    assert "It is over." in refusal(desk, claim("Ann", "email", "x")).message
    assert desk.answer(OPERATOR, set_status(ann, status))["outcome"] == "unchanged"
    desk.perform(OPERATOR, set_status(ann, "active"))
    desk.say(ALICE, "Ann", "email", "x")


def test_status_that_the_diagram_does_not_have_is_refused(desk: Desk) -> None:
    ann, bob = desk.make(ALICE, "Person", "Ann"), desk.make(ALICE, "Person", "Bob")
    desk.perform(OPERATOR, set_status(ann, "retired"))
    assert refusal(desk, set_status(ann, "archived")).code == "illegal_transition"
    desk.perform(OPERATOR, set_status(ann, "active"))
    desk.perform(OPERATOR, merge(ann, bob))
    assert "nmerge" in (refusal(desk, set_status(ann, "retired")).next_step or "")


def test_write_to_a_merged_object_lands_on_its_head_and_says_so(desk: Desk) -> None:
    ann, bob = desk.make(ALICE, "Person", "Ann"), desk.make(ALICE, "Person", "Bob")
    answer = desk.answer(OPERATOR, merge(ann, bob))
    assert (answer["outcome"], answer["version"]) == ("merged", 1)
    assert part(answer["object"])["merged_into"] == {"id": bob, "name": "Bob"}
    result = part(desk.say(ALICE, "Ann", "email", "x"))
    assert part(result["object"]) == {
        "id": bob,
        "type": "Person",
        "name": "Bob",
        "redirected_from": {"id": ann, "name": "Ann"},
    }
    renamed = desk.answer(OPERATOR, rename("Ann", "Robert"))
    assert part(renamed["object"])["id"] == bob


@pytest.mark.promise("P5")
def test_merge_and_its_reverse_leave_every_row_as_it_was(desk: Desk) -> None:
    ann, bob = desk.make(ALICE, "Person", "Ann"), desk.make(ALICE, "Person", "Bob")
    desk.say(ALICE, ann, "email", "a")
    desk.say(BOB, bob, "email", "b")
    desk.relate(ALICE, ann, "related_to", bob)
    before = desk.replayed()
    desk.perform(OPERATOR, merge(ann, bob))
    assert desk.answer(OPERATOR, unmerge(ann))["outcome"] == "unmerged"
    same_tables(before, desk.state)
    assert desk.answer(OPERATOR, unmerge(ann))["outcome"] == "already_reversed"
    assert len(desk.log) == 7


@pytest.mark.promise("P5")
def test_unmerge_that_a_later_merge_rests_on_is_refused_naming_that_merge(desk: Desk) -> None:
    a, b, c = (desk.make(ALICE, "Person", name) for name in "abc")
    desk.perform(OPERATOR, merge(a, b))
    chained = desk.answer(OPERATOR, merge(b, c))
    error = refusal(desk, unmerge(a))
    assert (error.code, error.field) == ("merge_rests_on_this", "loser")
    assert error.details == {"blocked_by": chained["pos"], "object_id": b}
    assert error.next_step == f"Unmerge {b} first."
    assert {row.head_id for row in desk.state.objects.values()} == {
        row.object_id for row in desk.state.objects.values() if row.name == "c"
    }
    desk.perform(OPERATOR, unmerge(b))
    assert desk.state.group(desk.state.objects[_id(b)].object_id) == {_id(a), _id(b)}
    desk.perform(OPERATOR, unmerge(a))
    same_tables(desk.state, desk.replayed())


def test_two_losers_of_one_survivor_are_reversed_in_any_order(desk: Desk) -> None:
    a, b, c = (desk.make(ALICE, "Person", name) for name in "abc")
    desk.perform(OPERATOR, merge(a, c))
    desk.perform(OPERATOR, merge(b, c))
    assert desk.state.group(_id(c)) == {_id(a), _id(b), _id(c)}
    desk.perform(OPERATOR, unmerge(a))
    assert desk.state.group(_id(c)) == {_id(b), _id(c)}
    desk.perform(OPERATOR, unmerge(b))
    assert desk.state.group(_id(c)) == {_id(c)}


@pytest.mark.parametrize("of", ["loser", "survivor"])
def test_merge_with_what_is_merged_already_is_refused_with_where_it_went(
    desk: Desk, of: str
) -> None:
    a, b, c = (desk.make(ALICE, "Person", name) for name in "abc")
    desk.perform(OPERATOR, merge(a, b))
    error = refusal(desk, merge(a, c) if of == "loser" else merge(c, a))
    assert (error.code, error.field) == ("merge_merged", of)
    assert error.next_step == f"Merge into {b} instead."


def test_merge_across_types_audiences_or_into_itself_is_refused(desk: Desk) -> None:
    ann = desk.make(ALICE, "Person", "Ann")
    note = desk.make(ALICE, "Note", "Ann")
    hidden = desk.make(OPERATOR, "Person", "Ann", audience=SECRET)
    assert refusal(desk, merge(ann, note)).code == "merge_types"
    assert refusal(desk, merge(ann, hidden)).code == "merge_audiences"
    assert refusal(desk, merge(ann, ann)).code == "merge_self"


@pytest.mark.parametrize("act", [rename, set_status, merge, unmerge])
def test_outdated_version_is_a_conflict_with_the_current_one(desk: Desk, act: Any) -> None:
    ann, bob = desk.make(ALICE, "Person", "Ann"), desk.make(ALICE, "Person", "Bob")
    second = {rename: "Anne", set_status: "retired", merge: bob}.get(act)
    if act is unmerge:
        desk.perform(OPERATOR, merge(ann, bob))
    arguments = (ann,) if second is None else (ann, second)
    error = refusal(desk, act(*arguments, expected_version=7))
    assert isinstance(error, Conflict)
    assert (error.code, error.field) == ("version_conflict", "expected_version")
    assert error.details == {"current": 1}
    desk.perform(OPERATOR, act(*arguments, expected_version=1))


@pytest.mark.parametrize("role", [r for r in Role if r is not Role.OPERATOR])
def test_only_an_operator_changes_identity_and_lifecycle(desk: Desk, role: Role) -> None:
    ann, bob = desk.make(ALICE, "Person", "Ann"), desk.make(ALICE, "Person", "Bob")
    who = actor("x", role)
    for command in (rename(ann, "A"), set_status(ann, "retired"), merge(ann, bob), unmerge(ann)):
        assert isinstance(refusal(desk, command, who), CapabilityDenied)


@pytest.mark.parametrize("role", [Role.READER, Role.SCRIBE, Role.REVIEWER])
def test_who_only_reads_writes_nothing(desk: Desk, role: Role) -> None:
    desk.make(ALICE, "Person", "Ann")
    who = actor("x", role)
    for command in (
        ensure("Person", "New"),
        claim("Ann", "email", "x"),
        link("Ann", "related_to", "Ann"),
        parse.parse_retract({"about": "Ann", "property": "email", "reason": "Wrong."}),
        parse.parse_retract({"from": "A", "link": "owns", "to": "B", "reason": "Wrong."}),
    ):
        assert isinstance(refusal(desk, command, who), CapabilityDenied)


def _id(text: str) -> Any:
    return parse.parse_ref(text).object_id
