"""Owns what the tests of migration share: a database that nothing has touched, and its owner."""

from __future__ import annotations

from collections.abc import Generator
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Identifier

from tests.conftest import database_url

Owner = psycopg.Connection[TupleRow]


@pytest.fixture
def blank(server: str) -> Generator[str]:
    """The URL of an empty database."""
    name = f"muniment_blank_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        yield database_url(server, name)
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture
def owner(dsn: str) -> Generator[Owner]:
    """The owner's connection to a migrated database."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection
