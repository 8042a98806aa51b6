"""Making the data folder of the private Postgres, and refusing one it cannot read.

The folder is made under another name and renamed when it is whole, so that a process killed half
way leaves nothing that looks like data. The programs that make it outlive such a process for a
moment: they inherit the server's lock, so that the next start waits for them.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from muniment.domain.errors import EmbeddedError
from muniment.embedded.process import run
from muniment.embedded.site import Site

SUPERUSER: Final = "muniment_owner"
DATABASE: Final = "muniment"

PASSWORD_FILE: Final = "muniment.password"
"""Inside the data folder, so that the password goes wherever the data goes."""

LOCALE: Final = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
"""A libc locale with UTF-8 character classes: under C, pg_trgm drops every letter beyond ASCII."""


def ensure(data: Path, postgres: Path, major: int, site: Site, keep: int) -> None:
    """Make the cluster at `data` unless it exists; check that `postgres`, of `major`, reads it.

    `keep` is the descriptor of the server's lock.

    Raises:
        EmbeddedError: another version made it (`embedded_version_mismatch`), the folder holds
            something else (`embedded_data_foreign`), or making it failed
            (`embedded_init_failed`).
    """
    try:
        made_by = (data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        if data.exists():
            raise EmbeddedError(
                f"{data} exists but is not a Postgres data folder.",
                code="embedded_data_foreign",
                field="MUNIMENT_HOME",
                next_step=f"Move {data} away, or set MUNIMENT_HOME to another folder.",
            ) from None
        _create(data, postgres, site, keep)
        return
    if made_by != str(major):
        raise EmbeddedError(
            f"{data} was made by PostgreSQL {made_by}; {postgres} is PostgreSQL {major}.",
            code="embedded_version_mismatch",
            field="MUNIMENT_HOME",
            next_step=f"Install PostgreSQL {made_by}, dump the data with its pg_dump, move {data} "
            "away and restore the dump; or set MUNIMENT_HOME to another folder; or set "
            "MUNIMENT_DATABASE_URL to a server that holds the data.",
        )


def password(data: Path) -> str:
    """Return the superuser's password.

    Raises:
        EmbeddedError: its file is gone (`embedded_password_missing`).
    """
    path = data / PASSWORD_FILE
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        raise EmbeddedError(
            f"{path} is missing, so nobody can log in to the embedded Postgres.",
            code="embedded_password_missing",
            next_step=f"Put the file back from a copy, or write a new password into it and give "
            f"it to the role {SUPERUSER} with the server in single-user mode.",
        ) from None


def _create(data: Path, postgres: Path, site: Site, keep: int) -> None:
    fresh = data.with_name("data.new")
    secret = data.with_name("password.new")
    shutil.rmtree(fresh, ignore_errors=True)
    secret.unlink(missing_ok=True)
    with site.open(secret, os.O_WRONLY) as file:
        os.write(file, secrets.token_urlsafe(32).encode() + b"\n")
    initdb = [
        postgres.with_name("initdb"),
        f"--pgdata={fresh}",
        f"--username={SUPERUSER}",
        f"--pwfile={secret}",
        f"--locale={LOCALE}",
        "--encoding=UTF8",
        "--auth=scram-sha-256",
        "--data-checksums",
        "--no-instructions",
    ]
    _run(initdb, site, keep)
    # Single-user mode needs no server: the database is there before anyone can connect.
    single = [postgres, "--single", "-D", fresh, "-c", "exit_on_error=on", "postgres"]
    _run(single, site, keep, text=f"CREATE DATABASE {DATABASE};\n")
    secret.rename(fresh / PASSWORD_FILE)
    fresh.rename(data)
    descriptor = os.open(data.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _run(command: Sequence[str | Path], site: Site, keep: int, text: str = "") -> None:
    code, output = run(command, user=site.user, text=text, keep=(keep,))
    if code != 0:
        raise EmbeddedError(
            f"{command[0]} failed with exit code {code}: {output.strip()}",
            code="embedded_init_failed",
            next_step="Resolve what the program says and try again; nothing was left behind.",
        )
