"""The operating system user that the private servers run as, and what that user can reach.

Postgres refuses to run as root. A process that is root therefore drops to an unprivileged user
that already exists: creating one needs tools that small images lack, and would outlive us.
"""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from muniment.domain.errors import EmbeddedError

CANDIDATES: Final = ("muniment", "postgres", "nobody")
"""Users that root drops to, best first; an operator may create the first one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceUser:
    """Who runs the servers and owns their files."""

    uid: int
    gid: int
    drop: bool
    """Whether we are root and have to become this user."""


def service_user(home: Path) -> ServiceUser:
    """Return the user for the servers of `home`: ourselves, or, for root, an unprivileged one.

    Root keeps to the owner of a home that is in use, so that it can visit the home of an ordinary
    user without leaving files there which that user cannot open.

    Raises:
        EmbeddedError: root finds no unprivileged user (`embedded_no_user`).
    """
    if os.geteuid() != 0:
        return ServiceUser(uid=os.geteuid(), gid=os.getegid(), drop=False)
    for folder in (home / "lock", home):
        if folder.is_dir() and (owner := folder.stat()).st_uid != 0:
            return ServiceUser(uid=owner.st_uid, gid=owner.st_gid, drop=True)
    for name in CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return ServiceUser(uid=entry.pw_uid, gid=entry.pw_gid, drop=True)
    raise EmbeddedError(
        f"Postgres cannot run as root, and none of the users {', '.join(CANDIDATES)} exists.",
        code="embedded_no_user",
        next_step="Create a system user named muniment, or run muniment as an ordinary user.",
    )


def first_closed(user: ServiceUser, path: Path) -> Path | None:
    """Return the first part of `path` that `user` may not enter (or read), None if all are open.

    Judged by owner and mode, without supplementary groups, which the servers do not get.
    """
    for part in (*reversed(path.parents), path):
        found = part.stat()
        wanted = 0o5 if part == path and not stat.S_ISDIR(found.st_mode) else 0o1
        shift = 6 if found.st_uid == user.uid else 3 if found.st_gid == user.gid else 0
        if (found.st_mode >> shift) & wanted != wanted:
            return part
    return None
