"""Servers that a test may kill."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest_asyncio

from muniment.embedded.postgres import EmbeddedPostgres
from muniment.store.migrate import migrate


@pytest_asyncio.fixture
async def server() -> AsyncGenerator[EmbeddedPostgres]:
    """A migrated Postgres in a home that is this test's alone."""
    home = Path(tempfile.mkdtemp(prefix="muniment-crash-"))
    home.chmod(0o755)
    postgres = EmbeddedPostgres(home)
    migrate(postgres.start())
    yield postgres
    postgres.start()
    postgres.stop_if_last()
    shutil.rmtree(home, ignore_errors=True)
