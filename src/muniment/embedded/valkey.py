"""The private Valkey: the worker's queue, on a unix socket, in memory alone.

It keeps nothing on disk. The queue holds heartbeats and pointers to work whose truth is the log in
Postgres, so a lost queue is filled again; a file of its own would be one more thing that can be
full, torn or out of date. When memory runs out it refuses new jobs and never drops one.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from muniment.embedded import binaries
from muniment.embedded.site import Site
from muniment.embedded.supervisor import ServerStatus, Supervisor

SOCKET: Final = "valkey.sock"
ANSWER_SECONDS: Final = 1.0

SETTINGS: Final = {
    "port": "0",
    "unixsocketperm": "600",
    "save": "",
    "appendonly": "no",
    "maxmemory": "256mb",
    "maxmemory-policy": "noeviction",
    "daemonize": "no",
    "loglevel": "warning",
    # The command line is how we know our own process again.
    "set-proc-title": "no",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValkeyStatus(ServerStatus):
    """What can be seen of the private Valkey."""


class EmbeddedValkey(Supervisor):
    """This process's use of the private Valkey of a data home."""

    name = "valkey"
    # Debian's redis-server is a link to redis-check-rdb, but is started under its own name.
    programs = frozenset({"valkey-server", "redis-server"})
    stop_signals = (signal.SIGTERM, signal.SIGKILL)

    @property
    def url(self) -> str:
        """The URL of the socket, which redis-py and arq's `RedisSettings.from_dsn` understand."""
        return self.address

    def status(self) -> ValkeyStatus:
        """Look at the server; start and change nothing."""
        state, pid = self._observe()
        log = self._home / "log" / "valkey.log"
        return ValkeyStatus(state=state, pid=pid, data=self._folder, log=log)

    @property
    def _folder(self) -> Path:
        return self._home / "valkey"

    @property
    def _pid_path(self) -> Path:
        return self._folder / "valkey.pid"

    def _command(self, site: Site, keep: int) -> Sequence[str | Path]:
        program = binaries.reachable(binaries.valkey_program(), self.name, site)
        site.own_folder(self._folder)
        self._pid_path.unlink(missing_ok=True)
        settings = SETTINGS | {
            "dir": str(self._folder),
            "pidfile": str(self._pid_path),
            "unixsocket": str(site.socket_folder() / SOCKET),
        }
        return [program, *(part for key, value in settings.items() for part in (f"--{key}", value))]

    def _answers(self, site: Site) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(ANSWER_SECONDS)
            try:
                client.connect(str(site.socket_folder() / SOCKET))
                client.sendall(b"PING\r\n")
                return client.recv(64).startswith(b"+PONG") and self._pid() is not None
            except OSError:
                return False

    def _locate(self, site: Site) -> str:
        return f"unix://{site.socket_folder() / SOCKET}"

    def _pid(self) -> int | None:
        try:
            return int(self._pid_path.read_text())
        except (FileNotFoundError, ValueError):
            return None
