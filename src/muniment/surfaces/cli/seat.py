"""The one `up` of a data home: who runs it, where it answers, how it is told apart from a stranger.

    HOME/up.lock    held alone (flock) by the process that runs `up`, for as long as it lives
    HOME/up.json    its pid and address, written when it is ready

The lock tells whether one runs; the file only whom to signal, and is believed no further: the
process must live, and its command line must be ours.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, cast

from muniment.domain.errors import Refused, Unavailable

STOP_SECONDS: Final = 90.0
POLL_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """An `up` that runs. url: of its MCP endpoint, None until it is ready."""

    pid: int
    url: str | None
    started_at: str


class Seat:
    """The right to run `up` on a home."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._lock = home / "up.lock"
        self._state = home / "up.json"

    @contextmanager
    def taken(self) -> Generator[None]:
        """Hold the seat.

        Raises:
            Refused: another process holds it (`already_up`); the details say where it answers.
        """
        with suppress(FileExistsError):
            self._home.mkdir(parents=True, mode=0o711 if os.geteuid() == 0 else 0o700)
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            if not _try_alone(descriptor):
                raise already_up(self.look(), self._home)
            self._state.unlink(missing_ok=True)
            try:
                yield
            finally:
                self._state.unlink(missing_ok=True)
        finally:
            os.close(descriptor)

    def publish(self, running: Running) -> None:
        """Say who holds the seat and where it answers."""
        draft = self._state.with_suffix(".new")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(asdict(running), file)
        os.replace(draft, self._state)

    def look(self) -> Running | None:
        """Return the `up` that runs, None when none does. A file alone proves nothing."""
        if not self.is_taken():
            return None
        with suppress(OSError, ValueError, TypeError, KeyError):
            found = cast("dict[str, Any]", json.loads(self._state.read_text()))
            return Running(
                pid=int(found["pid"]), url=found["url"], started_at=str(found["started_at"])
            )
        return Running(pid=0, url=None, started_at="")

    def is_taken(self) -> bool:
        """Say whether a process holds the seat."""
        try:
            descriptor = os.open(self._lock, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def stop(self) -> bool:
        """End the `up` that runs and wait until it is gone; False when none did.

        Raises:
            Unavailable: it is not ours to signal, or does not end.
        """
        deadline = time.monotonic() + STOP_SECONDS
        signalled = False
        while self.is_taken():
            running = self.look()
            if running and running.pid and not signalled:
                if not is_ours(running.pid):
                    raise Unavailable(
                        f"Process {running.pid} holds {self._lock} but is not a muniment we know.",
                        code="down_stranger",
                        next_step=f"Find the holder with `fuser {self._lock}` and end it by hand.",
                    )
                with suppress(ProcessLookupError):
                    os.kill(running.pid, signal.SIGTERM)
                signalled = True
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"muniment (pid {running.pid if running else '?'}) does not end.",
                    code="down_timeout",
                    next_step=f"Read {self._home / 'muniment.log'}, then end the process by hand.",
                )
            time.sleep(POLL_SECONDS)
        return signalled


def _try_alone(descriptor: int) -> bool:
    """Take the lock; a second try is for who merely looked whether it was taken."""
    for last in (False, True):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not last:
                time.sleep(POLL_SECONDS)
        else:
            return True
    return False


def already_up(running: Running | None, home: Path) -> Refused:
    """Return the error for a second `up`."""
    url = running.url if running else None
    return Refused(
        f"muniment is up already{f' at {url}' if url else ''} (home {home}).",
        code="already_up",
        next_step="Use it, stop it with `muniment down`, or set MUNIMENT_HOME for another one.",
        details={"pid": running.pid, **({"url": url} if url else {})} if running else {},
    )


def is_ours(pid: int) -> bool:
    """Say whether `pid` is a live process that was started as `muniment ... up`."""
    if pid <= 0:
        return False
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        words = [os.fsdecode(word) for word in raw.split(b"\0")]
    except OSError:
        # macOS has no /proc.
        shown = subprocess.run(
            ["ps", "-ww", "-p", str(pid), "-o", "args="],
            capture_output=True,
            text=True,
            check=False,
        )
        words = shown.stdout.split()
    ours = any(os.path.basename(word) == "muniment" or "muniment" in word for word in words[:4])
    return ours and "up" in words
