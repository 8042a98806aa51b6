"""Tests the git command over real and over hostile repositories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from muniment.domain.errors import Malformed, NotFound, Refused, Unavailable
from muniment.ingest import git_command
from muniment.ingest.git_log import GitCommit
from tests.integration.ingest.repositories import Repository, fast_import, history


async def read(path: Path, since: str | None = None) -> list[GitCommit]:
    checkout = await git_command.open_checkout(path)
    return [commit async for commit in git_command.read_commits(checkout, since)]


async def test_a_history_is_read_parents_first(tmp_path: Path) -> None:
    repository = fast_import(tmp_path / "r.git", history(30))
    commits = await read(repository.path)
    assert len(commits) == 30
    assert [commit.parents for commit in commits[1:]] == [(c.sha,) for c in commits[:-1]]
    assert commits[0].files_changed == 3
    since = await read(repository.path, commits[19].sha)
    assert since == commits[20:]


async def test_hostile_paths_messages_and_names_come_through(tmp_path: Path) -> None:
    repository = Repository.init(tmp_path / "r")
    names = ["-rf", "--output=x", "two\nlines", 'quo"te\\', "健康 🚀.md", " space ", ":(glob)*"]
    for name in names:
        repository.write(name, "x\n")
    repository.write(b"latin-\xe9.txt", "x\n")
    repository.git("config", "i18n.commitEncoding", "ISO-8859-1")
    author = "Jos\u00e9 <jose@example.org>".encode("latin-1")
    repository.commit("Caf\u00e9\n".encode("latin-1"), author=author)
    commit = (await read(repository.path))[0]
    paths = {change.path for change in commit.changes}
    assert paths == {name.encode() for name in names} | {b"latin-\xe9.txt"}
    assert commit.message == "Café"
    assert commit.author == "José"
    assert commit.insertions == len(paths)


async def test_renames_merges_binaries_and_empty_commits(tmp_path: Path) -> None:
    repository = Repository.init(tmp_path / "r")
    repository.write("a.txt", "one\ntwo\nthree\n")
    repository.write("image.bin", b"\x00\x01\x02" * 100)
    repository.commit("First")
    repository.git("mv", "a.txt", "b.txt")
    repository.commit("Rename")
    repository.git("checkout", "-q", "-b", "side", "HEAD~1")
    repository.write("c.txt", "c\n")
    repository.commit("Side")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
    repository.commit("")
    by_title = {commit.message: commit for commit in await read(repository.path)}
    assert by_title["First"].insertions == 3
    assert by_title["First"].files_changed == 2
    assert by_title["Rename"].changes[0].former == b"a.txt"
    assert by_title["Merge side"].is_merge
    assert by_title["Merge side"].files_changed == 0
    assert by_title[""].files_changed == 0


async def test_submodules_are_changes_like_others(tmp_path: Path) -> None:
    inner = Repository.init(tmp_path / "inner")
    inner.commit("Inner")
    repository = Repository.init(tmp_path / "r")
    repository.git("submodule", "--quiet", "add", str(inner.path), "lib/inner")
    repository.commit("Add a submodule")
    commit = (await read(repository.path))[0]
    assert {change.path for change in commit.changes} == {b".gitmodules", b"lib/inner"}
    found = await git_command.open_checkout(repository.path / "lib" / "inner")
    assert (found.name, found.head) == ("inner", inner.head())


async def test_no_program_that_a_repository_names_is_run(tmp_path: Path) -> None:
    repository = Repository.init(tmp_path / "r")
    witness = tmp_path / "witness"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho run >> {witness}\ncat "$1" 2>/dev/null\nexit 0\n')
    program.chmod(0o755)
    repository.write(".gitattributes", "* diff=evil filter=evil\n")
    repository.write("a.txt", "a\n")
    repository.commit("First")
    repository.write("a.txt", "b\n")
    repository.commit("Second")
    witness.unlink(missing_ok=True)
    for name in (
        *("core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "core.askPass"),
        *("diff.external", "diff.evil.command", "diff.evil.textconv", "pager.log"),
        *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process"),
        *("gpg.program", "core.alternateRefsCommand", "credential.helper", "pager.rev-list"),
    ):
        repository.git("config", name, str(program))
    for switch in ("log.showSignature", "diff.renames", "color.ui", "log.mailmap"):
        repository.git("config", switch, "true")
    repository.git("config", "log.diffMerges", "first-parent")
    hooks = repository.path / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
        (hooks / hook).write_text(program.read_text())
        (hooks / hook).chmod(0o755)
    checkout = await git_command.open_checkout(repository.path)
    commits = [commit async for commit in git_command.read_commits(checkout, None)]
    await git_command.list_paths(checkout)
    await git_command.first_commits(checkout)
    assert len(commits) == 2
    assert not witness.exists()


async def test_a_partial_clone_never_reaches_for_its_remote(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    origin = Repository.init(tmp_path / "origin")
    origin.git("config", "uploadpack.allowFilter", "true")
    origin.write("a.txt", "one\n")
    origin.commit("First")
    origin.write("a.txt", "two\n")
    origin.commit("Second")
    Repository(path=tmp_path).git(
        *("clone", "-q", "--bare", "--filter=blob:none", origin.path.as_uri(), "part.git")
    )
    part = Repository(path=tmp_path / "part.git")
    part.git("config", "remote.origin.uploadpack", f"touch {witness};")
    with pytest.raises(Malformed) as caught:
        await read(part.path)
    assert caught.value.code == "git_failed"
    assert "partial clone" in (caught.value.next_step or "")
    assert not witness.exists()


async def test_a_shallow_clone_knows_its_edge(tmp_path: Path) -> None:
    origin = fast_import(tmp_path / "o.git", history(10))
    Repository(path=tmp_path).git("clone", "-q", "--depth=3", origin.path.as_uri(), "shallow")
    checkout = await git_command.open_checkout(tmp_path / "shallow")
    commits = [commit async for commit in git_command.read_commits(checkout, None)]
    assert len(commits) == 3
    assert checkout.boundary == {commits[0].sha}


async def test_a_linked_work_tree_has_the_name_of_its_repository(tmp_path: Path) -> None:
    repository = Repository.init(tmp_path / "project")
    repository.commit("First")
    repository.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "elsewhere"))
    repository.write("sub/x", "x")
    for path in (tmp_path / "elsewhere", repository.path / "sub", repository.path / ".git"):
        assert (await git_command.open_checkout(path)).name == "project"


async def test_an_unborn_or_detached_head_is_no_failure(tmp_path: Path) -> None:
    repository = Repository.init(tmp_path / "r")
    unborn = await git_command.open_checkout(repository.path)
    assert (unborn.head, unborn.branch) == (None, "main")
    sha = repository.commit("First")
    repository.git("checkout", "-q", "--detach")
    detached = await git_command.open_checkout(repository.path)
    assert (detached.head, detached.branch) == (sha, None)


async def test_what_is_no_repository_is_said_so(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(NotFound):
            await git_command.open_checkout(path)


async def test_the_callers_git_variables_lead_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = Repository.init(tmp_path / "wanted")
    sha = wanted.commit("Wanted")
    other = Repository.init(tmp_path / "other")
    other.commit("Other")
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    assert (await git_command.open_checkout(wanted.path)).head == sha


async def test_a_machine_without_git_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="git command"):
        await git_command.open_checkout(tmp_path)


async def test_a_broken_object_is_reported_after_what_could_be_read(tmp_path: Path) -> None:
    repository = Repository.init(tmp_path / "r")
    repository.write("a.txt", "a\n")
    repository.commit("First")
    blob = repository.git("rev-parse", "HEAD:a.txt").decode().strip()
    stored = repository.path / ".git" / "objects" / blob[:2] / blob[2:]
    stored.chmod(0o644)
    stored.write_bytes(b"broken")
    with pytest.raises(Malformed) as caught:
        await read(repository.path)
    assert caught.value.code == "git_failed"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
async def test_a_repository_of_another_user_is_refused_with_the_way_out(tmp_path: Path) -> None:
    repository = Repository.init(tmp_path / "r")
    repository.commit("First")
    os.chown(repository.path, 65_534, 65_534)
    os.chown(repository.path / ".git", 65_534, 65_534)
    with pytest.raises(Refused) as caught:
        await git_command.open_checkout(repository.path)
    assert caught.value.code == "git_unsafe"
    assert "safe.directory" in (caught.value.next_step or "")
