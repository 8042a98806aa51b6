"""A token opens what its principal may see and do, until it is revoked or expires."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from muniment.actions import Actions
from muniment.domain.errors import CapabilityDenied, Conflict, Unauthenticated, Unavailable
from muniment.domain.identity import FLEET, Role, Via
from muniment.store.credentials import list_tokens
from muniment.store.database import Database
from muniment.store.workspaces import Workspace, ensure_workspace
from muniment.surfaces.principal import (
    Principal,
    create_token,
    local_operator,
    principal_from_token,
    revoke_token,
    token_hash,
)
from tests.integration.mcp.conftest import MakeToken

pytestmark = pytest.mark.promise("P7")


@pytest.mark.parametrize(
    ("role", "via", "source"),
    [
        ("agent", Via.MCP, "agent:ada"),
        ("reader", Via.MCP, "reader:ada"),
        ("operator", Via.MCP, "operator:ada"),
        ("ingestor", Via.INGEST, "ingestor:ada"),
    ],
)
async def test_principal_is_what_the_credential_says(
    database: Database,
    workspace: Workspace,
    make_token: MakeToken,
    role: str,
    via: Via,
    source: str,
) -> None:
    principal = await principal_from_token(database, await make_token(role, "ada"))
    assert (principal.name, principal.role) == ("ada", Role(role))
    assert (principal.actor.via, principal.actor.source) == (via, source)
    assert principal.reader.workspace_id == workspace.workspace_id
    own = f"principal:{principal.reader.principal_id}"
    assert principal.reader.audiences == {FLEET, own}
    assert principal.reader.sees_all is (role == "operator")


async def test_audiences_and_sources_come_from_the_principal(
    database: Database, make_token: MakeToken
) -> None:
    project = f"project:{uuid4()}"
    token = await make_token(
        "agent", audiences=[project], default_audience=project, owned_sources=["git:house*"]
    )
    principal = await principal_from_token(database, token)
    assert project in principal.reader.audiences
    assert principal.actor.audience == project
    assert principal.actor.owns("git:household")


async def test_change_of_a_principal_reaches_the_tokens_it_has(
    database: Database, make_token: MakeToken
) -> None:
    first = await make_token("agent", "ada")
    project = f"project:{uuid4()}"
    await make_token("agent", "ada", audiences=[project])
    assert project in (await principal_from_token(database, first)).reader.audiences


async def test_role_of_a_principal_is_for_good(make_token: MakeToken) -> None:
    await make_token("agent", "ada")
    with pytest.raises(Conflict):
        await make_token("operator", "ada")


async def test_revoked_token_stops_at_its_next_use(
    database: Database, actions: Actions, operator: Principal
) -> None:
    new = await create_token(actions, operator.actor, name="ada", role="agent")
    await principal_from_token(database, new.token)
    answer = await revoke_token(actions, operator.actor, name="ada", token_id=new.token_id)
    assert answer["outcome"] == "principal_changed"
    with pytest.raises(Unauthenticated, match="revoked"):
        await principal_from_token(database, new.token)
    again = await revoke_token(actions, operator.actor, name="ada", token_id=new.token_id)
    assert again["outcome"] == "unchanged"


async def test_token_expires_by_the_clock_of_the_database(
    database: Database, actions: Actions, operator: Principal
) -> None:
    new = await create_token(
        actions, operator.actor, name="ada", role="agent", expires_in=timedelta(microseconds=1)
    )
    assert new.expires_at is not None
    assert new.expires_at < datetime.now(UTC)
    with pytest.raises(Unauthenticated, match="expired"):
        await principal_from_token(database, new.token)


@pytest.mark.parametrize(
    "token",
    ["", "mun_", "mun_" + "a" * 43, "mun_" + "a" * 42 + "\u0660", "Bearer x", "mun_" + "a" * 4000],
)
async def test_what_is_no_token_opens_nothing(database: Database, token: str) -> None:
    with pytest.raises(Unauthenticated) as caught:
        await principal_from_token(database, token)
    assert caught.value.next_step


async def test_token_belongs_to_one_workspace(
    database: Database, actions: Actions, make_token: MakeToken
) -> None:
    other = await ensure_workspace(database, "other")
    new = await create_token(
        actions, local_operator(other.workspace_id).actor, name="ada", role="agent"
    )
    here = await principal_from_token(database, await make_token("agent", "ada"))
    there = await principal_from_token(database, new.token)
    assert there.reader.workspace_id == other.workspace_id != here.reader.workspace_id


@pytest.mark.parametrize("role", ["agent", "reader", "ingestor"])
async def test_operators_alone_issue_and_revoke(
    database: Database, actions: Actions, make_token: MakeToken, role: str
) -> None:
    actor = (await principal_from_token(database, await make_token(role))).actor
    with pytest.raises(CapabilityDenied):
        await create_token(actions, actor, name="eve", role="operator")
    with pytest.raises(CapabilityDenied):
        await revoke_token(actions, actor, name=f"some-{role}", token_id=uuid4())


async def test_token_is_kept_as_a_hash_alone(
    database: Database, dsn: str, workspace: Workspace, actions: Actions, operator: Principal
) -> None:
    new = await create_token(actions, operator.actor, name="ada", role="agent")
    secret = new.token.removeprefix("mun_")
    for table in ("credentials", "object_events", "principals", "idempotency_keys"):
        rows = await database.writer.fetch(f"SELECT t::text AS row FROM {table} t")  # noqa: S608
        assert not any(secret in row["row"] for row in rows)
    events = await database.writer.fetch("SELECT payload FROM object_events ORDER BY pos")
    assert [str(new.token_id) in event["payload"] for event in events] == [False, True]
    assert not any(token_hash(new.token).hex() in event["payload"] for event in events)
    [row] = await list_tokens(database, workspace.workspace_id)
    assert (row.token_id, row.name, row.role, row.valid) == (new.token_id, "ada", "agent", True)


async def test_sessions_that_read_cannot_list_credentials(database: Database) -> None:
    import asyncpg

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await database.reader.fetch("SELECT * FROM credentials")


async def test_lookup_says_when_the_database_is_away(database: Database) -> None:
    await database.reader.close()
    with pytest.raises(Unavailable):
        await principal_from_token(database, "mun_" + "a" * 43)


async def test_answer_tells_whom_the_token_is_for(actions: Actions, operator: Principal) -> None:
    new = await create_token(actions, operator.actor, name="ada", role="agent")
    who = new.answer["principal"]
    assert isinstance(who, dict)
    assert UUID(str(who["id"]))
    assert (who["name"], who["role"]) == ("ada", "agent")
    assert new.token not in str(new.answer)
