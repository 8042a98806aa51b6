"""Advisory locks between processes, kept by the kernel for as long as a holder lives.

flock belongs to the open file, not to the process: a child that inherits the descriptor holds the
lock too. Nothing here unlocks; closing drops our share and leaves a child's untouched, where
LOCK_UN would take it from the child as well. A home on a network file system needs one with flock.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from muniment.domain.errors import EmbeddedError
from muniment.embedded.site import open_file
from muniment.embedded.user import ServiceUser

POLL_SECONDS: Final = 0.005
"""How often a state that other processes change is looked at."""


class FileLock:
    """One open lock file. `close` gives up whatever is held."""

    def __init__(self, path: Path, user: ServiceUser) -> None:
        self.path = path
        self.descriptor = open_file(path, os.O_RDWR, user)

    def try_exclusive(self) -> bool:
        """Take the lock alone; False when anyone else holds it.

        A share that we held is lost either way: the kernel drops it before it tries.
        """
        return self._try(fcntl.LOCK_EX)

    def try_shared(self) -> bool:
        """Take a share of the lock; False when someone holds it alone."""
        return self._try(fcntl.LOCK_SH)

    def close(self) -> None:
        """Give the lock up, unless a child inherited it."""
        os.close(self.descriptor)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self.descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def opened(path: Path, user: ServiceUser) -> Generator[FileLock]:
    """Open a lock file, taking nothing; close it at the end."""
    lock = FileLock(path, user)
    try:
        yield lock
    finally:
        lock.close()


@contextmanager
def exclusive(path: Path, user: ServiceUser, timeout: float) -> Generator[FileLock]:
    """Hold the lock at `path` alone; wait up to `timeout` seconds for it.

    Raises:
        EmbeddedError: it stayed taken (`embedded_start_timeout`).
    """
    with opened(path, user) as lock:
        deadline = time.monotonic() + timeout
        while not lock.try_exclusive():
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"Another process has held {path} for {timeout:.0f} s.",
                    code="embedded_start_timeout",
                    next_step=f"Find it with `fuser {path}`, end it and try again.",
                )
            time.sleep(POLL_SECONDS)
        yield lock
