"""Starting a server process, and telling whether a pid is the one we mean.

A pid alone proves nothing: numbers are used again, and a killed child stays a zombie until its
parent looks. A process is ours when it lives, its program has the right name and it was started
on our folder. Links below /proc/PID would tell more, but root without CAP_SYS_PTRACE (the default
in containers) may not read them for other users, so the command line is what counts.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from muniment.embedded.user import ServiceUser

_PROC: Final = Path("/proc/self/stat").exists()


def is_running(pid: int, programs: frozenset[str], folder: Path) -> bool:
    """Tell whether `pid` is a live process of one of `programs` that was started on `folder`."""
    if pid <= 0:
        return False
    return _proc_runs(pid, programs, folder) if _PROC else ps_runs(pid, programs, folder)


def ps_runs(pid: int, programs: frozenset[str], folder: Path) -> bool:
    """Answer `is_running` with `ps`, for systems that have no /proc."""
    state, _, command = _ps(pid, "stat=", "args=").partition(" ")
    if not state or state.startswith("Z") or str(folder) not in command:
        return False
    return os.path.basename(_ps(pid, "comm=")) in programs


def spawn(
    command: Sequence[str | Path],
    *,
    user: ServiceUser,
    log: int,
    keep: int,
) -> subprocess.Popen[bytes]:
    """Start a server as `user`, with `log` as its output and the descriptor `keep` left open.

    It gets a session of its own: Ctrl-C in our terminal is not meant for it.
    """
    return subprocess.Popen(
        command,
        cwd="/",
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=(keep,),
        start_new_session=True,
        umask=0o077,
        user=user.uid if user.drop else None,
        group=user.gid if user.drop else None,
        extra_groups=() if user.drop else None,
    )


def run(
    command: Sequence[str | Path],
    *,
    user: ServiceUser,
    text: str = "",
    keep: tuple[int, ...] = (),
) -> tuple[int, str]:
    """Run a program to its end as `user`, `text` on its input; return exit code and output."""
    done = subprocess.run(
        command,
        cwd="/",
        env=_environment(),
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        pass_fds=keep,
        umask=0o077,
        user=user.uid if user.drop else None,
        group=user.gid if user.drop else None,
        extra_groups=() if user.drop else None,
    )
    return done.returncode, done.stdout


def reap_later(child: subprocess.Popen[bytes]) -> None:
    """Collect `child` whenever it ends, so that it never lingers as a zombie of ours."""
    threading.Thread(target=child.wait, name=f"reap-{child.pid}", daemon=True).start()


def _environment() -> dict[str, str]:
    """Return the whole environment of a server: PG* variables of the caller must not steer it."""
    return {"PATH": os.environ.get("PATH", os.defpath), "TZ": "UTC", "LC_ALL": "C"}


def _proc_runs(pid: int, programs: frozenset[str], folder: Path) -> bool:
    process = Path(f"/proc/{pid}")
    try:
        state = process.joinpath("stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        arguments = process.joinpath("cmdline").read_bytes().split(b"\0")
    except (OSError, IndexError):
        return False
    if state in "ZX" or os.path.basename(os.fsdecode(arguments[0])) not in programs:
        return False
    return os.fsencode(folder) in arguments or _works_in(process, folder)


def _works_in(process: Path, folder: Path) -> bool:
    try:
        return process.joinpath("cwd").readlink() == folder
    except OSError:
        return False


def _ps(pid: int, *columns: str) -> str:
    options = [part for column in columns for part in ("-o", column)]
    found = subprocess.run(
        ["ps", "-ww", "-p", str(pid), *options], capture_output=True, text=True, check=False
    )
    return found.stdout.strip()
