"""Owns that each statement under `store/` is one that the migrated schema and its role accept."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import muniment.store
from muniment.store.database import READER_ROLE, WRITER_ROLE, Connection, Database
from muniment.store.statements import load
from tests.migration.conftest import Owner

HOME: Final = Path(muniment.store.__file__).parent
ROLES: Final = {
    "archive.sql": {READER_ROLE},
    "credentials.sql": {READER_ROLE},
    "log.sql": {READER_ROLE, WRITER_ROLE},
    "overview.sql": {WRITER_ROLE},
    "read/events.sql": {READER_ROLE},
    "read/lens.sql": {READER_ROLE},
    "read/objects.sql": {READER_ROLE},
    "read/recall.sql": {READER_ROLE},
    "sources.sql": {READER_ROLE},
    "workspaces.sql": {WRITER_ROLE},
    "write/after.sql": {WRITER_ROLE},
    "write/append.sql": {WRITER_ROLE},
    "write/commit.sql": {WRITER_ROLE},
    "write/load.sql": {WRITER_ROLE},
    "write/projections_fill.sql": {WRITER_ROLE},
    "write/projections_read.sql": {READER_ROLE, WRITER_ROLE},
}
"""Whose sessions run the statements of a file. `migrate.sql` is the owner's, by psycopg."""
SEVERAL: Final = {
    ("credentials.sql", "listing"): {WRITER_ROLE},
    ("credentials.sql", "answers"): {READER_ROLE, WRITER_ROLE},
    ("workspaces.sql", "find"): {READER_ROLE, WRITER_ROLE},
    ("workspaces.sql", "get"): {READER_ROLE, WRITER_ROLE},
    ("workspaces.sql", "all"): {READER_ROLE, WRITER_ROLE},
}
"""Statements that other roles run than the rest of their file."""
OWNERS: Final = {"lock", "put_property", "put_link", "put_rule", "make_partitions"}


def _files() -> set[str]:
    """Return the statement files; the migrations are run by the tests beside this one."""
    found = {path.relative_to(HOME).as_posix() for path in HOME.rglob("*.sql")}
    return {name for name in found if not name.startswith("migrations/")}


def test_every_file_of_statements_has_a_role() -> None:
    assert _files() == {*ROLES, "migrate.sql"}
    for file, name in SEVERAL:
        assert name in load(file)


@pytest.mark.parametrize("file", sorted(ROLES))
async def test_every_statement_is_prepared_by_the_role_that_runs_it(
    database: Database, file: str
) -> None:
    pools = {READER_ROLE: database.reader, WRITER_ROLE: database.writer}
    for name, sql in load(file).items():
        assert sql.startswith("-- "), f"{name} has no line that says what it is for"
        for role in SEVERAL.get((file, name), ROLES[file]):
            async with pools[role].acquire() as connection:
                assert await connection.fetchval("SELECT current_user") == role
                # A right is asked for when a statement is planned and run, not when it is parsed.
                await _plan(connection, sql)


async def _plan(connection: Connection, sql: str) -> None:
    """Let the server check the role's rights without running the statement."""
    prepared = await connection.prepare(f"EXPLAIN {sql}")
    await prepared.fetch(*(None for _ in prepared.get_parameters()))


def test_statements_of_migration_are_accepted_from_their_owner(owner: Owner) -> None:
    statements = load("migrate.sql")
    assert set(statements) == OWNERS
    names = ("lock", "name", "description", "many", "inverse", "rule", "origin", "channel")
    nothing: dict[str, None] = dict.fromkeys((*names, "confirmation", "band"))
    for sql in statements.values():
        # Planned and not run: an advisory lock is not taken, a missing value not refused.
        assert owner.execute(f"EXPLAIN {sql}".encode(), nothing).fetchall()
