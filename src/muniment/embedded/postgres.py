"""The private Postgres: its settings, and how it is asked and addressed.

It listens on a unix socket in a folder that only its user (and root) may enter, and asks for the
password even there. Nothing listens on the network.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from muniment.embedded import binaries, cluster
from muniment.embedded.site import Site
from muniment.embedded.supervisor import ServerStatus, Supervisor

SOCKET: Final = ".s.PGSQL.5432"

SETTINGS: Final = {
    "port": "5432",
    "listen_addresses": "",
    "unix_socket_permissions": "0600",
    "ssl": "off",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "wal_compression": "on",
    "max_connections": "100",
    "huge_pages": "off",
    "autovacuum": "on",
    # Compiling costs more than our short statements take.
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "password_encryption": "scram-sha-256",
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_line_prefix": "%m [%p] ",
    # Statements and row values are the fleet's memory: they do not belong in a log.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
}
"""Given on the command line, where they beat what an older version left in the data folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresStatus(ServerStatus):
    """What can be seen of the private Postgres."""

    version: int | None
    """The major version of the data folder; None when there is none yet."""


class EmbeddedPostgres(Supervisor):
    """This process's use of the private Postgres of a data home."""

    name = "postgres"
    programs = frozenset({"postgres"})
    stop_signals = (signal.SIGINT, signal.SIGQUIT)

    def __init__(self, home: Path, shared_buffers: str = "128MB") -> None:
        super().__init__(home)
        self._shared_buffers = shared_buffers

    @property
    def dsn(self) -> str:
        """The URL for the superuser, which asyncpg, libpq and SQLAlchemy understand."""
        return self.address

    def status(self) -> PostgresStatus:
        """Look at the server; start and change nothing."""
        state, pid = self._observe()
        try:
            version = int((self._folder / "PG_VERSION").read_text())
        except (OSError, ValueError):
            version = None
        return PostgresStatus(
            state=state,
            pid=pid,
            data=self._folder,
            log=self._home / "log" / "postgres.log",
            version=version,
        )

    @property
    def _folder(self) -> Path:
        return self._home / "postgres" / "data"

    def _command(self, site: Site, keep: int) -> Sequence[str | Path]:
        program = binaries.reachable(binaries.postgres_program(), self.name, site)
        site.own_folder(self._folder.parent)
        major = binaries.major_version(program, site.user)
        cluster.ensure(self._folder, program, major, site, keep)
        sockets = site.socket_folder()
        # The server lock proved that no server is left, whatever these files say. Postgres would
        # believe them as soon as their pid belongs to any process.
        (self._folder / "postmaster.pid").unlink(missing_ok=True)
        (sockets / f"{SOCKET}.lock").unlink(missing_ok=True)
        settings = SETTINGS | {
            "shared_buffers": self._shared_buffers,
            "unix_socket_directories": str(sockets),
        }
        options = [part for pair in settings.items() for part in ("-c", "=".join(pair))]
        return [program, "-D", self._folder, *options]

    def _answers(self, site: Site) -> bool:
        lines = self._pid_file()
        if len(lines) < 8 or lines[7].strip() != "ready":
            return False
        # A file left by a killed server says ready too: nobody listens then.
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            try:
                client.connect(f"{lines[4]}/{SOCKET}")
            except OSError:
                return False
        return True

    def _locate(self, site: Site) -> str:
        secret = quote(cluster.password(self._folder), safe="")
        folder = quote(self._pid_file()[4], safe="")
        return f"postgresql://{cluster.SUPERUSER}:{secret}@/{cluster.DATABASE}?host={folder}"

    def _pid(self) -> int | None:
        try:
            return int(self._pid_file()[0])
        except (IndexError, ValueError):
            return None

    def _pid_file(self) -> list[str]:
        """Return the lines of postmaster.pid: the first is the pid, the fifth the socket folder,
        the eighth the state (src/include/utils/pidfile.h of Postgres)."""
        try:
            return (self._folder / "postmaster.pid").read_text().split("\n")
        except FileNotFoundError:
            return []
