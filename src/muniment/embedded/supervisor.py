"""The life of one shared server: found or started by the first user, stopped by the last.

    lock/NAME-start.lock    held alone while a server is looked for, started or stopped
    lock/NAME-users.lock    shared by every process that uses the server
    lock/NAME-server.lock   held alone by the server itself, which inherits it

What the two servers differ in (how to prepare, start, ask and signal them) is left to a subclass.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final, Self

from muniment.domain.errors import EmbeddedError
from muniment.embedded import process
from muniment.embedded.lock import POLL_SECONDS, FileLock, exclusive, opened
from muniment.embedded.site import Site, prepare
from muniment.embedded.user import service_user

START_SECONDS: Final = 600.0
"""How long a living server may take to answer: crash recovery of a big log takes minutes."""

STOP_SECONDS: Final = 60.0
"""How long an orderly stop may take before the server is killed, which loses nothing committed."""

START_ATTEMPTS: Final = 5
"""How many servers may be killed from outside while they start, before that is an error."""

LOG_TAIL_BYTES: Final = 2_000


class ServerState(StrEnum):
    """Whether a server can be used."""

    RUNNING = "running"
    CHANGING = "changing"
    """Being started or stopped at this moment."""
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """What can be seen of a server from outside."""

    state: ServerState
    pid: int | None
    """Of the running server; None as well when it runs where we see no pid (a container)."""
    data: Path
    log: Path


class _KilledAtStart(EmbeddedError):
    """The server was killed before it answered; what was wrong with that start is over."""


class Supervisor(ABC):
    """One process's use of a shared server. Safe to use from several threads.

    As a context manager, async or not, it starts the server and leaves it at the end.
    """

    name: ClassVar[str]
    """What the server's files are called."""
    programs: ClassVar[frozenset[str]]
    """Names that its program may have."""
    stop_signals: ClassVar[tuple[int, int]]
    """The signal for an orderly stop, and the one for when that takes too long."""

    def __init__(self, home: Path) -> None:
        self._home = Path(os.path.realpath(home.expanduser()))
        self._users: FileLock | None = None
        self._address: str | None = None
        self._mutex = threading.Lock()

    @property
    def address(self) -> str:
        """Where the server answers.

        Raises:
            EmbeddedError: `start` was not called (`embedded_not_started`).
        """
        if self._address is None:
            raise EmbeddedError(
                f"This process does not use the embedded {self.name}.",
                code="embedded_not_started",
                next_step="Call start() first.",
            )
        return self._address

    def start(self) -> str:
        """Make sure that the server runs, register as a user, and return its address.

        Called again it brings a server back that has died; a live one costs a millisecond.

        Raises:
            EmbeddedError: it cannot run; the code tells why, the next step what to do.
        """
        with self._mutex, self._typed_errors():
            site = prepare(self._home)
            with exclusive(site.lock_path(f"{self.name}-start"), site.user, START_SECONDS):
                users = self._users or FileLock(site.lock_path(f"{self.name}-users"), site.user)
                try:
                    # No one holds it alone now: a last user does so under the start lock.
                    users.try_shared()
                    self._ensure(site)
                    self._address = self._locate(site)
                except BaseException:
                    if self._users is None:
                        users.close()
                    raise
                self._users = users
            return self._address

    def stop_if_last(self) -> bool:
        """Leave the server; stop it when no other process uses it. Tell whether it was stopped.

        A server that someone started by hand on our data is never stopped.
        """
        with self._mutex, self._typed_errors():
            users, self._users, self._address = self._users, None, None
            if users is None:
                return False
            try:
                site = prepare(self._home)
                with exclusive(site.lock_path(f"{self.name}-start"), site.user, START_SECONDS):
                    return users.try_exclusive() and self._stop(site)
            finally:
                users.close()

    def leave(self) -> None:
        """Leave the server as it is, even as its last user: for those who only looked."""
        with self._mutex:
            users, self._users, self._address = self._users, None, None
            if users is not None:
                users.close()

    async def watch(self, every: float = 0.25) -> None:
        """Look every so many seconds whether the server lives, and bring it back; never return.

        For the processes that live long. Cancel it before leaving the server.

        Raises:
            EmbeddedError: it could not be brought back.
        """
        while True:
            await asyncio.sleep(every)
            if await asyncio.to_thread(self._is_gone):
                await asyncio.to_thread(self.start)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_if_last()

    async def __aenter__(self) -> Self:
        starting = asyncio.ensure_future(asyncio.to_thread(self.start))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The thread cannot be cancelled: let it finish, then undo what it did.
            await asyncio.wait([starting])
            await asyncio.to_thread(self.stop_if_last)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(asyncio.to_thread(self.stop_if_last))

    @property
    @abstractmethod
    def _folder(self) -> Path:
        """The folder that the server is started on, by which its process is known."""

    @abstractmethod
    def _command(self, site: Site, keep: int) -> Sequence[str | Path]:
        """Make everything ready for a start and return the command line.

        Programs that prepare the data inherit `keep`, the descriptor of the server's lock.
        """

    @abstractmethod
    def _answers(self, site: Site) -> bool:
        """Tell whether the server takes commands."""

    @abstractmethod
    def _locate(self, site: Site) -> str:
        """Return the address of the running server."""

    @abstractmethod
    def _pid(self) -> int | None:
        """Return the pid that the server wrote down, which may be out of date."""

    def _observe(self) -> tuple[ServerState, int | None]:
        """Look at the server without touching anything."""
        with self._typed_errors():
            site = Site(home=self._home, user=service_user(self._home))
            start = site.lock_path(f"{self.name}-start")
            if not start.exists():
                return ServerState.STOPPED, None
            with opened(start, site.user) as changing:
                if not changing.try_exclusive():
                    return ServerState.CHANGING, self._live_pid()
                pid = self._live_pid()
                if pid is None and not self._is_locked(site):
                    return ServerState.STOPPED, None
                running = self._answers(site)
                return (ServerState.RUNNING if running else ServerState.CHANGING), pid

    def _is_gone(self) -> bool:
        """Tell whether no server runs and nobody is about to start one."""
        with self._typed_errors():
            site = prepare(self._home)
            with opened(site.lock_path(f"{self.name}-start"), site.user) as start:
                return (
                    start.try_exclusive() and not self._is_locked(site) and self._live_pid() is None
                )

    def _is_locked(self, site: Site) -> bool:
        """Tell whether the server, or what is left of it, runs. Only under the start lock."""
        with opened(site.lock_path(f"{self.name}-server"), site.user) as server:
            return not server.try_exclusive()

    def _live_pid(self) -> int | None:
        pid = self._pid()
        if pid is not None and process.is_running(pid, self.programs, self._folder):
            return pid
        return None

    def _ensure(self, site: Site) -> None:
        """Adopt the running server or start one; return when it answers."""
        site.cut_log(self.name)
        for _ in range(START_ATTEMPTS - 1):
            try:
                return self._adopt_or_launch(site)
            except _KilledAtStart:
                continue
        return self._adopt_or_launch(site)

    def _adopt_or_launch(self, site: Site) -> None:
        deadline = time.monotonic() + START_SECONDS
        with opened(site.lock_path(f"{self.name}-server"), site.user) as server:
            # Locked and mute: it is starting, stopping, or its last backends are still leaving.
            # Not locked and alive: somebody started it by hand.
            while not server.try_exclusive() or self._live_pid() is not None:
                if self._answers(site):
                    return
                self._pause(deadline)
            self._launch(site, server)

    def _launch(self, site: Site, server: FileLock) -> None:
        command = self._command(site, server.descriptor)
        with site.open(site.log_path(self.name), os.O_WRONLY | os.O_APPEND) as log:
            before = os.fstat(log).st_size
            child = process.spawn(command, user=site.user, log=log, keep=server.descriptor)
        try:
            deadline = time.monotonic() + START_SECONDS
            while not self._answers(site):
                if child.poll() is not None:
                    raise self._failed(site, child, before)
                self._pause(deadline)
        except BaseException:
            child.kill()
            child.wait()
            raise
        process.reap_later(child)

    def _stop(self, site: Site) -> bool:
        """Stop the server that holds our lock. Under the start lock, as the last user."""
        with opened(site.lock_path(f"{self.name}-server"), site.user) as server:
            if server.try_exclusive() or (pid := self._live_pid()) is None:
                return False
            for number in self.stop_signals:
                os.kill(pid, number)
                deadline = time.monotonic() + STOP_SECONDS
                while time.monotonic() < deadline:
                    if server.try_exclusive():
                        return True
                    time.sleep(POLL_SECONDS)
        raise EmbeddedError(
            f"The embedded {self.name} (pid {pid}) does not stop.",
            code="embedded_stop_timeout",
            next_step=f"Read {site.log_path(self.name)}, then end the process by hand.",
        )

    def _pause(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise EmbeddedError(
                f"The embedded {self.name} has not answered for {START_SECONDS:.0f} s.",
                code="embedded_start_timeout",
                next_step=f"Read {self._home / 'log' / self.name}.log, end what is left of the "
                "server and try again.",
            )
        time.sleep(POLL_SECONDS)

    def _failed(self, site: Site, child: subprocess.Popen[bytes], before: int) -> EmbeddedError:
        path = site.log_path(self.name)
        with site.open(path, os.O_RDONLY) as log:
            start = max(before, os.fstat(log).st_size - LOG_TAIL_BYTES)
            said = os.pread(log, LOG_TAIL_BYTES, start).decode(errors="replace").strip()
        kind = _KilledAtStart if child.returncode == -signal.SIGKILL else EmbeddedError
        return kind(
            f"The embedded {self.name} ended at once (exit code {child.returncode}): {said}",
            code="embedded_start_failed",
            next_step=f"Read {path}; it holds what the server said.",
        )

    @contextmanager
    def _typed_errors(self) -> Generator[None]:
        """Turn what the operating system refuses into an error that says where and what to do."""
        try:
            yield
        except OSError as error:
            raise EmbeddedError(
                f"The embedded {self.name} cannot use {self._home}: {error}",
                code="embedded_files",
                field="MUNIMENT_HOME",
                next_step="Check the folder's owner, mode and free space, or set MUNIMENT_HOME.",
            ) from error
