"""Real repositories for the tests, made with git itself or by a `fast-import` stream."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

START = 1_700_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository at `path` that a test may do anything with."""

    path: Path

    @staticmethod
    def init(path: Path, *options: str) -> Repository:
        """Make an empty one, on the branch `main`."""
        path.mkdir(parents=True, exist_ok=True)
        made = Repository(path=path)
        made.git("init", "-q", "-b", "main", *options)
        return made

    def git(self, *arguments: str | bytes, stdin: bytes | None = None, at: int = START) -> bytes:
        """Run git there, as an author at a fixed time, and return what it writes."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.path),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ann Author",
            "GIT_AUTHOR_EMAIL": "ann@example.org",
            "GIT_COMMITTER_NAME": "Carl Committer",
            "GIT_COMMITTER_EMAIL": "carl@example.org",
            "GIT_AUTHOR_DATE": f"{at} +0200",
            "GIT_COMMITTER_DATE": f"{at} +0200",
        }
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=self.path,
            env=environment,
            input=stdin,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout

    def write(self, name: str | bytes, content: str | bytes) -> None:
        """Write a file of the work tree."""
        full = os.path.join(os.fsencode(self.path), os.fsencode(name))
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)

    def commit(self, message: str | bytes, *, at: int = START, author: bytes | None = None) -> str:
        """Commit everything in the work tree and return the commit's hash."""
        self.git("add", "-A", "--", ".")
        options = ["--author", author] if author else []
        raw = message.encode() if isinstance(message, str) else message
        self.git(
            *("commit", "-q", "--allow-empty", "--allow-empty-message", "--cleanup=verbatim"),
            *options,
            *("-F", "-"),
            stdin=raw,
            at=at,
        )
        return self.head()

    def head(self) -> str:
        return self.git("rev-parse", "HEAD").decode().strip()


def fast_import(path: Path, stream: Iterable[bytes]) -> Repository:
    """Make a bare repository out of a `fast-import` stream."""
    made = Repository.init(path, "--bare")
    made.git("fast-import", "--quiet", stdin=b"".join(stream))
    return made


def history(commits: int, *, files: int = 50, authors: int = 7) -> Iterable[bytes]:
    """Yield a stream of that many commits, each with a text and three changed files."""
    for at in range(commits):
        who = b"Author %d <author%d@example.org>" % (at % authors, at % authors)
        when = b"%d +0000" % (START + at * 60)
        message = b"Change number %d\n\nIt touches three files of module %d.\n" % (at, at % 11)
        yield b"commit refs/heads/main\n"
        yield b"author %s %s\ncommitter %s %s\n" % (who, when, who, when)
        yield b"data %d\n%s\n" % (len(message), message)
        for part in range(3):
            content = b"line %d of %d\n" % (at, part)
            name = b"src/module%d/file%d.py" % (at % 11, (at + part) % files)
            yield b"M 100644 inline %s\ndata %d\n%s\n" % (name, len(content), content)
        yield b"\n"
