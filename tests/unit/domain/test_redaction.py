"""Redaction: what it removes, what it refuses, and that replay comes to the same."""

from __future__ import annotations

import pytest

from muniment.domain import parse
from muniment.domain.commands import Command
from muniment.domain.errors import NotFound, Refused
from tests.unit.domain.desk import ALICE, OPERATOR, Desk, claim, link, same_tables


def redact(*positions: int) -> Command:
    return parse.parse_redact({"positions": list(positions), "reason": "It was a secret."})


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_redacted_claim_is_gone_and_what_it_superseded_stays_superseded(desk: Desk) -> None:
    ann = desk.make(ALICE, "Person", "Ann")
    desk.say(ALICE, ann, "email", "first")
    desk.say(ALICE, ann, "email", "second")
    answer = desk.answer(OPERATOR, redact(3))
    assert answer == {"outcome": "redacted", "pos": 4, "positions": [3]}
    assert not desk.state.claims
    assert desk.state.closed[2].closed_pos == 3
    same_tables(desk.state, desk.replayed())


def test_redacting_one_of_two_statements_of_a_value_leaves_the_other_superseded(
    desk: Desk,
) -> None:
    ann = desk.make(ALICE, "Person", "Ann")
    desk.say(ALICE, ann, "note", "The same words.")
    desk.say(ALICE, ann, "note", "The same words.", class_="derived")
    desk.answer(OPERATOR, redact(3))
    assert not desk.state.claims
    same_tables(desk.state, desk.replayed())


def test_redacting_one_of_two_statements_of_a_link_leaves_the_other_superseded(desk: Desk) -> None:
    ann, bob = desk.make(ALICE, "Person", "Ann"), desk.make(ALICE, "Person", "Bob")
    desk.relate(ALICE, ann, "related_to", bob)
    desk.relate(ALICE, ann, "related_to", bob, class_="derived")
    desk.answer(OPERATOR, redact(4))
    assert not desk.state.links
    assert desk.state.closed[3].closed_pos == 4
    same_tables(desk.state, desk.replayed())


def test_redacting_what_was_superseded_leaves_its_successor(desk: Desk) -> None:
    ann, bob = desk.make(ALICE, "Person", "Ann"), desk.make(ALICE, "Person", "Bob")
    desk.relate(ALICE, ann, "related_to", bob)
    desk.relate(ALICE, ann, "related_to", bob, class_="derived")
    desk.say(ALICE, ann, "email", "first")
    desk.say(ALICE, ann, "email", "second")
    desk.answer(OPERATOR, redact(3, 5))
    assert not desk.state.closed
    assert [row.value for row in desk.state.claims.values()] == ['"second"']
    assert len(desk.state.links) == 1
    same_tables(desk.state, desk.replayed())


def test_present_name_cannot_be_redacted_and_a_former_one_can(desk: Desk) -> None:
    ann = desk.make(ALICE, "Person", "Secret Ann")
    with pytest.raises(Refused) as caught:
        desk.perform(OPERATOR, redact(1))
    assert caught.value.code == "name_in_use"
    assert caught.value.next_step is not None
    assert ann in caught.value.next_step
    desk.perform(OPERATOR, parse.parse_rename({"about": ann, "name": "Ann", "reason": "Privacy."}))
    desk.perform(OPERATOR, redact(1))
    assert [row.name for row in desk.state.names.values()] == ["Ann"]
    same_tables(desk.state, desk.replayed())
    with pytest.raises(Refused):
        desk.perform(ALICE, claim("Secret Ann", "email", "a@example.org"))


def test_name_in_the_middle_can_be_redacted(desk: Desk) -> None:
    ann = desk.make(ALICE, "Person", "Ann")
    for name in ("Middle", "Anne"):
        desk.perform(
            OPERATOR, parse.parse_rename({"about": ann, "name": name, "reason": "So called."})
        )
    desk.perform(OPERATOR, redact(2))
    assert sorted(row.name for row in desk.state.names.values()) == ["Ann", "Anne"]
    same_tables(desk.state, desk.replayed())


