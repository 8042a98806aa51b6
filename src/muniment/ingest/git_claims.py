"""What a repository says, as claims and links.

A person is known by name and address together: two people of one name stay two, and one person
with two addresses is for someone to merge, not for us to guess. What is said of a person or a file
is said once, when it is first met, with that commit as evidence; so reading the same history again
says nothing new.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from muniment.domain.commands import Ref, Stated
from muniment.domain.dates import WorldDate
from muniment.domain.evidence import EvidenceClass
from muniment.domain.text import canonical_name
from muniment.ingest.delivery import Item
from muniment.ingest.git_log import Change, GitCommit
from muniment.ingest.names import Namer, bounded, visible
from muniment.ingest.sections import pieces
from muniment.ingest.statements import Speaker, claim, instant, link, named, since

SHA_SHOWN: Final = 12
_TITLE_CHARS: Final = 300
DELETED: Final = "deleted"
RENAMED: Final = "renamed"
PRESENT: Final = "present"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitKnown:
    """What the graph has of this source already.

    people: names of persons. files: names of files, each with its path. gone: paths that are not
    in the tree, each with the status that says so.
    """

    people: frozenset[str] = frozenset()
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    gone: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    """A commit as the evidence that something happened to a path. status: what."""

    sha: str
    since: WorldDate | None
    status: str


def path_text(path: bytes) -> str:
    """Return a path as text; bytes that are no UTF-8 are written `\\xNN`."""
    return visible(path.decode("utf-8", "surrogateescape"))


class GitClaims:
    """Turns commits, parents first, into what is to be remembered of them."""

    def __init__(self, repository: str, source: str, known: GitKnown) -> None:
        self._repository = repository
        self._speaker = Speaker(source=source, evidence_class=EvidenceClass.DIRECT_OBSERVATION)
        self._people = {canonical_name(person) for person in known.people}
        self._namer = Namer(known.files)
        self._files = set(known.files.values())
        self._gone = dict(known.gone)
        self._last: dict[str, _Moment] = {}
        self._renames: dict[tuple[str, str], _Moment] = {}
        self.about = named("Repository", repository)

    def stated(self, sha: str, valid_from: WorldDate | None = None) -> Stated:
        """Return the provenance of what the commit `sha` shows."""
        return self._speaker.stated(bounded(f"git:{self._repository}@{sha}"), valid_from)

    def commit(self, commit: GitCommit, *, whole: bool = True) -> list[Item]:
        """Return what one commit says.

        whole: its parents are there. Git shows the change of a commit at the edge of a shallow
        clone as if it had made each file anew, so nothing is said of that change.
        """
        when = since(commit.committed)
        stated = self.stated(commit.sha, when)
        about = self._commit_ref(commit.sha)
        items: list[Item] = [claim(about, "sha", commit.sha, stated)]
        items += self._message(about, commit, stated)
        for name, moment in (("authored_at", commit.authored), ("committed_at", commit.committed)):
            if moment is not None:
                items.append(claim(about, name, instant(moment), stated))
        items += self._author(about, commit, stated)
        items.append(link(about, "part_of", self.about, stated))
        items += [
            link(about, "parent", self._commit_ref(parent), stated) for parent in commit.parents
        ]
        if whole and not commit.is_merge:
            items += self._changes(about, commit, stated, when)
        return items

    def standing(self, tree: set[bytes], head: str) -> list[Item]:
        """Return what holds now of the files that were met: which are gone, what became of them.

        Said once at the end and of the last time alone, since a file may come and go a hundred
        times: the commits tell the rest, and reading them again must not say it again. The tree
        of `head` has the last word, as a merge can drop a file without a change of its own.
        """
        present = {path_text(path) for path in tree}
        items: list[Item] = []
        for path in sorted(self._files):
            last = self._last.get(path)
            if path not in present:
                if last is not None and last.status != PRESENT:
                    items.append(self._status(path, last))
                elif path not in self._gone or last is not None:
                    items.append(self._status(path, _Moment(sha=head, since=None, status=DELETED)))
            elif path in self._gone and last is not None and last.status == PRESENT:
                items.append(self._status(path, last))
        for (former, path), moment in sorted(self._renames.items()):
            stated = self.stated(moment.sha, moment.since)
            items.append(link(self._file_ref(former), "renamed_to", self._file_ref(path), stated))
        return items

    def _commit_ref(self, sha: str) -> Ref:
        return named("Commit", f"{self._repository}@{sha[:SHA_SHOWN]}")

    def _file_ref(self, path: str) -> Ref:
        return named("File", self._namer.name(f"{self._repository}/{path}", path))

    def _status(self, path: str, moment: _Moment) -> Item:
        stated = self.stated(moment.sha, moment.since)
        return claim(self._file_ref(path), "status", moment.status, stated)

    def _message(self, about: Ref, commit: GitCommit, stated: Stated) -> list[Item]:
        message = commit.message.strip("\n")
        if not message:
            return []
        title = message.split("\n", 1)[0].strip()
        cut = title if len(title) <= _TITLE_CHARS else f"{title[:_TITLE_CHARS]}…"
        items: list[Item] = [claim(about, "title", cut, stated)]
        if message == title == cut:
            return items
        parts = pieces(message)
        items.append(claim(about, "text", parts[0], stated))
        if len(parts) > 1:
            more = (
                f"The message goes on in {len(parts) - 1} further parts, Documents of this commit."
            )
            items.append(claim(about, "note", more, stated))
        for position, part in enumerate(parts[1:], start=2):
            further = named("Document", f"{about.name} message, part {position}")
            items += [
                claim(further, "text", part, stated),
                claim(further, "position", position, stated),
                link(further, "part_of", about, stated),
            ]
        return items

    def _author(self, about: Ref, commit: GitCommit, stated: Stated) -> list[Item]:
        label = f"{commit.author.strip()} <{commit.email.strip()}>".strip()
        person = named("Person", bounded(label))
        items: list[Item] = [link(person, "authored", about, stated)]
        if person.canonical is not None and person.canonical not in self._people:
            self._people.add(person.canonical)
            first = self.stated(commit.sha)
            if commit.email.strip():
                items.append(claim(person, "email", commit.email.strip(), first))
            if commit.author.strip():
                items.append(claim(person, "alias", commit.author.strip(), first))
        return items

    def _changes(
        self, about: Ref, commit: GitCommit, stated: Stated, when: WorldDate | None
    ) -> list[Item]:
        items: list[Item] = [
            claim(about, "files_changed", commit.files_changed, stated),
            claim(about, "insertions", commit.insertions, stated),
            claim(about, "deletions", commit.deletions, stated),
        ]
        for change in commit.changes:
            items += self._change(about, change, commit.sha, stated, when)
        left_out = commit.files_changed - len(commit.changes)
        if left_out:
            items.append(
                claim(
                    about,
                    "note",
                    f"{commit.files_changed} files changed: the first {len(commit.changes)} are "
                    f"linked, {left_out} are left out.",
                    stated,
                )
            )
        return items

    def _change(
        self, about: Ref, change: Change, sha: str, stated: Stated, when: WorldDate | None
    ) -> list[Item]:
        path = path_text(change.path)
        items = self._met(path, stated)
        items.append(link(about, "changed", self._file_ref(path), stated))
        self._last[path] = _Moment(
            sha=sha, since=when, status=DELETED if change.status == "D" else PRESENT
        )
        if change.former is not None:
            former = path_text(change.former)
            items += self._met(former, stated)
            self._last[former] = _Moment(sha=sha, since=when, status=RENAMED)
            self._renames[former, path] = self._last[former]
        return items

    def _met(self, path: str, stated: Stated) -> list[Item]:
        if path in self._files:
            return []
        self._files.add(path)
        about = self._file_ref(path)
        return [
            claim(about, "path", path, stated),
            link(about, "part_of", self.about, stated),
        ]
