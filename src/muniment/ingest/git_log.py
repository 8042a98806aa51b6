"""Reads what `git log` writes, as it comes, into commits.

The stream is NUL-separated: for each commit a random mark that no repository can foresee, seven
fields, then the `--raw` and `--numstat` entries of its change. Nothing in it is trusted to be
text: a message or a name that is not UTF-8 is read as Latin-1, which can read anything, and a path
keeps its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from muniment.domain.dates import FIRST_YEAR, LAST_YEAR

FIELDS: Final = ("%H", "%P", "%an", "%ae", "%at", "%ct", "%B")
_RENAMES: Final = (b"R", b"C")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a commit did to one path.

    path: its bytes, as the repository has them. status: A, M, D, T or R, as git says it.
    former: the path that it was renamed from.
    """

    path: bytes
    status: str
    former: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GitCommit:
    """One commit.

    sha, parents: full hashes. message: whole, without white space at its end.
    authored, committed: aware, UTC; None where the commit holds no date that can be kept.
    changes: up to the parser's limit. files_changed: how many there are in all.
    insertions, deletions: lines, text files alone. is_merge: several parents; git's own view of a
    merge is that it changes nothing by itself, so it has no changes here.
    """

    sha: str
    parents: tuple[str, ...]
    author: str
    email: str
    authored: datetime | None
    committed: datetime | None
    message: str
    changes: tuple[Change, ...]
    files_changed: int
    insertions: int
    deletions: int

    @property
    def is_merge(self) -> bool:
        return len(self.parents) > 1


def text_of(raw: bytes) -> str:
    """Return bytes as text: UTF-8, else Latin-1. NUL, which no store can hold, becomes a space."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return text.replace("\x00", " ")


def moment_of(raw: bytes) -> datetime | None:
    """Return the time that git's Unix seconds name, or None for one that no calendar holds."""
    try:
        moment = datetime.fromtimestamp(int(raw), tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment if FIRST_YEAR <= moment.year <= LAST_YEAR else None


class LogParser:
    """Turns chunks of the stream into commits. Feed it all chunks, then call `finish` once."""

    def __init__(self, mark: bytes, changes_limit: int) -> None:
        """`mark`: the first field of each commit. `changes_limit`: changes kept of one commit."""
        self._mark = mark
        self._limit = changes_limit
        self._rest: list[bytes] = []
        self._header: list[bytes] | None = None
        self._pending: list[bytes] = []
        self._changes: list[Change] = []
        self._files = self._insertions = self._deletions = 0

    def feed(self, chunk: bytes) -> list[GitCommit]:
        """Return the commits that end within `chunk`."""
        first, *others = chunk.split(b"\x00")
        self._rest.append(first)
        found: list[GitCommit] = []
        for token in others:
            whole = b"".join(self._rest)
            self._rest = [token]
            commit = self._take(whole)
            if commit is not None:
                found.append(commit)
        return found

    def finish(self) -> list[GitCommit]:
        """Return the last commit, if there was any."""
        found = [self._take(b"".join(self._rest)), self._complete()]
        self._rest = []
        return [commit for commit in found if commit is not None]

    def _take(self, token: bytes) -> GitCommit | None:
        if self._header is not None and len(self._header) < len(FIELDS):
            self._header.append(token)
            return None
        if self._pending:
            self._entry([*self._pending, token])
            return None
        if token.lstrip(b"\n") == self._mark:
            done = self._complete()
            self._header = []
            return done
        token = token.lstrip(b"\n")
        if token:
            self._entry([token])
        return None

    def _entry(self, tokens: list[bytes]) -> None:
        """Take one entry, or wait until the paths that belong to it have come."""
        self._pending = []
        head = tokens[0]
        if head.startswith(b":"):
            status = head.rpartition(b" ")[2][:1]
            wanted = 3 if status in _RENAMES else 2
            if len(tokens) < wanted:
                self._pending = tokens
                return
            self._files += 1
            if len(self._changes) < self._limit:
                former = tokens[1] if status == b"R" else None
                self._changes.append(
                    Change(path=tokens[-1], status=status.decode("ascii", "replace"), former=former)
                )
            return
        added, _, rest = head.partition(b"\t")
        removed, _, path = rest.partition(b"\t")
        if not path and len(tokens) < 3:
            self._pending = tokens
            return
        self._insertions += int(added) if added.isdigit() else 0
        self._deletions += int(removed) if removed.isdigit() else 0

    def _complete(self) -> GitCommit | None:
        header, self._header = self._header, None
        if header is None or len(header) < len(FIELDS):
            return None
        commit = GitCommit(
            sha=header[0].decode("ascii"),
            parents=tuple(header[1].decode("ascii").split()),
            author=text_of(header[2]),
            email=text_of(header[3]),
            authored=moment_of(header[4]),
            committed=moment_of(header[5]),
            message=text_of(header[6]).rstrip(),
            changes=tuple(self._changes),
            files_changed=self._files,
            insertions=self._insertions,
            deletions=self._deletions,
        )
        self._changes = []
        self._files = self._insertions = self._deletions = 0
        return commit
