"""One private Postgres for the run, a fresh migrated database for each test that asks for one.

The database is cloned from a template, which is migrated once. `MUNIMENT_TEST_DATABASE_URL` names
a server to use instead of the private one; its role must be able to create databases and roles.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
import pytest_asyncio
from psycopg.sql import SQL, Identifier
from sqlalchemy.engine import make_url

from muniment.actions import Actions, WriterSettings
from muniment.domain.commands import ChangePrincipal
from muniment.domain.identity import FLEET, Actor, Reader, Role, Via, private_audience
from muniment.embedded.postgres import EmbeddedPostgres
from muniment.store.database import Database
from muniment.store.migrate import migrate
from muniment.store.workspaces import Workspace, ensure_workspace
from muniment.surfaces.principal import Principal, local_operator

MakeAgent = Callable[..., Awaitable[Principal]]


def database_url(server: str, name: str) -> str:
    """Return the URL of another database on the same server."""
    return make_url(server).set(database=name).render_as_string(hide_password=False)


@pytest.fixture(scope="session")
def server() -> Generator[str]:
    """The URL of a Postgres server, as a role that may create databases."""
    given = os.environ.get("MUNIMENT_TEST_DATABASE_URL")
    if given:
        yield given
        return
    home = Path(tempfile.mkdtemp(prefix="muniment-test-"))
    home.chmod(0o755)
    postgres = EmbeddedPostgres(home)
    try:
        url = postgres.start()
        _hurry(url)
        yield url
    finally:
        postgres.stop_if_last()
        shutil.rmtree(home, ignore_errors=True)


def _hurry(server: str) -> None:
    """Spare the disk: what these tests write need not outlive a crash; crash tests do without."""
    for setting in ("fsync", "full_page_writes"):
        _command(server, f"ALTER SYSTEM SET {setting} = off")
    _command(server, "SELECT pg_reload_conf()")


def _command(server: str, text: str, *names: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(SQL(text).format(*map(Identifier, names)))  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="session")
def template(server: str) -> Generator[str]:
    """The name of a migrated database that others are cloned from."""
    name = f"muniment_template_{uuid4().hex}"
    _command(server, "CREATE DATABASE {}", name)
    migrate(database_url(server, name))
    yield name
    _command(server, "DROP DATABASE {} WITH (FORCE)", name)


@pytest.fixture
def dsn(server: str, template: str) -> Generator[str]:
    """The URL of a fresh, migrated, empty database."""
    name = f"muniment_test_{uuid4().hex}"
    _command(server, "CREATE DATABASE {} TEMPLATE {}", name, template)
    yield database_url(server, name)
    _command(server, "DROP DATABASE {} WITH (FORCE)", name)


@pytest_asyncio.fixture
async def database(dsn: str) -> AsyncGenerator[Database]:
    """An open database."""
    database = await Database.connect(dsn)
    yield database
    await database.close()


@pytest_asyncio.fixture
async def workspace(database: Database) -> Workspace:
    """The default workspace, with an empty log."""
    return await ensure_workspace(database, "default")


@pytest_asyncio.fixture
async def actions(database: Database) -> AsyncGenerator[Actions]:
    """The door to writing."""
    actions = Actions(database, WriterSettings())
    yield actions
    await actions.close()


@pytest.fixture
def operator(workspace: Workspace) -> Principal:
    """Whoever holds MUNIMENT_HOME."""
    return local_operator(workspace.workspace_id)


@pytest.fixture
def make_agent(workspace: Workspace, actions: Actions, operator: Principal) -> MakeAgent:
    """Make a principal with its row in the log: `await make_agent("alice", role=..., ...)`."""

    async def make(
        name: str,
        *,
        role: Role = Role.AGENT,
        via: Via | None = None,
        audience: str = FLEET,
        audiences: tuple[str, ...] = (),
        owned_sources: tuple[str, ...] = (),
    ) -> Principal:
        outcome = await actions.perform(
            operator.actor,
            ChangePrincipal(
                name=name,
                role=role,
                audiences=audiences,
                owned_sources=owned_sources,
                default_audience=None,
                reason="A principal for a test.",
            ),
        )
        made = outcome.answer["principal"]
        assert isinstance(made, dict)
        principal_id = UUID(str(made["id"]))
        own = private_audience(principal_id)
        reader = Reader(
            workspace_id=workspace.workspace_id,
            principal_id=principal_id,
            name=name,
            role=role,
            audiences=frozenset({FLEET, own, *audiences}),
            sees_all=role is Role.OPERATOR,
        )
        return Principal(
            actor=Actor(
                reader=reader,
                via=via or (Via.INGEST if role is Role.INGESTOR else Via.MCP),
                source=f"{role.value}:{name}",
                owned_sources=owned_sources,
                audience=own if audience == "private" else audience,
            )
        )

    return make
