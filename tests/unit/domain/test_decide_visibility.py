"""What an actor cannot see, decided in memory: P8 at the side of writing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import pytest

from muniment.domain import parse
from muniment.domain.canonical import Json
from muniment.domain.commands import Command
from muniment.domain.errors import MunimentError
from muniment.domain.identity import Actor, Role, private_audience
from tests.unit.domain.desk import ALICE, OPERATOR, Desk, actor, claim, link, same_tables

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


def test_claim_about_a_private_object_is_private(desk: Desk) -> None:
    note = desk.make(ALICE, "Note", "Diary", audience=private_audience(ALICE.principal_id))
    desk.say(ALICE, note, "text", "x")
    desk.relate(ALICE, note, "about", note, audience="fleet")
    other = desk.make(ALICE, "Note", "Open")
    desk.relate(ALICE, other, "about", note)
    assert {row.provenance.audience for row in desk.state.claims.values()} == {
        private_audience(ALICE.principal_id)
    }
    assert {row.provenance.audience for row in desk.state.links.values()} == {
        private_audience(ALICE.principal_id)
    }


def test_audience_that_the_actor_cannot_read_is_refused(desk: Desk, ann: str) -> None:
    for command in (
        claim(ann, "email", "x", audience=SECRET),
        claim("N", "text", "x", type="Note", audience=SECRET),
        parse.parse_ensure({"type": "Note", "name": "N", "audience": SECRET}),
    ):
        error = refusal(desk, command)
        assert (error.code, error.field) == ("audience_denied", "audience")


@pytest.mark.promise("P8")
def test_claim_that_another_owner_of_the_source_keeps_private_changes_no_answer(
    desk: Desk, ann: str
) -> None:
    first = actor("one", Role.INGESTOR, owned=("git:*",), audiences=(SECRET,))
    second = actor("two", Role.INGESTOR, owned=("git:*",))
    empty = Desk()
    same = empty.make(ALICE, "Person", "Ann")
    assert same == ann
    for end in ("a", "b"):
        desk.say(first, ann, "email", end, source="git:x", audience=SECRET)
    desk.relate(first, ann, "related_to", ann, source="git:x", audience=SECRET)
    for command in (
        claim(ann, "email", "c", source="git:x", expected_version=0),
        link(ann, "related_to", ann, source="git:x", expected_version=0),
    ):
        seen = [_without_ids(one.answer(second, command)) for one in (desk, empty)]
        assert seen[0] == seen[1]
    same_tables(desk.state, desk.replayed())


def _without_ids(answer: dict[str, Json]) -> Json:
    results = answer["results"]
    assert isinstance(results, list)
    return [{k: v for k, v in part(r).items() if k not in ("id", "pos")} for r in results]


@pytest.mark.promise("P8")
def test_hidden_object_answers_every_act_like_an_absent_one(desk: Desk) -> None:
    hidden = desk.make(OPERATOR, "Person", "Hidden", audience=SECRET)
    desk.make(ALICE, "Person", "Ann")
    absent = str(UUID(int=4))
    acts: list[Callable[[str], Command]] = [
        lambda name: claim(name, "email", "x"),
        lambda name: link(name, "related_to", "Ann"),
        lambda name: link("Ann", "related_to", name),
        lambda name: retract(name, "email"),
        lambda name: unrelate(name, "related_to", "Ann"),
        lambda name: unrelate("Ann", "related_to", name),
    ]
    for act in acts:
        for there, gone in ((hidden, absent), ("Hidden", "Absent")):
            one, other = (refusal(desk, act(name)).as_dict() for name in (there, gone))
            shown = str(other).replace(gone, there)
            assert str(one) == shown
