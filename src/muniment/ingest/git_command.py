"""Runs the git command over a repository that may be hostile.

A repository's own configuration can name programs: hooks, pagers, external diffs, text
conversions, a file system monitor, signature checkers, remote helpers. None of what is run here
calls for any of them, each is switched off by name besides, and no transport is allowed, so that a
partial clone cannot reach for its remote. The environment is made anew: no GIT_DIR of the caller
leads elsewhere. The user's own global configuration counts, since `safe.directory` lives there.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from muniment.domain.errors import Malformed, NotFound, Refused, Unavailable
from muniment.ingest.git_log import FIELDS, GitCommit, LogParser

_KEPT_VARIABLES: Final = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "SUDO_UID")
_SWITCHES: Final = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.alternateRefsCommand": "",
    "diff.external": "",
    "diff.renames": "true",
    "diff.ignoreSubmodules": "none",
    "log.showSignature": "false",
    "log.showRoot": "true",
    "protocol.allow": "never",
}
_CHUNK_BYTES: Final = 256 * 1024
_STDERR_BYTES: Final = 4_000
CHANGES_PER_COMMIT: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A repository on this machine.

    path: where git is run (absolute). name: what it is called when nobody says otherwise.
    head: the full hash that HEAD leads to, None while there is no commit. branch: the branch that
    HEAD names, None when it is detached. boundary: commits of a shallow clone whose parents are
    not there.
    """

    path: Path
    name: str
    head: str | None
    branch: str | None
    boundary: frozenset[str]


async def open_checkout(path: Path) -> Checkout:
    """Return the repository that `path` is in; bare ones and linked work trees are fine.

    Raises:
        NotFound: no such path, or no repository there.
        Refused: it belongs to another user, and git was not told that this is well.
        Unavailable: there is no git.
    """
    path = _folder(path)
    common = Path(
        os.fsdecode(
            await _output(path, "rev-parse", "--path-format=absolute", "--git-common-dir")
        ).removesuffix("\n")
    )
    head = (await _output(path, "rev-parse", "--verify", "--quiet", "HEAD", fails=True)).decode()
    branch = await _output(path, "symbolic-ref", "--quiet", "--short", "HEAD", fails=True)
    own = common.parent.name if common.name == ".git" else common.name.removesuffix(".git")
    return Checkout(
        path=path,
        name=own,
        head=head.strip() or None,
        branch=os.fsdecode(branch).strip() or None,
        boundary=_boundary(common / "shallow"),
    )


async def is_ancestor(checkout: Checkout, sha: str) -> bool:
    """Say whether `sha` is in the repository and everything it rests on is below HEAD."""
    status = await _status(checkout.path, "merge-base", "--is-ancestor", sha, _tip(checkout))
    return status == 0


async def holds(checkout: Checkout, sha: str) -> bool:
    """Say whether the repository has the commit `sha`."""
    return await _status(checkout.path, "cat-file", "-e", f"{sha}^{{commit}}") == 0


async def first_commits(checkout: Checkout) -> list[str]:
    """Return the commits without parents that HEAD rests on, sorted."""
    return sorted(
        (await _output(checkout.path, "rev-list", "--max-parents=0", _tip(checkout)))
        .decode()
        .split()
    )


async def count_commits(checkout: Checkout, since: str | None) -> int:
    """Return how many commits `read_commits` will yield."""
    return int(await _output(checkout.path, "rev-list", "--count", _range(checkout, since), "--"))


async def list_paths(checkout: Checkout) -> set[bytes]:
    """Return the paths in HEAD's tree, those of submodules included."""
    listed = await _output(
        checkout.path, "ls-tree", "-r", "-z", "--full-tree", "--name-only", _tip(checkout)
    )
    return {path for path in listed.split(b"\x00") if path}