def test_name_that_was_given_twice_is_redacted_in_both_events_or_not_at_all(desk: Desk) -> None:
    ann = desk.make(ALICE, "Person", "Ann")
    for name in ("Other", "ANN", "Third"):
        desk.perform(
            OPERATOR, parse.parse_rename({"about": ann, "name": name, "reason": "So called."})
        )
    with pytest.raises(Refused) as caught:
        desk.perform(OPERATOR, redact(3))
    assert (caught.value.code, caught.value.field) == ("name_given_before", "positions")
    assert caught.value.next_step == "Redact 1 in the same call."
    desk.perform(OPERATOR, redact(1, 3))
    assert sorted(row.name for row in desk.state.names.values()) == ["Other", "Third"]
    same_tables(desk.state, desk.replayed())


def test_name_that_was_given_again_later_stays_when_the_first_event_is_redacted(
    desk: Desk,
) -> None:
    ann = desk.make(ALICE, "Person", "Ann")
    for name in ("Other", "Ann", "Third"):
        desk.perform(
            OPERATOR, parse.parse_rename({"about": ann, "name": name, "reason": "So called."})
        )
    desk.perform(OPERATOR, redact(1))
    same_tables(desk.state, desk.replayed())
    desk.perform(OPERATOR, redact(3))
    assert sorted(row.name for row in desk.state.names.values()) == ["Other", "Third"]
    same_tables(desk.state, desk.replayed())


def test_reasons_and_reobservations_can_be_redacted(desk: Desk) -> None:
    desk = Desk(reobserve_after=desk.now - desk.now)
    ann, bob = desk.make(ALICE, "Person", "Ann"), desk.make(ALICE, "Person", "B")
    desk.say(ALICE, ann, "email", "a@example.org")
    desk.say(ALICE, ann, "email", "a@example.org")
    desk.perform(ALICE, link(ann, "related_to", bob))
    desk.perform(
        ALICE,
        parse.parse_retract({"from": ann, "link": "related_to", "to": bob, "reason": "Secret."}),
    )
    desk.perform(OPERATOR, parse.parse_merge({"loser": bob, "survivor": ann, "reason": "Secret."}))
    desk.perform(OPERATOR, parse.parse_unmerge({"loser": bob, "reason": "Secret."}))
    desk.perform(
        OPERATOR,
        parse.parse_set_status({"about": bob, "status": "retired", "reason": "Secret."}),
    )
    before = desk.replayed()
    desk.perform(OPERATOR, redact(4, 6, 7, 8, 9))
    same_tables(before, desk.replayed())
    same_tables(desk.state, desk.replayed())
    assert not any("Secret" in text for text in desk.redacted.values())


def test_redacting_twice_changes_nothing(desk: Desk) -> None:
    ann = desk.make(ALICE, "Person", "Ann")
    desk.say(ALICE, ann, "email", "first")
    desk.perform(OPERATOR, redact(2))
    assert desk.answer(OPERATOR, redact(2)) == {"outcome": "unchanged", "positions": [2]}
    assert len(desk.log) == 3


def test_redaction_of_what_is_not_there_is_refused_whole(desk: Desk) -> None:
    ann = desk.make(ALICE, "Person", "Ann")
    desk.say(ALICE, ann, "email", "first")
    with pytest.raises(NotFound) as caught:
        desk.perform(OPERATOR, redact(2, 9))
    assert caught.value.field == "positions"
    assert len(desk.log) == 2


def test_redactions_principals_and_types_cannot_be_redacted(desk: Desk) -> None:
    ann = desk.make(ALICE, "Person", "Ann")
    desk.make(OPERATOR, "Type", "Vessel")
    desk.say(ALICE, ann, "email", "first")
    desk.perform(OPERATOR, redact(3))
    for pos in (2, 4):
        with pytest.raises(Refused) as caught:
            desk.perform(OPERATOR, redact(pos))
        assert caught.value.code == "not_redactable"
