"""What a token looks like, what can be asked for one, and whom the local doors speak for."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from muniment.actions import Actions
from muniment.domain.errors import Malformed
from muniment.domain.identity import FLEET, OPERATOR_ID, SYSTEM_ID, Role, Via
from muniment.surfaces.principal import (
    create_token,
    local_ingestor,
    local_operator,
    local_system,
    new_token,
    parse_role,
    token_hash,
)


def test_tokens_are_unlike_each_other_and_known_by_their_hash() -> None:
    made = [new_token() for _ in range(100)]
    assert len({token for token, _ in made}) == 100
    assert all(token.startswith("mun_") and len(token) == 47 for token, _ in made)
    assert all(token_hash(token) == digest and len(digest) == 32 for token, digest in made)


def test_local_operator_sees_all_and_speaks_for_itself() -> None:
    workspace = uuid4()
    operator = local_operator(workspace)
    assert operator.reader.sees_all
    assert operator.role is Role.OPERATOR
    assert operator.actor.workspace_id == workspace
    assert operator.actor.principal_id == OPERATOR_ID
    assert (operator.actor.via, operator.actor.source) == (Via.CONSOLE, "operator")
    assert operator.reader.audiences == {FLEET, f"principal:{OPERATOR_ID}"}


def test_local_ingestor_owns_the_source_it_names_and_no_other() -> None:
    ingestor = local_ingestor(uuid4(), "git:house")
    assert ingestor.actor.via is Via.INGEST
    assert ingestor.actor.owns("git:house")
    assert not ingestor.actor.owns("git:household")


def test_local_system_is_no_operator() -> None:
    system = local_system(uuid4())
    assert (system.actor.principal_id, system.role) == (SYSTEM_ID, Role.SYSTEM)
    assert system.actor.via is Via.INTERNAL


@pytest.mark.parametrize("role", ["operator", "agent", "ingestor", "reader"])
def test_roles_that_a_token_can_have(role: str) -> None:
    assert parse_role(role) == role


@pytest.mark.parametrize("role", ["system", "scribe", "reviewer", "root", "Agent", ""])
def test_other_roles_are_refused(role: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse_role(role)
    assert caught.value.code == "unknown_role"


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"role": "admin"}, "unknown_role"),
        ({"name": ""}, "empty"),
        ({"name": "a\u202eb"}, "invisible_character"),
        ({"name": "n" * 101}, "too_large"),
        ({"audiences": ["everyone"]}, "bad_audience"),
        ({"default_audience": "private"}, "bad_audience"),
        ({"owned_sources": ["*"]}, "bad_source"),
        ({"owned_sources": ["agent:*"]}, "bad_source"),
        ({"owned_sources": ["operator"]}, "bad_source"),
        ({"owned_sources": ["operator:eve"]}, "bad_source"),
        ({"expires_in": timedelta(0)}, "bad_expiry"),
        ({"expires_in": timedelta(days=4000)}, "bad_expiry"),
    ],
)
async def test_what_cannot_be_is_refused_before_anything_is_written(
    asked: dict[str, object], code: str
) -> None:
    nobody = None  # Refused before the writer is asked, so that there need not be one.
    arguments: dict[str, object] = {"name": "a", "role": "agent"} | asked
    with pytest.raises(Malformed) as caught:
        await create_token(_no_actions(nobody), local_operator(uuid4()).actor, **arguments)  # pyright: ignore[reportArgumentType]
    assert caught.value.code == code


def _no_actions(nobody: object) -> Actions:
    return nobody  # pyright: ignore[reportReturnType]
