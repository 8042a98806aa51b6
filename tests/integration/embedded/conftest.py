"""Data homes that leave nothing behind, and other processes that use them."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from muniment.embedded import EmbeddedPostgres, EmbeddedValkey
from muniment.embedded.user import ServiceUser

REPOSITORY = Path(__file__).parents[3]
DEADLINE_SECONDS = 30.0
PAUSE = threading.Event()
"""Never set: it gives the processor away between two looks at a condition."""


class Peer:
    """Another process that uses an embedded server of a home."""

    def __init__(
        self,
        home: Path,
        kind: str = "postgres",
        user: ServiceUser | None = None,
        path: Path | None = None,
    ) -> None:
        account = [str(user.uid), str(user.gid)] if user else []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.embedded.peer", kind, home, *account],
            cwd=REPOSITORY,
            env=os.environ | ({"PYTHONPATH": str(path)} if path else {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, word: str) -> None:
        """Send a command without waiting for its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Wait for the answer to the oldest command."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, word: str) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self.say(word)
        return self.answer()

    def kill(self) -> None:
        """End the process at once, as the kernel would."""
        self.process.kill()
        self.process.wait()

    def stop_running(self) -> None:
        """Keep the process from doing anything, such as collecting its dead children."""
        self.process.send_signal(signal.SIGSTOP)
        eventually(lambda: state(self.process.pid) == "T")

    def close(self) -> None:
        """End the process and drop its pipes."""
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


def eventually(condition: Callable[[], object]) -> None:
    """Wait until `condition` holds; fail when it does not within the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        PAUSE.wait(0.005)


def kill(pid: int) -> None:
    """Kill a process and wait until it is dead; its parent may not have noticed yet."""
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: is_dead(pid))


def is_dead(pid: int) -> bool:
    """Tell whether no process has that pid, or only a zombie."""
    return state(pid) in ("", "Z")


def state(pid: int) -> str:
    """Return the state of a process as ps writes it: R, S, T, Z and so on; empty for none."""
    command = ["ps", "-o", "stat=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()[:1]


@pytest.fixture
def home() -> Generator[Path]:
    """Name a data home to be made; in the end kill what runs there and remove it.

    Not below pytest's own folder: that one is closed to the user that root runs servers as.
    """
    folder = Path(tempfile.mkdtemp(prefix="muniment-"))
    folder.chmod(0o755)
    yield folder / "home"
    kill_servers(folder / "home")
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def template() -> Generator[Path]:
    """Make a data home whose Postgres has been started once and stopped."""
    folder = Path(tempfile.mkdtemp(prefix="muniment-"))
    folder.chmod(0o755)
    server = EmbeddedPostgres(folder / "home")
    server.start()
    assert server.stop_if_last()
    yield folder / "home"
    shutil.rmtree(folder)


@pytest.fixture
def place(template: Path) -> Callable[[Path], Path]:
    """Make a data home that has been used before at a given path: cheaper than a first start."""

    def copy(home: Path) -> Path:
        home.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", template, home], check=True)
        return home

    return copy


@pytest.fixture
def used_home(home: Path, place: Callable[[Path], Path]) -> Path:
    """Make a data home that has been used before."""
    return place(home)


@pytest.fixture
def peer(home: Path) -> Generator[Callable[..., Peer]]:
    """Start other processes on `home`; end them with the test."""
    peers: list[Peer] = []

    def start(**options: Any) -> Peer:
        peers.append(Peer(home, **options))
        return peers[-1]

    yield start
    for one in peers:
        one.close()


def kill_servers(home: Path) -> None:
    """Kill the servers of a data home, and wait until their last backends are gone."""
    for server in (EmbeddedPostgres(home), EmbeddedValkey(home)):
        if (pid := server.status().pid) is not None:
            os.kill(pid, signal.SIGKILL)
            lock = home / "lock" / f"{server.name}-server.lock"
            eventually(lambda lock=lock: is_free(lock))


def is_free(lock: Path) -> bool:
    """Tell whether nobody holds a lock file."""
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
