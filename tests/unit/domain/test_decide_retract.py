"""Claims and links decided in memory: withdrawn, by whom it may be and no one else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from muniment.domain import parse
from muniment.domain.canonical import Json
from muniment.domain.commands import Command
from muniment.domain.errors import MunimentError, NotFound
from muniment.domain.identity import Actor, Role
from tests.unit.domain.desk import ALICE, BOB, OPERATOR, Desk, actor, same_tables

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


def test_only_ones_own_current_claim_is_retracted(desk: Desk, ann: str) -> None:
    desk.say(ALICE, ann, "email", "a")
    desk.say(BOB, ann, "email", "b")
    answer = desk.answer(ALICE, retract("ann", "email"))
    assert answer == {
        "outcome": "retracted",
        "pos": 4,
        "object": {"id": ann, "type": "Person", "name": "Ann"},
        "property": "email",
    }
    assert [row.value for row in desk.state.claims.values()] == ['"b"']
    assert isinstance(refusal(desk, retract("ann", "email")), NotFound)
    assert refusal(desk, retract("ann", "email", value="other"), BOB).field == "property"
    desk.perform(BOB, retract("ann", "email", value="b"))
    same_tables(desk.state, desk.replayed())


def test_retraction_of_one_of_many_values_names_it(desk: Desk, ann: str) -> None:
    desk.say(ALICE, ann, "note", "one")
    desk.say(ALICE, ann, "note", "two")
    error = refusal(desk, retract(ann, "note"))
    assert (error.code, error.field) == ("value_required", "value")
    desk.perform(ALICE, retract(ann, "note", value="one"))
    assert [row.value for row in desk.state.claims.values()] == ['"two"']


def test_claim_of_a_merged_object_is_retracted_through_its_head(desk: Desk, ann: str) -> None:
    bob = desk.make(ALICE, "Person", "Bob")
    desk.say(ALICE, ann, "email", "a")
    desk.relate(ALICE, ann, "related_to", bob)
    desk.perform(OPERATOR, parse.parse_merge({"loser": ann, "survivor": bob, "reason": "One."}))
    answer = desk.answer(ALICE, retract("Bob", "email"))
    assert part(answer["object"])["id"] == bob
    assert desk.answer(ALICE, unrelate("Bob", "related_to", "Bob"))["outcome"] == "unlinked"
    same_tables(desk.state, desk.replayed())


def test_only_ones_own_link_is_withdrawn(desk: Desk, ann: str) -> None:
    bob = desk.make(ALICE, "Person", "Bob")
    desk.relate(BOB, ann, "related_to", bob)
    error = refusal(desk, unrelate(ann, "related_to", bob))
    assert isinstance(error, NotFound)
    assert error.field == "link"
    desk.relate(ALICE, ann, "related_to", bob)
    assert desk.answer(ALICE, unrelate(ann, "Related_To", bob)) == {
        "outcome": "unlinked",
        "pos": 5,
        "link": "related_to",
    }
    assert refusal(desk, unrelate(ann, "relatedto", bob)).code == "unknown_link"
    assert refusal(desk, unrelate(ann, "related_to", "Nobody")).field == "to"
