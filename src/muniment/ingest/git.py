"""`ingest git`: a repository's history as objects, claims and links of the source `git:<name>`.

The Repository's claim `head` is the bookmark: everything below that commit has been read. It is
written last, so a run that was cut short is simply run again; what it wrote answers `unchanged`.
A bookmark that is no longer below HEAD (rewritten history) means reading from the start.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from muniment.actions import Actions
from muniment.domain.errors import Malformed, Refused
from muniment.domain.identity import Actor
from muniment.domain.text import display_name, require_size
from muniment.ingest import git_command
from muniment.ingest.delivery import Delivery, Item, Parcel, remembers, require_owner
from muniment.ingest.git_claims import PRESENT, SHA_SHOWN, GitClaims, GitKnown
from muniment.ingest.git_command import Checkout
from muniment.ingest.git_log import GitCommit
from muniment.ingest.report import Progress, Report
from muniment.ingest.statements import claim, instant, since
from muniment.store.database import Database
from muniment.store.sources import source_claims

NAME_BYTES: Final = 128
"""Longest name of a repository: paths are appended to it, and a name holds 512 bytes."""
COMPLETE: Final = "complete"
SHALLOW: Final = "shallow"
_ROOTS_KEPT: Final = 20
_SHA: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """Where the last run ended, as the Repository's claims tell it; None before the first."""

    head: str | None = None
    history: str | None = None
    roots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSource:
    """A repository to be ingested. `source`: what the actor must own."""

    checkout: Checkout
    name: str

    @property
    def source(self) -> str:
        return f"git:{self.name}"


async def git_source(path: Path, name: str | None = None) -> GitSource:
    """Return the repository at `path` under `name`, by default that of its folder.

    Raises:
        NotFound, Refused, Unavailable: it cannot be opened.
        Malformed: `name` is not legal for a repository.
    """
    checkout = await git_command.open_checkout(path)
    return GitSource(checkout=checkout, name=source_name(name or checkout.name))


def source_name(raw: str) -> str:
    """Return what a repository or folder may be called.

    Raises:
        Malformed, TooLarge: empty, invisible characters, or over `NAME_BYTES`.
    """
    try:
        return require_size(display_name(raw, "name"), "name", NAME_BYTES)
    except Malformed as error:
        error.next_step = f"Give a plain one with --name, at most {NAME_BYTES} bytes."
        raise


