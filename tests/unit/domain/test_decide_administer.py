"""Principals and tokens decided in memory."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from muniment.domain.commands import ChangePrincipal, IssueToken, RevokeToken
from muniment.domain.decide import Known, Session, decide
from muniment.domain.errors import CapabilityDenied, Conflict, NotFound, Refused
from muniment.domain.identity import Role
from muniment.domain.state import State
from tests.unit.domain.desk import ALICE, OPERATOR, Desk, actor, same_tables

SECRET = "project:00000000-0000-0000-0000-0000000000aa"
TOKEN = UUID(int=31)


def change(name: str = "ci", role: Role = Role.INGESTOR, **more: Any) -> ChangePrincipal:
    parts: dict[str, Any] = {"audiences": None, "owned_sources": None, "default_audience": None}
    return ChangePrincipal(name=name, role=role, reason="It is needed.", **(parts | more))


def issue(name: str = "ci") -> IssueToken:
    return IssueToken(
        name=name, token_id=TOKEN, token_hash=b"h" * 32, expires_at=None, reason="It starts."
    )


def revoke(name: str = "ci") -> RevokeToken:
    return RevokeToken(name=name, token_id=TOKEN, reason="It leaked.")


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_principal_is_made_changed_in_part_and_kept(desk: Desk) -> None:
    made = desk.answer(OPERATOR, change(owned_sources=("git:*",)))
    assert made["outcome"] == "principal_changed"
    assert made["pos"] == 1
    wider = desk.answer(OPERATOR, change(audiences=(SECRET,), default_audience=SECRET))
    assert isinstance(made["principal"], dict)
    assert wider["principal"] == made["principal"] | {
        "audiences": [SECRET],
        "default_audience": SECRET,
    }
    same = desk.answer(OPERATOR, change())
    assert (same["outcome"], same.get("pos")) == ("unchanged", None)
    assert len(desk.log) == 2
    same_tables(desk.state, desk.replayed())


def test_principal_keeps_its_role_for_good(desk: Desk) -> None:
    desk.perform(OPERATOR, change())
    with pytest.raises(Conflict) as caught:
        desk.perform(OPERATOR, change(role=Role.AGENT))
    assert (caught.value.code, caught.value.field) == ("principal_role", "role")


def test_token_is_put_on_record_and_revoked_once(desk: Desk) -> None:
    desk.perform(OPERATOR, change())
    issued = desk.answer(OPERATOR, issue())
    assert (issued["outcome"], issued["token_id"]) == ("principal_changed", str(TOKEN))
    assert desk.answer(OPERATOR, revoke())["outcome"] == "principal_changed"
    assert desk.answer(OPERATOR, revoke())["outcome"] == "unchanged"
    assert len(desk.log) == 3
    assert all("hash" not in repr(envelope.event) for envelope in desk.log)
    same_tables(desk.state, desk.replayed())


def test_token_of_another_principal_is_not_revoked(desk: Desk) -> None:
    desk.perform(OPERATOR, change())
    desk.perform(OPERATOR, change("other"))
    desk.perform(OPERATOR, issue())
    assert desk.answer(OPERATOR, revoke("other"))["outcome"] == "unchanged"


@pytest.mark.parametrize("act", [issue, revoke])
def test_token_needs_a_principal(desk: Desk, act: Any) -> None:
    with pytest.raises(NotFound) as caught:
        desk.perform(OPERATOR, act("nobody"))
    assert caught.value.field == "name"
    assert caught.value.next_step


def test_only_an_operator_administers(desk: Desk) -> None:
    for command in (change(), issue(), revoke()):
        with pytest.raises(CapabilityDenied):
            desk.perform(ALICE, command)


def test_system_gives_only_audiences_that_it_may_read(desk: Desk) -> None:
    with pytest.raises(Refused) as caught:
        desk.perform(actor("system", Role.SYSTEM), change(audiences=(SECRET,)))
    assert caught.value.code == "audience_denied"


def test_state_without_a_journal_has_nothing_to_take_back() -> None:
    state = State()
    state.types.put("Vessel", 1)
    assert state.mark() == 0
    state.roll_back(0)
    assert dict(state.types) == {"Vessel": 1}
    assert list(state.changed(state.types)) == []
    state.types.drop("Vessel")
    state.types.drop("Vessel")
    assert not state.types


def test_refused_command_leaves_no_trace_in_a_journaled_state(desk: Desk) -> None:
    session = Session(
        state=desk.state, actor=OPERATOR, now=desk.now, new_id=lambda: TOKEN, next_pos=1,
        known=Known(),
    )  # fmt: skip
    mark = desk.state.mark()
    decide(session, change())
    assert [key for key, *_ in desk.state.changed(desk.state.principals)] == [TOKEN]
    desk.state.roll_back(mark)
    assert not desk.state.principals
    assert list(desk.state.changed(desk.state.principals)) == []
