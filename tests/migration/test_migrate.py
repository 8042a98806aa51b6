"""Migrations: from nothing to today, again without effect, and by several processes at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from alembic import command
from alembic.script import ScriptDirectory
from psycopg.sql import SQL, Identifier
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from muniment.domain.catalog import LINKS, PROPERTIES
from muniment.domain.errors import Unavailable
from muniment.domain.evidence import TRUST_RULES
from muniment.store import migrate as migrations
from muniment.store.database import Database
from muniment.store.migrate import migrate, pending
from tests.conftest import database_url
from tests.migration.schema import snapshot

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def empty(server: str) -> Generator[str]:
    """The URL of a database with nothing in it."""
    name = f"muniment_empty_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        yield database_url(server, name)
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


def _snapshot(url: str) -> dict[str, list[str]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return snapshot(connection)


def test_second_run_applies_nothing_and_changes_nothing(empty: str) -> None:
    waiting = pending(empty)
    assert waiting
    assert migrate(empty) == waiting
    before = _snapshot(empty)
    assert (pending(empty), migrate(empty)) == ([], [])
    assert _snapshot(empty) == before


def test_four_processes_at_once_make_one_schema(empty: str, dsn: str) -> None:
    code = "import sys; from muniment.store.migrate import migrate; print(migrate(sys.argv[1]))"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, empty], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    said = [process.communicate(timeout=120)[0].strip() for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert said.count("[]") == 3
    assert _snapshot(empty) == _snapshot(dsn)


def test_schema_grown_revision_by_revision_equals_the_fresh_one(empty: str, dsn: str) -> None:
    config = migrations._config()  # pyright: ignore[reportPrivateUsage]
    revisions = [rev.revision for rev in ScriptDirectory.from_config(config).walk_revisions()]
    url = make_url(empty).set(drivername="postgresql+psycopg")
    engine = create_engine(url)
    for revision in reversed(revisions):
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
    engine.dispose()
    migrate(empty)
    assert _snapshot(empty) == _snapshot(dsn)


def test_reviewed_data_is_what_the_code_has(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("UPDATE catalog_links SET description = 'changed by hand'")
        connection.execute("DELETE FROM catalog_properties WHERE name = 'note'")
    migrate(dsn)
    with psycopg.connect(dsn, autocommit=True) as connection:
        links = dict(connection.execute("SELECT name, description FROM catalog_links").fetchall())
        many = dict(connection.execute("SELECT name, many FROM catalog_properties").fetchall())
        rules = dict(connection.execute("SELECT rule, band FROM trust_rules").fetchall())
    assert links == {link.name: link.description for link in LINKS.values()}
    assert many == {known.name: known.many for known in PROPERTIES.values()}
    assert rules == {rule.rule: int(rule.band) for rule in TRUST_RULES.values()}


async def test_database_that_is_not_migrated_is_refused_with_the_way_out(empty: str) -> None:
    missing = make_url(empty).set(database="nowhere").render_as_string(hide_password=False)
    with pytest.raises(Unavailable) as caught:
        await Database.connect(missing)
    assert "migrate" in (caught.value.next_step or "")
    with pytest.raises(Unavailable) as away:
        migrate(missing)
    assert away.value.next_step
