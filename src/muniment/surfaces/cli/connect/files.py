"""Read and replace a configuration file: whole or not at all, with the former text kept beside it.

A link stays a link: what it points at is replaced. A harness may write its file at any time, so the
text is compared once more right before it is replaced.
"""

from __future__ import annotations

import difflib
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from muniment.domain.errors import Conflict, Refused

BACKUP: Final = ".before-muniment"
MAX_BYTES: Final = 32 * 1024 * 1024


def load(path: Path) -> str:
    """Return the text of a file, empty when there is none.

    Raises:
        Refused: it is not a file of text that we may read.
    """
    try:
        if not path.exists():
            return ""
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            raise Refused(
                f"{path} is not a file that can be edited.",
                code="config_not_editable",
                next_step="Look at what is there, or choose another folder with --dir.",
            )
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(
            f"{path} cannot be read: {error}",
            code="config_not_editable",
            next_step="Check its owner, mode and encoding (UTF-8).",
        ) from error


def difference(path: Path, before: str, after: str) -> str:
    """Return the change as a unified diff."""
    name = str(path)
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        fromfile=name if before else "/dev/null",
        tofile=name,
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def replace(
    path: Path, before: str, after: str, *, secret: bool, personal: bool = False
) -> Path | None:
    """Write `after` where `before` was; return where the former text is kept, if there was any.

    secret: it holds a token, so only its owner may read it.
    personal: it is one user's. A new one is closed to others as well: the harness keeps the mode
    that it finds, and may write secrets of its own there later.

    Raises:
        Conflict: the file changed meanwhile.
        Refused: the system does not let us write there.
    """
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        exists = target.exists()
        mode = stat.S_IMODE(target.stat().st_mode) if exists else _new_mode()
        if secret or (personal and not exists):
            mode = 0o600
        if load(target) != before:
            raise Conflict(
                f"{path} was changed while we looked at it.",
                code="config_changed",
                next_step="Run the same command again.",
            )
        kept = target.with_name(target.name + BACKUP) if exists else None
        if kept is not None:
            # It may hold secrets of others, whatever the mode of the file was.
            _write(kept, before, 0o600)
        _write(target, after, mode)
    except OSError as error:
        raise Refused(
            f"{path} cannot be written: {error}",
            code="config_not_writable",
            next_step="Check the owner and mode of the file and its folder.",
        ) from error
    return kept


def _write(path: Path, text: str, mode: int) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        if path.exists() and os.geteuid() == 0:
            found = path.stat()
            os.chown(name, found.st_uid, found.st_gid)
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _new_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