async def ingest_git(
    actions: Actions,
    database: Database,
    actor: Actor,
    repository: GitSource,
    *,
    full: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Read the commits that are new since the last run, and remember what they say.

    actor: must own the repository's source. full: read all commits, whatever the bookmark says.
    progress: called as commits are written.

    Raises:
        Refused: `source_not_owned` by the actor; `source_taken`: another repository has its name.
        Malformed: git could not read the repository to its end.
        Unavailable, Busy, CapabilityDenied: the writer did not take it.
    """
    require_owner(actor, repository.source)
    run = _Run(actions, actor, repository, await _known(database, actor, repository.source))
    bookmark = await _bookmark(database, actor, repository)
    if repository.checkout.head is None:
        return await run.empty()
    await _require_same(repository.checkout, bookmark, repository.name)
    start = None if full else await _start(repository.checkout, bookmark)
    total = await git_command.count_commits(repository.checkout, start)
    done = 0
    if progress is not None:
        progress(done, total)
    async for commit in git_command.read_commits(repository.checkout, start):
        await run.commit(commit)
        done += 1
        if progress is not None:
            progress(done, total)
    return await run.finish(start, done)


class _Run:
    """One pass over a repository."""

    def __init__(
        self, actions: Actions, actor: Actor, repository: GitSource, known: GitKnown
    ) -> None:
        self._repository = repository
        self._checkout = repository.checkout
        self._claims = GitClaims(repository.name, repository.source, known)
        self._delivery = Delivery(actions, actor, splits=True)
        self._first: GitCommit | None = None
        self._newest: GitCommit | None = None
        self._unknown_changes = 0

    async def commit(self, commit: GitCommit) -> None:
        whole = commit.sha not in self._checkout.boundary
        self._unknown_changes += not whole
        self._first = self._first or commit
        if commit.sha == self._checkout.head:
            self._newest = commit
        await self._deliver(
            self._claims.commit(commit, whole=whole), f"commit {commit.sha[:SHA_SHOWN]}"
        )

    async def empty(self) -> Report:
        """Say of a repository without a commit that it exists."""
        stated = self._claims.stated("unborn")
        items: list[Item] = [claim(self._claims.about, "commit_count", 0, stated)]
        await self._deliver(items, "repository")
        await self._delivery.flush()
        branch = self._checkout.branch or "HEAD"
        return self._report(
            0,
            f"{branch} has no commit yet. If the history is on another branch, point HEAD at it: "
            "git symbolic-ref HEAD refs/heads/<branch>.",
        )

    async def finish(self, start: str | None, done: int) -> Report:
        """Say what holds of the tree and the repository, the bookmark last of all."""
        head = self._checkout.head
        assert head is not None
        if done:
            tree = await git_command.list_paths(self._checkout)
            await self._deliver(self._claims.standing(tree, head), "files")
        await self._delivery.flush()
        await self._deliver(await self._summary(start, head), "repository")
        await self._delivery.flush()
        notes: list[str] = []
        if start is not None:
            notes.append(f"Read from {start[:SHA_SHOWN]}, where the last run ended.")
        if self._checkout.boundary:
            notes.append(
                f"A shallow clone: what {self._unknown_changes} commits at its edge changed is "
                "not known, nor what came before. Unshallow it and ingest again to fill that in."
            )
        return self._report(done, *notes)

    async def _summary(self, start: str | None, head: str) -> list[Item]:
        checkout = self._checkout
        about = self._claims.about
        when = since(self._newest.committed) if self._newest else None
        lasting = self._claims.stated(head)
        stated = self._claims.stated(head, when)
        items: list[Item] = []
        if self._newest is not None:
            count = await git_command.count_commits(checkout, None)
            items.append(claim(about, "commit_count", count, stated))
            if self._newest.committed is not None:
                last = instant(self._newest.committed)
                items.append(claim(about, "last_commit_at", last, stated))
        if start is None and self._first is not None and self._first.committed is not None:
            first = instant(self._first.committed)
            items.append(claim(about, "first_commit_at", first, lasting))
        if checkout.branch is not None:
            items.append(claim(about, "default_branch", checkout.branch, lasting))
        if not checkout.boundary:
            roots = (await git_command.first_commits(checkout))[:_ROOTS_KEPT]
            items.append(claim(about, "root_commits", list(roots), lasting))
        items.append(claim(about, "history", SHALLOW if checkout.boundary else COMPLETE, lasting))
        if self._newest is not None:
            items.append(claim(about, "head", head, stated))
        return items

    async def _deliver(self, items: list[Item], what: str) -> None:
        for command in remembers(items):
            await self._delivery.add(Parcel(command=command, what=what))

    def _report(self, commits: int, *notes: str) -> Report:
        return Report(
            verb="ingest git",
            source=self._repository.source,
            read={"commits": commits},
            tally=self._delivery.tally,
            notes=notes,
        )


async def _known(database: Database, actor: Actor, source: str) -> GitKnown:
    people = await source_claims(
        database.reader, actor.reader, source, "Person", ["email", "alias"]
    )
    files = await source_claims(database.reader, actor.reader, source, "File", ["path", "status"])
    paths = {row.name: str(json.loads(row.value)) for row in files if row.property == "path"}
    gone = {
        paths[row.name]: status
        for row in files
        if row.property == "status"
        and row.name in paths
        and (status := str(json.loads(row.value))) != PRESENT
    }
    return GitKnown(people=frozenset(row.name for row in people), files=paths, gone=gone)


async def _bookmark(database: Database, actor: Actor, repository: GitSource) -> Bookmark:
    rows = await source_claims(
        database.reader,
        actor.reader,
        repository.source,
        "Repository",
        ["head", "history", "root_commits"],
    )
    values: dict[str, object] = {row.property: json.loads(row.value) for row in rows}
    roots = values.get("root_commits")
    listed: list[object] = roots if isinstance(roots, list) else []  # pyright: ignore[reportUnknownVariableType]
    return Bookmark(
        head=_sha(values.get("head")),
        history=str(values["history"]) if "history" in values else None,
        roots=tuple(sha for root in listed if (sha := _sha(root))),
    )


def _sha(value: object) -> str | None:
    return value if isinstance(value, str) and _SHA.fullmatch(value) else None


async def _require_same(checkout: Checkout, bookmark: Bookmark, name: str) -> None:
    """Refuse to write one repository's history over another's of the same name."""
    if bookmark.head is None or await git_command.holds(checkout, bookmark.head):
        return
    if checkout.boundary or not bookmark.roots:
        return
    for root in bookmark.roots:
        if await git_command.holds(checkout, root):
            return
    raise Refused(
        f"Another repository was ingested as {name!r}: this one has none of its first commits.",
        code="source_taken",
        field="name",
        next_step="Give this one a name of its own with --name.",
    )


async def _start(checkout: Checkout, bookmark: Bookmark) -> str | None:
    """Return the commit to go on from, or None to read everything."""
    if bookmark.head is None or bookmark.history != COMPLETE or checkout.boundary:
        return None
    return bookmark.head if await git_command.is_ancestor(checkout, bookmark.head) else None
