"""Finds and reads the documents below a folder; says of each thing it leaves out why.

Nothing is followed out of the root. A linked folder is not entered (it may lead in circles, and
what it holds is found where it is); a linked file is read if it leads to a file below the root.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from muniment.domain.errors import NotFound
from muniment.ingest.names import visible
from muniment.ingest.report import Skipped

FILE_BYTES: Final = 16 * 1024 * 1024
_SUFFIXES: Final = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdc"})
_PLAIN_NAMES: Final = frozenset({"readme", "agents", "claude", "changelog", "contributing"})
_PLAIN_SUFFIXES: Final = frozenset({"", ".txt"})
_NO_PART: Final = frozenset({".git", ".hg", ".svn"})
"""Where version control keeps its own files: no part of the tree, so not worth a word."""
_LEFT_OUT: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__", "site-packages"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """What is to be read. root: absolute, links resolved.

    only: one file below it, relative, where just that one was asked for.
    """

    root: Path
    only: str | None

    def files(self) -> Iterator[str | Skipped]:
        """Yield the paths of documents, relative to the root with `/`, sorted; and what is not."""
        if self.only is not None:
            yield self.only
            return
        yield from self._walk("")

    def read(self, path: str) -> str | Skipped:
        """Return the text of one document, without a byte order mark."""
        full = self.root / path
        real = Path(os.path.realpath(full))
        if not real.is_relative_to(self.root):
            return _skip(path, "outside_root", "It is a link that leads out of the folder.")
        try:
            # The path is resolved; a link that appears here later must not be followed, nor a
            # pipe wait for a writer.
            handle = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(handle, "rb") as file:
                status = os.fstat(handle)
                if not stat.S_ISREG(status.st_mode):
                    return _skip(path, "not_a_file", "It is not an ordinary file.")
                raw = file.read(FILE_BYTES + 1)
        except OSError as error:
            return _skip(path, "unreadable", f"It cannot be read: {error.strerror}.")
        if len(raw) > FILE_BYTES:
            return _skip(path, "too_large", f"It is over {FILE_BYTES} bytes. Split it.")
        if b"\x00" in raw:
            return _skip(path, "binary", "It holds NUL bytes, so it is not text.")
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            return _skip(
                path,
                "not_utf8",
                f"Byte {error.start + 1} is not UTF-8. Convert it (iconv -t UTF-8); try again.",
            )

    def _walk(self, below: str) -> Iterator[str | Skipped]:
        try:
            entries = sorted(os.scandir(self.root / below), key=lambda entry: entry.name)
        except OSError as error:
            yield _skip(below or ".", "unreadable", f"It cannot be read: {error.strerror}.")
            return
        for entry in entries:
            path = f"{below}/{entry.name}" if below else entry.name
            if entry.is_symlink() and entry.is_dir():
                yield _skip(
                    path, "linked_folder", "It is a link to a folder, which is not entered."
                )
            elif entry.is_dir():
                if entry.name in _NO_PART:
                    continue
                if entry.name in _LEFT_OUT:
                    yield _skip(path, "left_out", "Folders of this name hold what others wrote.")
                else:
                    yield from self._walk(path)
            elif _is_document(entry.name):
                yield path


def open_folder(path: Path) -> Folder:
    """Return the folder at `path`, or the one that the file at `path` is in.

    Raises:
        NotFound: there is nothing at `path`.
    """
    real = Path(os.path.realpath(path.expanduser()))
    if real.is_dir():
        return Folder(root=real, only=None)
    # A link to a document is that document, under the name of the link's own folder.
    full = Path(os.path.realpath(path.expanduser().absolute().parent)) / path.name
    if real.is_file():
        return Folder(root=full.parent, only=full.name)
    raise NotFound(
        f"There is no file or folder at {visible(str(path))!r}.",
        code="no_such_path",
        field="path",
        next_step="Give a Markdown file, or a folder that holds some.",
    )


def is_covered(path: str, skipped: list[Skipped]) -> bool:
    """Say whether `path` lies in something that was skipped, so that nothing is known of it."""
    return any(
        path == entry.what or path.startswith(f"{entry.what}/") or entry.what == "."
        for entry in skipped
    )


def _is_document(name: str) -> bool:
    stem, suffix = os.path.splitext(name.casefold())
    return suffix in _SUFFIXES or (stem in _PLAIN_NAMES and suffix in _PLAIN_SUFFIXES)


def _skip(path: str, code: str, reason: str) -> Skipped:
    return Skipped(what=visible(path), code=code, reason=reason)
