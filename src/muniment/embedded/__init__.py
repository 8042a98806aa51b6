"""A private Postgres and a private Valkey that start by themselves and are shared by processes.

Who may stop a server: every process that uses one holds a shared flock on a "users" file. The
last to leave, and only it, can make that lock exclusive, and stops the server. The kernel drops
the lock of a process that is killed, so nothing has to be counted or repaired.

What tells that a server runs: the server itself inherits an exclusive flock on a "server" file,
and so do the backends it forks. The lock is free when the last of them is gone. Pid files are
read only to know whom to signal; a stale one, or one that names a stranger, does no harm.

The servers are not bound to the life of the process that started them (no PDEATHSIG, a session of
their own): others may be using them. When a process is killed, its server stays for the next one
to adopt and, as the last user, to stop.
"""

from __future__ import annotations

from muniment.embedded.postgres import EmbeddedPostgres, PostgresStatus
from muniment.embedded.supervisor import ServerState, ServerStatus
from muniment.embedded.valkey import EmbeddedValkey, ValkeyStatus

__all__ = [
    "EmbeddedPostgres",
    "EmbeddedValkey",
    "PostgresStatus",
    "ServerState",
    "ServerStatus",
    "ValkeyStatus",
]