async def read_commits(checkout: Checkout, since: str | None) -> AsyncGenerator[GitCommit, None]:
    """Yield the commits below HEAD that are not below `since`, parents before children.

    Raises:
        Malformed: git gave up on the repository; what was yielded before that stands.
    """
    mark = f"muniment-{secrets.token_hex(16)}"
    form = "%x00" + mark + "%x00" + "%x00".join(FIELDS) + "%x00"
    process = await _start(
        checkout.path,
        "log",
        "-z",
        "--raw",
        "--numstat",
        "--no-abbrev",
        "--reverse",
        "--topo-order",
        "--diff-merges=off",
        "--find-renames=50%",
        "-l1000",
        "--no-ext-diff",
        "--no-textconv",
        "--no-show-signature",
        "--no-mailmap",
        "--no-relative",
        "--no-color",
        "--encoding=UTF-8",
        f"--format={form}",
        _range(checkout, since),
        "--",
    )
    assert process.stdout is not None
    complaint = asyncio.create_task(_drain(process.stderr))
    parser = LogParser(mark.encode(), CHANGES_PER_COMMIT)
    try:
        while chunk := await process.stdout.read(_CHUNK_BYTES):
            for commit in parser.feed(chunk):
                yield commit
        if await process.wait() != 0:
            raise _failed(await complaint)
        for commit in parser.finish():
            yield commit
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        await complaint


def _folder(path: Path) -> Path:
    path = path.expanduser().absolute()
    if path.is_dir():
        return path
    raise NotFound(
        f"{str(path)!r} is not a folder.",
        code="no_such_path",
        field="path",
        next_step="Give the folder of a git repository, with or without a work tree.",
    )


def _boundary(listed: Path) -> frozenset[str]:
    return frozenset(listed.read_text("ascii").split()) if listed.is_file() else frozenset()


def _tip(checkout: Checkout) -> str:
    """Return the commit that was HEAD when the repository was opened: it may move meanwhile."""
    return checkout.head or "HEAD"


def _range(checkout: Checkout, since: str | None) -> str:
    return f"{since}..{_tip(checkout)}" if since else _tip(checkout)


async def _start(path: Path, *arguments: str) -> asyncio.subprocess.Process:
    switches = [part for name, value in _SWITCHES.items() for part in ("-c", f"{name}={value}")]
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    environment |= {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "LC_ALL": "C",
    }
    try:
        return await asyncio.create_subprocess_exec(
            "git",
            "--no-pager",
            *switches,
            "-C",
            str(path),
            *arguments,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError:
        raise Unavailable(
            "The git command was not found.",
            code="no_git",
            next_step="Install git and see that it is on PATH.",
        ) from None


async def _output(path: Path, *arguments: str, fails: bool = False) -> bytes:
    """Return what git writes. `fails`: a failure is an answer too, that of no output."""
    process = await _start(path, *arguments)
    written, complaint = await process.communicate()
    if process.returncode == 0:
        return written
    if fails:
        return b""
    raise _failed(complaint)


async def _status(path: Path, *arguments: str) -> int:
    process = await _start(path, *arguments)
    await process.communicate()
    return process.returncode or 0


async def _drain(stream: asyncio.StreamReader | None) -> bytes:
    """Read a stream to its end, so that its writer never blocks, and keep its last part."""
    kept = b""
    while stream is not None and (chunk := await stream.read(_CHUNK_BYTES)):
        kept = (kept + chunk)[-_STDERR_BYTES:]
    return kept


def _failed(complaint: bytes) -> NotFound | Refused | Malformed:
    said = complaint.decode("utf-8", "replace").strip()
    if "dubious ownership" in said:
        return Refused(
            "The repository belongs to another user, so git refuses to read it.",
            code="git_unsafe",
            field="path",
            next_step="If you trust it: git config --global --add safe.directory PATH.",
        )
    if "not a git repository" in said:
        return NotFound(
            "There is no git repository at that path.",
            code="not_a_repository",
            field="path",
            next_step="Give the folder of a git repository, with or without a work tree.",
        )
    last = said.splitlines()[-1][:500] if said else "no message"
    return Malformed(
        f"git could not read the repository: {last}",
        code="git_failed",
        field="path",
        next_step="Run git fsck there; a partial clone must first fetch what it left out "
        "(git fetch --refetch --no-filter). What was read so far is kept; run it again after.",
    )
