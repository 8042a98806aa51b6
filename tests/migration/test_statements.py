"""Every statement of every `.sql` file is one that the migrated schema and its role accept."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import asyncpg
import psycopg
import pytest

from muniment.store.database import Database
from muniment.store.statements import load

STORE = Path(str(files("muniment.store")))
FILES = sorted(
    str(path.relative_to(STORE))
    for path in STORE.rglob("*.sql")
    if "migrations" not in path.parts and path.name != "migrate.sql"
)
LOOKS = {"read/events.sql", "read/lens.sql", "read/objects.sql", "read/recall.sql", "sources.sql"}
"""Files whose statements run in sessions of the reader; those of all others in the writer's."""


@pytest.mark.parametrize("path", FILES)
async def test_each_statement_prepares_against_the_migrated_schema(
    database: Database, path: str
) -> None:
    pool = database.reader if path in LOOKS else database.writer
    statements = load(path)
    assert statements
    async with pool.acquire() as connection:
        for name, sql in statements.items():
            try:
                await connection.prepare(sql)
            except asyncpg.PostgresError as error:
                pytest.fail(f"{path}: {name}: {error}")


def test_statements_of_the_migration_prepare_as_its_owner(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for name, sql in load("migrate.sql").items():
            numbered = re.sub(r"%\(\w+\)s", "NULL", sql)
            connection.execute(f"PREPARE p_{name} AS {numbered}".encode())


@pytest.mark.parametrize("path", [*FILES, "migrate.sql"])
def test_each_statement_says_in_a_line_what_it_is_for(path: str) -> None:
    for name, sql in load(path).items():
        assert re.match(r"-- [A-Z].{8,}\.\n", sql), f"{path}: {name}"
