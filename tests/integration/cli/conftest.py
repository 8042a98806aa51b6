"""Owns what the tests of the command line share: a home of one module, and a way to run in it."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from muniment.__main__ import main

MUNIMENT = [sys.executable, "-m", "muniment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        return self.document["error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cli:
    """The command line on one home."""

    home: Path
    port: int
    env: dict[str, str] = field(default_factory=dict[str, str])

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MUNIMENT_")}
        ours = {
            "MUNIMENT_HOME": str(self.home),
            "MUNIMENT_PORT": str(self.port),
            "MUNIMENT_HEARTBEAT_INTERVAL": "1s",
        }
        return kept | ours | self.env | dict(extra or {})

    def run(self, *words: str, env: Mapping[str, str] | None = None) -> Done:
        """Run a command to its end within this process, which saves it the imports."""
        written = io.BytesIO(), io.BytesIO()
        out, err = (io.TextIOWrapper(buffer, encoding="utf-8") for buffer in written)
        with (
            _as_program(self.environment(env), words),
            redirect_stdout(out),
            redirect_stderr(err),
            ThreadPoolExecutor(1) as thread,
        ):
            # In a thread, since the tests' own event loop has this one.
            code = thread.submit(_main).result(timeout=120)
        out.flush()
        err.flush()
        texts = [buffer.getvalue().decode() for buffer in written]
        return Done(code=code, out=texts[0], err=texts[1])

    def detach(self) -> dict[str, Any]:
        """Bring everything up in the background."""
        done = self.process("up", "--detach", "--json")
        assert done.code == 0, done.out + done.err
        return done.document

    def process(self, *words: str, env: Mapping[str, str] | None = None) -> Done:
        """Run a command to its end as a program of its own."""
        done = subprocess.run(
            [*MUNIMENT, *words],
            env=self.environment(env),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return Done(code=done.returncode, out=done.stdout, err=done.stderr)

    def json(self, *words: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Run a command that must succeed and return its document."""
        done = self.run(*words, "--json", env=env)
        assert done.code == 0, done.out + done.err
        return done.document


@contextmanager
def _as_program(env: Mapping[str, str], words: Sequence[str]) -> Generator[None]:
    """Let this process have the environment and the arguments of a program for a while."""
    kept = dict(os.environ), sys.argv
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["muniment", *words]
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept[0])
        sys.argv = kept[1]


def _main() -> int:
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def free_port() -> int:
    """Return a port that nobody listened at a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def cli() -> Generator[Cli]:
    """The command line on a fresh home, which is brought down at the end."""
    base = Path(tempfile.mkdtemp(prefix="muniment-cli-"))
    # Root runs Postgres as another user, who must be able to enter.
    base.chmod(0o755)
    made = Cli(home=base / "home", port=free_port())
    try:
        yield made
    finally:
        made.run("down")
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(scope="module")
def running(cli: Cli) -> Cli:
    """The command line beside a running `up`."""
    cli.detach()
    return cli
