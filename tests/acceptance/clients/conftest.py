"""Owns what the tests with real clients share: the product, filled from a repository, and them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from tests.acceptance.clients.packages import Clients, installed
from tests.integration.cli.conftest import Cli, free_port
from tests.integration.ingest.repositories import Repository

TITLE = "Teach the quokka to count its leaves"


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A running service whose memory holds one repository. sha: of the commit named TITLE."""

    cli: Cli
    sha: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.cli.port}/mcp"

    def token(self) -> tuple[str, str]:
        """Issue a token to a new agent and return it with its id."""
        made = self.cli.json("token", "create", "--role", "agent", "--name", f"agent-{uuid4()}")
        return made["token"], made["token_id"]


@pytest.fixture(scope="session")
def programs() -> tuple[Path, ...]:
    """The folders of the clients' programs."""
    return installed()


@pytest.fixture(scope="session")
def product(programs: tuple[Path, ...]) -> Generator[Product]:
    """The product on a home of its own; asked for after the clients, which may not be had."""
    assert programs
    base = Path(tempfile.mkdtemp(prefix="muniment-clients-home-"))
    # Root runs Postgres as another user, who must be able to enter.
    base.chmod(0o755)
    cli = Cli(home=base / "home", port=free_port())
    try:
        repository = Repository.init(base / "marsupials")
        repository.write("README.md", "# Marsupials\n")
        repository.commit("Begin")
        repository.write("quokka.py", "leaves = 0\n")
        sha = repository.commit(f"{TITLE}\n\nIt lost count after three.")
        cli.detach()
        cli.json("ingest", "git", str(repository.path), "--name", "marsupials")
        yield Product(cli=cli, sha=sha)
    finally:
        cli.process("down")
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture
def clients(programs: tuple[Path, ...], tmp_path: Path) -> Clients:
    """The clients, with an empty home."""
    home = tmp_path / "home"
    home.mkdir()
    return Clients(programs=programs, home=home)
