"""Tests `ingest git` from a real repository into a real database."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from muniment.actions import Actions
from muniment.domain.commands import Ref, SetStatus
from muniment.domain.errors import CapabilityDenied, Malformed, NotFound, Refused
from muniment.domain.identity import Role
from muniment.domain.model import Status
from muniment.ingest.git import GitSource, git_source, ingest_git
from muniment.ingest.report import Report
from muniment.store.database import Database
from muniment.store.sources import source_claims, source_slots
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal, local_ingestor
from tests.integration.ingest.repositories import START, Repository, fast_import, history

Ingest = Callable[..., Awaitable[Report]]
MakeAgent = Callable[..., Awaitable[Principal]]


@pytest.fixture
def ingest(actions: Actions, database: Database, workspace: Workspace) -> Ingest:
    """Ingest the repository at a path: `await ingest(path, name=..., full=...)`."""

    async def run(path: Path, *, name: str | None = None, full: bool = False) -> Report:
        repository: GitSource = await git_source(path, name)
        actor = local_ingestor(workspace.workspace_id, repository.source).actor
        return await ingest_git(actions, database, actor, repository, full=full)

    return run


@pytest.fixture
def claims(
    database: Database, workspace: Workspace
) -> Callable[..., Awaitable[dict[str, dict[str, object]]]]:
    """Ask what a source claims of one type: {name: {property: value}}."""

    async def ask(source: str, type_: str, *properties: str) -> dict[str, dict[str, object]]:
        reader = local_ingestor(workspace.workspace_id, source).actor.reader
        rows = await source_claims(database.reader, reader, source, type_, properties)
        found: dict[str, dict[str, object]] = {}
        for row in rows:
            found.setdefault(row.name, {})[row.property] = json.loads(row.value)
        return found

    return ask


@pytest.fixture
def links(database: Database, workspace: Workspace) -> Callable[[str], Awaitable[Counter[str]]]:
    """Count the links of a source by type."""

    async def ask(source: str) -> Counter[str]:
        reader = local_ingestor(workspace.workspace_id, source).actor.reader
        types = ("Commit", "Person", "File", "Document", "Repository")
        slots = await source_slots(database.reader, reader, source, types)
        return Counter(slot.key for slot in slots if slot.dst_id is not None)

    return ask


Claims = Callable[..., Awaitable[dict[str, dict[str, object]]]]
Links = Callable[[str], Awaitable[Counter[str]]]


def small(path: Path) -> Repository:
    repository = Repository.init(path)
    repository.write("a.txt", "one\n")
    repository.write("Makefile", "all:\n")
    repository.write("makefile", "all:\n")
    repository.commit("First\n\nIt begins.\n", at=START)
    repository.git("mv", "a.txt", "b.txt")
    repository.commit("Rename", at=START + 60)
    repository.write("c.txt", "c\n")
    repository.commit("Add c", at=START + 120, author=b"Ann Author <ann@other.example>")
    repository.git("rm", "-q", "c.txt")
    repository.commit("Remove c", at=START + 180)
    return repository


async def test_commits_people_files_and_links_come_to_be(
    tmp_path: Path, ingest: Ingest, claims: Claims, links: Links
) -> None:
    repository = small(tmp_path / "app")
    report = await ingest(repository.path)
    assert report.source == "git:app"
    assert report.read == {"commits": 4}
    assert (report.tally.refused, report.tally.unchanged, report.tally.skipped) == (0, 0, [])
    commits = await claims("git:app", "Commit", "sha", "title", "text", "insertions", "authored_at")
    by_title = {commit["title"]: commit for commit in commits.values()}
    assert by_title["First"]["text"] == "First\n\nIt begins."
    assert by_title["First"]["insertions"] == 3
    assert by_title["First"]["authored_at"] == "2023-11-14T22:13:20Z"
    assert {f"app@{str(commit['sha'])[:12]}" for commit in commits.values()} == set(commits)
    people = await claims("git:app", "Person", "email")
    assert people == {
        "Ann Author <ann@example.org>": {"email": "ann@example.org"},
        "Ann Author <ann@other.example>": {"email": "ann@other.example"},
    }
    files = await claims("git:app", "File", "path", "status")
    by_path = {file["path"]: file.get("status") for file in files.values()}
    assert by_path == {
        **dict.fromkeys(("Makefile", "makefile", "b.txt")),
        "a.txt": "renamed",
        "c.txt": "deleted",
    }
    assert await links("git:app") == Counter(
        {"authored": 4, "parent": 3, "changed": 6, "renamed_to": 1, "part_of": 4 + 5}
    )
    about = await claims(
        *("git:app", "Repository", "head", "commit_count", "default_branch", "first_commit_at")
    )
    assert about["app"] == {
        "head": repository.head(),
        "commit_count": 4,
        "default_branch": "main",
        "first_commit_at": "2023-11-14T22:13:20Z",
    }


@pytest.mark.parametrize("full", [False, True])
async def test_ingesting_again_writes_nothing(tmp_path: Path, ingest: Ingest, full: bool) -> None:
    repository = small(tmp_path / "app")
    first = await ingest(repository.path)
    again = await ingest(repository.path, full=full)
    assert again.read == {"commits": 4 if full else 0}
    assert (again.tally.asserted, again.tally.linked, again.tally.superseded) == (0, 0, 0)
    assert again.tally.objects_created == 0
    assert again.tally.unchanged > 0
    assert first.tally.asserted > 0


async def test_only_new_commits_are_read(tmp_path: Path, ingest: Ingest, claims: Claims) -> None:
    repository = small(tmp_path / "app")
    await ingest(repository.path)
    repository.write("c.txt", "back\n")
    repository.commit("Bring c back", at=START + 240)
    report = await ingest(repository.path)
    assert report.read == {"commits": 1}
    assert "Read from" in report.notes[0]
    files = await claims("git:app", "File", "path", "status")
    assert {file["path"]: file.get("status") for file in files.values()}["c.txt"] == "present"
    assert (await claims("git:app", "Repository", "commit_count"))["app"]["commit_count"] == 5
    again = await ingest(repository.path, full=True)
    assert (again.tally.asserted, again.tally.linked, again.tally.superseded) == (0, 0, 0)


async def test_a_rewritten_history_is_read_from_the_start(tmp_path: Path, ingest: Ingest) -> None:
    repository = small(tmp_path / "app")
    await ingest(repository.path)
    repository.git("reset", "-q", "--hard", "HEAD~2")
    repository.write("d.txt", "d\n")
    repository.commit("Another way", at=START + 300)
    report = await ingest(repository.path)
    assert report.read == {"commits": 3}
    assert report.tally.objects_created == 2


async def test_another_repository_of_the_same_name_is_refused(
    tmp_path: Path, ingest: Ingest
) -> None:
    await ingest(small(tmp_path / "one" / "app").path)
    other = Repository.init(tmp_path / "two" / "app")
    other.commit("Unrelated", at=START + 1)
    with pytest.raises(Refused) as caught:
        await ingest(other.path)
    assert caught.value.code == "source_taken"
    assert (await ingest(other.path, name="other")).read == {"commits": 1}


async def test_two_thousand_commits_in_one_go(
    tmp_path: Path, actions: Actions, database: Database, workspace: Workspace
) -> None:
    repository = fast_import(tmp_path / "big.git", history(2_100))
    source = await git_source(repository.path)
    actor = local_ingestor(workspace.workspace_id, source.source).actor
    seen: list[tuple[int, int]] = []
    start = time.perf_counter()
    report = await ingest_git(
        actions, database, actor, source, progress=lambda done, total: seen.append((done, total))
    )
    assert time.perf_counter() - start < 120
    assert report.source == "git:big"
    assert report.read == {"commits": 2_100}
    assert report.tally.refused == 0
    assert seen[0] == (0, 2_100)
    assert seen[-1] == (2_100, 2_100)
    again = await ingest_git(actions, database, actor, source, full=True)
    assert (again.tally.asserted, again.tally.linked, again.tally.superseded) == (0, 0, 0)


async def test_a_commit_of_many_files_says_how_many_are_left_out(
    tmp_path: Path, ingest: Ingest, claims: Claims, links: Links
) -> None:
    repository = Repository.init(tmp_path / "app")
    for at in range(250):
        repository.write(f"f{at:03}.txt", "x\n")
    repository.commit("Many")
    await ingest(repository.path)
    commit = next(iter((await claims("git:app", "Commit", "files_changed", "note")).values()))
    assert commit["files_changed"] == 250
    assert "50 are left out" in str(commit["note"])
    assert (await links("git:app"))["changed"] == 200


async def test_a_huge_message_is_kept_in_parts(
    tmp_path: Path, ingest: Ingest, claims: Claims
) -> None:
    message = "Title\n\n" + "A paragraph of the message.\n\n" * 12_000
    repository = Repository.init(tmp_path / "app")
    repository.commit(message)
    report = await ingest(repository.path)
    assert report.tally.refused == 0
    commit = next(iter((await claims("git:app", "Commit", "text", "note")).values()))
    parts = await claims("git:app", "Document", "text", "position")
    ordered = sorted(parts.values(), key=lambda part: int(str(part["position"])))
    whole = str(commit["text"]) + "".join(str(part["text"]) for part in ordered)
    assert whole == message.rstrip()
    assert len(ordered) > 4
    assert "further parts" in str(commit["note"])


async def test_hostile_names_are_kept_exactly_and_shown_safely(
    tmp_path: Path, ingest: Ingest, claims: Claims
) -> None:
    repository = Repository.init(tmp_path / "app")
    names = ["-rf", "two\nlines", "x" * 200 + "/" + "y" * 200 + "/" + "z" * 200, "健康 🚀.md"]
    for name in names:
        repository.write(name, "x\n")
    repository.write(b"latin-\xe9.txt", "x\n")
    repository.commit("Title with \u202e and \x1b[31m", author="健 <>".encode())
    report = await ingest(repository.path)
    assert (report.tally.refused, report.tally.skipped) == (0, [])
    paths = {file["path"] for file in (await claims("git:app", "File", "path")).values()}
    assert paths == {"-rf", "two\\nlines", names[2], "健康 🚀.md", "latin-\\xe9.txt"}
    assert set(await claims("git:app", "Person", "alias")) == {"健 <>"}


async def test_a_date_of_the_future_does_not_hide_a_commit(
    tmp_path: Path, ingest: Ingest, database: Database, workspace: Workspace
) -> None:
    repository = Repository.init(tmp_path / "app")
    repository.commit("From tomorrow", at=4_000_000_000)
    await ingest(repository.path)
    rows = await database.reader.fetch("SELECT count(*) FROM assertions WHERE valid_since > now()")
    assert rows[0][0] == 0


async def test_a_shallow_clone_claims_no_change_at_its_edge_and_is_filled_in_later(
    tmp_path: Path, ingest: Ingest, claims: Claims
) -> None:
    origin = fast_import(tmp_path / "origin.git", history(10))
    Repository(path=tmp_path).git("clone", "-q", "--depth=3", origin.path.as_uri(), "app")
    report = await ingest(tmp_path / "app")
    assert report.read == {"commits": 3}
    assert "shallow" in report.notes[0]
    commits = await claims("git:app", "Commit", "sha", "files_changed")
    assert sum("files_changed" in commit for commit in commits.values()) == 2
    Repository(path=tmp_path / "app").git("fetch", "-q", "--unshallow")
    report = await ingest(tmp_path / "app")
    assert report.read == {"commits": 10}
    commits = await claims("git:app", "Commit", "sha", "files_changed")
    assert sum("files_changed" in commit for commit in commits.values()) == 10


async def test_a_repository_without_a_commit_is_remembered_as_such(
    tmp_path: Path, ingest: Ingest, claims: Claims
) -> None:
    repository = Repository.init(tmp_path / "app")
    report = await ingest(repository.path)
    assert report.read == {"commits": 0}
    assert "main has no commit yet" in report.notes[0]
    assert (await claims("git:app", "Repository", "commit_count"))["app"] == {"commit_count": 0}
    repository.commit("First")
    assert (await ingest(repository.path)).read == {"commits": 1}


async def test_a_retired_file_is_reported_and_the_rest_of_its_commit_is_kept(
    tmp_path: Path, ingest: Ingest, actions: Actions, operator: Principal, links: Links
) -> None:
    repository = small(tmp_path / "app")
    await ingest(repository.path)
    about = Ref(type="File", name="app/b.txt", canonical="app/b.txt")
    await actions.perform(
        operator.actor, SetStatus(about=about, status=Status.RETIRED, reason="A test.")
    )
    before = await links("git:app")
    repository.write("b.txt", "changed\n")
    repository.write("d.txt", "new\n")
    sha = repository.commit("Change both", at=START + 400)
    report = await ingest(repository.path)
    assert report.tally.refused == 1
    assert [(entry.what, "retired" in entry.reason) for entry in report.tally.skipped] == [
        (f"commit {sha[:12]}", True)
    ]
    assert (await links("git:app"))["changed"] == before["changed"] + 1


@pytest.mark.parametrize("name", ["x" * 200, "a\nb", " "])
async def test_a_name_that_cannot_be_kept_is_refused(tmp_path: Path, name: str) -> None:
    repository = Repository.init(tmp_path / "app")
    with pytest.raises(Malformed) as caught:
        await git_source(repository.path, name)
    assert "--name" in (caught.value.next_step or "")


async def test_a_folder_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await git_source(tmp_path)


async def test_who_does_not_own_the_source_or_may_not_write_is_refused_at_once(
    tmp_path: Path, actions: Actions, database: Database, operator: Principal, make_agent: MakeAgent
) -> None:
    source = await git_source(small(tmp_path / "app").path)
    with pytest.raises(Refused) as caught:
        await ingest_git(actions, database, operator.actor, source)
    assert caught.value.code == "source_not_owned"
    reader = await make_agent("eve", role=Role.READER, owned_sources=("git:*",))
    with pytest.raises(CapabilityDenied):
        await ingest_git(actions, database, reader.actor, source)
    ingestor = await make_agent("robot", role=Role.INGESTOR, owned_sources=("git:*",))
    report = await ingest_git(actions, database, ingestor.actor, source)
    assert (report.read, report.tally.refused) == ({"commits": 4}, 0)


async def test_a_title_of_any_length_and_a_missing_one_are_kept(
    tmp_path: Path, ingest: Ingest, claims: Claims
) -> None:
    repository = Repository.init(tmp_path / "app")
    repository.commit("x" * 1_000)
    repository.commit("")
    repository.git("rm", "-rq", "--ignore-unmatch", "none")
    await ingest(repository.path)
    found = await claims("git:app", "Commit", "sha", "title", "text")
    long, empty = sorted(found.values(), key=len, reverse=True)
    assert str(long["title"]) == "x" * 300 + "…"
    assert long["text"] == "x" * 1_000
    assert empty.keys() == {"sha"}


async def test_a_file_that_a_merge_drops_is_deleted(
    tmp_path: Path, ingest: Ingest, claims: Claims
) -> None:
    repository = small(tmp_path / "app")
    repository.git("checkout", "-q", "-b", "side", "HEAD~1")
    repository.write("d.txt", "d\n")
    repository.commit("Side", at=START + 500)
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "--no-commit", "side")
    repository.git("rm", "-qf", "d.txt")
    repository.commit("Merge without d", at=START + 560)
    await ingest(repository.path)
    files = await claims("git:app", "File", "path", "status")
    assert files["app/d.txt"]["status"] == "deleted"
    again = await ingest(repository.path, full=True)
    assert (again.tally.asserted, again.tally.superseded) == (0, 0)
