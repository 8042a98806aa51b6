"""How the crash tests kill a server."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

from muniment.embedded.postgres import EmbeddedPostgres


def kill_postgres(postgres: EmbeddedPostgres) -> int:
    """Kill the postmaster and everything it started, none of which can say goodbye."""
    pid = postgres.status().pid
    assert pid is not None
    # Stopped, it starts no further one while they are looked up.
    os.kill(pid, signal.SIGSTOP)
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    for each in [*map(int, children.stdout.split()), pid]:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    return pid
