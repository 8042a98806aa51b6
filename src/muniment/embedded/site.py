"""The files of the private servers below the data home: where they are and whom they belong to.

    HOME/lock      flocks                      HOME/postgres   data
    HOME/log       server logs                 HOME/valkey     working folder
    HOME/run       unix sockets                HOME/binaries   copies, when root needs them

All but the copies belong to the service user; when that is not us, we are root and only visit.
Root therefore never follows a symbolic link there and takes over no file that has two names.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from muniment.domain.errors import EmbeddedError
from muniment.embedded.user import ServiceUser, first_closed, service_user

SOCKET_PATH_MAX: Final = 103 if sys.platform == "darwin" else 107
"""Bytes that fit in `sockaddr_un.sun_path` with its closing NUL (unix(4), unix(7))."""

LONGEST_SOCKET: Final = "/.s.PGSQL.5432"

URL_SAFE: Final = re.compile(r"[A-Za-z0-9_./ +~-]+")
"""Socket paths travel in URLs, and their readers differ in what they decode."""

LOG_BYTES: Final = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A data home that the servers can use."""

    home: Path
    user: ServiceUser

    @property
    def locks(self) -> Path:
        """The folder of the lock files."""
        return self.home / "lock"

    def lock_path(self, name: str) -> Path:
        """Return the path of the lock called `name`."""
        return self.locks / f"{name}.lock"

    def log_path(self, name: str) -> Path:
        """Return the path of the log of the server called `name`."""
        return self.home / "log" / f"{name}.log"

    def own_folder(self, path: Path) -> Path:
        """Make `path` a folder of the service user, closed to everyone else; return it."""
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        if self.user.drop and path.lstat().st_uid == 0:
            os.chown(path, self.user.uid, self.user.gid, follow_symlinks=False)
        return path

    @contextmanager
    def open(self, path: Path, flags: int) -> Generator[int]:
        """Open or make the service user's file at `path`; yield its descriptor, then close it."""
        descriptor = open_file(path, flags, self.user)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def socket_folder(self) -> Path:
        """Return the folder for sockets: HOME/run, or one below /tmp when that name will not do.

        Raises:
            EmbeddedError: somebody else made the folder below /tmp (`embedded_socket_folder`).
        """
        inside = self.home / "run"
        name = str(inside)
        length = len(os.fsencode(name + LONGEST_SOCKET))
        if length <= SOCKET_PATH_MAX and URL_SAFE.fullmatch(name):
            return self.own_folder(inside)
        digest = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:16]
        folder = self.own_folder(Path("/tmp") / f"muniment-{digest}")
        found = folder.lstat()
        private = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o700
        if found.st_uid != self.user.uid or not private:
            raise EmbeddedError(
                f"The socket folder {folder} exists and is not ours alone.",
                code="embedded_socket_folder",
                next_step=f"Remove {folder}, or set MUNIMENT_HOME to a shorter path.",
            )
        return folder

    def cut_log(self, name: str) -> None:
        """Move a log that has grown past its limit aside, keeping one older file.

        The server appends to the file it was given, so the text is copied and the file emptied.
        """
        path = self.log_path(name)
        try:
            if path.lstat().st_size <= LOG_BYTES:
                return
        except FileNotFoundError:
            return
        older = path.with_name(path.name + ".1")
        with self.open(path, os.O_RDWR) as source, self.open(older, os.O_WRONLY) as target:
            os.ftruncate(target, 0)
            while part := os.read(source, 1024 * 1024):
                os.write(target, part)
            os.ftruncate(source, 0)


def open_file(path: Path, flags: int, user: ServiceUser) -> int:
    """Open `path` with mode 0600 for `user`, making it when absent; return the descriptor."""
    descriptor = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    found = os.fstat(descriptor)
    if user.drop and found.st_uid == 0 and found.st_nlink == 1:
        os.fchown(descriptor, user.uid, user.gid)
    return descriptor


def prepare(home: Path) -> Site:
    """Make the folders of the data home and check that the service user reaches them.

    Raises:
        EmbeddedError: the user may not enter it (`embedded_home_closed`), or `embedded_no_user`.
    """
    user = service_user(home)
    home.mkdir(parents=True, exist_ok=True, mode=0o711 if user.drop else 0o700)
    if user.drop:
        _open_home(home)
        closed = first_closed(user, home)
        if closed is not None:
            raise EmbeddedError(
                f"Root runs Postgres as uid {user.uid}, which may not enter {closed}.",
                code="embedded_home_closed",
                field="MUNIMENT_HOME",
                next_step="Set MUNIMENT_HOME to a folder that all users may enter, such as "
                "/var/lib/muniment, or run muniment as the owner of that folder.",
            )
    site = Site(home=home, user=user)
    for name in ("lock", "log"):
        site.own_folder(home / name)
    return site


def _open_home(home: Path) -> None:
    """Let the service user pass through a home that is root's own; its files stay closed."""
    found = home.stat()
    login_folder = Path(pwd.getpwuid(0).pw_dir)
    if found.st_uid == 0 and not found.st_mode & 0o001 and home != login_folder:
        home.chmod(stat.S_IMODE(found.st_mode) | 0o011)
