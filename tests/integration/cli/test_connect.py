"""Owns `connect` as it is typed: the file, the token, the second run, the refusal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli

HARNESSES = ("claude", "codex", "opencode", "gemini", "cursor", "vscode")


@pytest.fixture
def person(tmp_path: Path) -> dict[str, str]:
    """The environment of someone with an empty home."""
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / ".config")}


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_dry_run_shows_the_change_and_writes_nothing(
    cli: Cli, person: dict[str, str], tmp_path: Path, harness: str
) -> None:
    home = tmp_path / "data"
    found = cli.json("connect", harness, "--dry-run", env=person | {"MUNIMENT_HOME": str(home)})
    assert (found["changed"], found["written"]) == (True, False)
    assert f"http://127.0.0.1:{cli.port}/mcp" in found["diff"]
    assert found["diff"].startswith("--- /dev/null\n+++ ")
    assert list(tmp_path.iterdir()) == []


def test_connecting_issues_a_token_once_and_the_second_run_changes_nothing(
    running: Cli, person: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / ".claude.json").write_text('{"numStartups": 7, "mcpServers": {}}\n')
    found = running.json("connect", "claude", env=person)
    assert found["written"] is True
    token = found["token"]
    text = (tmp_path / ".claude.json").read_text()
    assert token not in text
    assert "Bearer ${MUNIMENT_TOKEN_CLAUDE}" in text
    assert json.loads(text)["numStartups"] == 7
    assert Path(found["backup"]).read_text() == '{"numStartups": 7, "mcpServers": {}}\n'

    again = running.json("connect", "claude", env=person)
    assert (again["changed"], again["written"]) == (False, False)
    assert "token" not in again
    listed = running.json("token", "list")["tokens"]
    assert [t["name"] for t in listed].count("claude") == 1

    env = {"MUNIMENT_URL": found["url"], "MUNIMENT_TOKEN": token}
    assert running.json("search", "anything", env=env)["hits"] == []


def test_the_token_goes_into_the_file_only_when_asked_and_for_the_owner_alone(
    running: Cli, person: dict[str, str], tmp_path: Path
) -> None:
    words = ("connect", "cursor", "--inline-token", "--name", "editor")
    found = running.json(*words, env=person)
    file = tmp_path / ".cursor" / "mcp.json"
    assert "token" not in found
    assert file.stat().st_mode & 0o777 == 0o600
    entry = json.loads(file.read_text())["mcpServers"]["muniment"]
    assert entry["headers"]["Authorization"].startswith("Bearer mun_")
    assert running.json(*words, env=person)["changed"] is False
    moved = running.json(*words, "--url", "https://other.example", env=person)
    assert moved["written"] is True
    assert "mun_" not in moved["diff"]
    after = json.loads(file.read_text())["mcpServers"]["muniment"]
    assert after == entry | {"url": "https://other.example/mcp"}


def test_a_token_that_the_environment_holds_is_used(
    running: Cli, person: dict[str, str], tmp_path: Path
) -> None:
    before = len(running.json("token", "list")["tokens"])
    env = person | {"FLEET_TOKEN": "mun_x"}
    found = running.json("connect", "codex", "--token-env", "FLEET_TOKEN", env=env)
    assert "token" not in found
    text = (tmp_path / ".codex" / "config.toml").read_text()
    assert 'bearer_token_env_var = "FLEET_TOKEN"' in text
    assert len(running.json("token", "list")["tokens"]) == before


def test_a_project_has_its_own_file(running: Cli, person: dict[str, str], tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    found = running.json("connect", "claude", "--dir", str(project), env=person)
    assert found["file"] == str(project / ".mcp.json")
    assert not (tmp_path / ".claude.json").exists()


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_broken_file_is_left_as_it_is(running: Cli, person: dict[str, str], harness: str) -> None:
    file = Path(running.json("connect", harness, "--dry-run", env=person)["file"])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{"broken": ')
    before = len(running.json("token", "list")["tokens"])
    done = running.run("connect", harness, "--json", env=person)
    assert (done.code, done.error["code"]) == (4, "config_not_editable")
    assert "muniment" in done.error["snippet"]
    assert file.read_text() == '{"broken": '
    assert [f.name for f in file.parent.iterdir() if f.is_file()] == [file.name]
    assert len(running.json("token", "list")["tokens"]) == before


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("emacs",), "usage"),
        (("claude", "--url", "ftp://x"), "bad_url"),
        (("claude", "--token-env", "not a name"), "bad_variable"),
    ],
)
def test_bad_arguments_are_refused(
    cli: Cli, person: dict[str, str], words: tuple[str, ...], name: str
) -> None:
    done = cli.run("connect", *words, "--json", env=person)
    assert (done.code, done.error["code"]) == (2, name)
