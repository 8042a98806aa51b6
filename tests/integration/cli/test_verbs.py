"""Owns the verbs beside a running service: one document each, and the exit code of each error."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.integration.cli.conftest import MUNIMENT, Cli


def _objects(hits: dict[str, Any]) -> list[str]:
    return [hit["object"]["name"] for hit in hits["hits"]]


def test_a_claim_is_found_opened_traced_and_retracted(running: Cli) -> None:
    made = running.json(
        "remember", "Apollo", "description", "A lunar lander", "--type", "Project", "--key", "k1"
    )
    assert made["results"][0]["outcome"] == "asserted"
    again = running.json(
        "remember", "Apollo", "description", "A lunar lander", "--type", "Project", "--key", "k1"
    )
    assert again == made
    assert _objects(running.json("search", "lunar", "lander")) == ["Apollo"]
    opened = running.json("open", "Apollo")
    assert opened["object"]["type"] == "Project"
    assert len(running.json("trace", "Apollo", "--limit", "1")["events"]) == 1
    running.json("remember", "Apollo", "priority", "3", "--value-json")
    versions = running.json("history", "Apollo", "priority")["versions"]
    assert [version["value"] for version in versions] == [3]
    done = running.json("retract", "Apollo", "priority", "--reason", "A test.")
    assert done["outcome"] == "retracted"
    assert {o["name"] for o in running.json("list", "--type", "Project")["objects"]} == {"Apollo"}


def test_many_claims_and_links_come_from_a_file(running: Cli, tmp_path: Path) -> None:
    batch = tmp_path / "batch.json"
    batch.write_text(
        json.dumps(
            {
                "claims": [
                    {"about": "Zeus", "type": "Service", "property": "note", "value": "one"},
                    {"about": "Hera", "type": "Service", "property": "note", "value": "two"},
                ],
                "links": [{"from": "Zeus", "link": "depends_on", "to": "Hera"}],
            }
        )
    )
    made = running.json("remember", "--file", str(batch))
    assert [result["outcome"] for result in made["results"]] == ["asserted", "asserted", "linked"]
    linked = running.json("relate", "Hera", "uses", "Zeus")
    assert linked["results"][0]["outcome"] == "linked"
    gone = running.json("retract", "Hera", "uses", "--to", "Zeus", "--reason", "A test.")
    assert gone["outcome"] == "unlinked"


def test_identity_and_lifecycle_are_reversible(running: Cli) -> None:
    for name in ("Mercury", "Hermes"):
        running.json("remember", name, "note", f"about {name}", "--type", "Concept")
    why = ("--reason", "A test.")
    assert running.json("merge", "Hermes", "Mercury", *why)["outcome"] == "merged"
    assert "Mercury" in _objects(running.json("search", "about Hermes"))
    assert running.json("unmerge", "Hermes", *why)["outcome"] == "unmerged"
    assert running.json("rename", "Hermes", "Hermes II", *why)["outcome"] == "renamed"
    assert running.json("set-status", "Hermes", "archived", *why)["outcome"] == "status_changed"
    assert "Hermes II" not in _objects(running.json("search", "about Hermes"))
    assert running.json("set-status", "Hermes", "active", *why)["outcome"] == "status_changed"


def test_redacted_content_is_gone_and_the_log_still_verifies(running: Cli) -> None:
    made = running.json("remember", "Vault", "note", "xyzzysecret", "--type", "Note")
    pos = made["results"][0]["pos"]
    done = running.json("redact", str(pos), "--reason", "A secret.")
    assert done["outcome"] == "redacted"
    assert running.json("search", "xyzzysecret")["hits"] == []
    assert running.json("verify")["ok"] is True


def test_the_log_is_verified_dumped_rebuilt_and_carried_elsewhere(
    running: Cli, tmp_path: Path
) -> None:
    running.json("remember", "Carried", "note", "over", "--type", "Note")
    first, second, archive = (tmp_path / name for name in ("first", "second", "archive"))
    found = running.json("verify", "--dump", str(first))
    assert (found["ok"], found["problems"]) == (True, [])
    head = f"{found['head']['pos']}:{found['head']['hash']}"
    running.json("rebuild")
    assert running.json("verify", "--dump", str(second), "--head", head)["ok"] is True
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_mode & 0o077 == 0

    running.json("export", str(archive))
    printed = running.run("export", "-")
    assert printed.out == archive.read_text()
    assert running.json("verify", "--head", str(archive))["ok"] is True
    taken = running.json("import", "archive", str(archive), "--workspace", "copy")
    assert (taken["outcome"], taken["workspace"]) == ("imported", "copy")
    running.json("export", str(second), "--workspace", "copy")
    assert second.read_bytes() == archive.read_bytes()

    cut = running.run("verify", "--head", f"{found['head']['pos']}:{'0' * 64}", "--json")
    assert cut.code == 1
    assert cut.document["ok"] is False


def test_tokens_are_shown_once_listed_and_revoked(running: Cli) -> None:
    made = running.json(
        "token", "create", "--role", "ingestor", "--name", "gitbot", "--source", "git:*",
        "--expires", "90d",
    )  # fmt: skip
    assert made["token"].startswith("mun_")
    listed = running.json("token", "list")
    (row,) = [t for t in listed["tokens"] if t["token_id"] == made["token_id"]]
    assert (row["name"], row["role"], row["state"]) == ("gitbot", "ingestor", "valid")
    assert made["token"] not in json.dumps(listed)
    running.json("token", "revoke", made["token_id"], "--reason", "A test.")
    listed = running.json("token", "list")
    (row,) = [t for t in listed["tokens"] if t["token_id"] == made["token_id"]]
    assert row["state"] == "revoked"


def test_types_and_workspaces_are_listed_and_added(running: Cli) -> None:
    running.json("types", "add", "Spaceship", "--description", "It flies.")
    added = [t for t in running.json("types", "list")["types"] if t["added"]]
    assert added == [{"name": "Spaceship", "description": "It flies.", "added": True}]
    made = running.json("workspace", "create", "elsewhere")
    assert made["outcome"] == "created"
    assert running.json("workspace", "create", "elsewhere")["outcome"] == "found"
    names = {w["name"] for w in running.json("workspace", "list")["workspaces"]}
    assert {"default", "elsewhere"} <= names


def test_sources_outside_are_taken_in_once(running: Cli, tmp_path: Path) -> None:
    repository = tmp_path / "engine"
    repository.mkdir()
    (repository / "README.md").write_text("# Engine\n\nIt thrusts quietly.\n")
    git = ["git", "-C", str(repository), "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Begin the engine"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    first = running.json("ingest", "git", str(repository))
    assert first["claims_asserted"] > 0
    assert running.json("ingest", "git", str(repository))["claims_asserted"] == 0
    read = running.json("ingest", "markdown", str(repository))
    assert read["claims_asserted"] > 0
    assert running.json("search", "thrusts quietly")["hits"]
    memory = tmp_path / "memory.jsonl"
    memory.write_text(
        '{"type":"entity","name":"Ada","entityType":"person","observations":["likes engines"]}\n'
    )
    assert running.json("import", "server-memory", str(memory))["claims_asserted"] > 0


def test_doctor_finds_this_installation_sound(running: Cli) -> None:
    found = running.json("doctor", env={"MUNIMENT_HOMME": "x", "MUNIMENT_TOKEN_CLAUDE": "y"})
    assert found["ok"] is True
    states = {check["name"]: check["state"] for check in found["checks"]}
    assert states["locale"] == states["log"] == states["migrations"] == "ok"
    (settings,) = [check for check in found["checks"] if check["name"] == "settings"]
    assert settings["state"] == "warn"
    assert "MUNIMENT_HOME" in settings["next_step"]


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (("open", "Nothing there"), 3, "not_found"),
        (("open", "x" * 600), 2, "too_large"),
        (("search", "x", "--limit", "0"), 2, "bad_limit"),
        (("remember", "a", "b", "c", "--type", "Projekt"), 2, "unknown_type"),
        (("relate", "Apollo", "depend_on", "Apollo"), 2, "unknown_link"),
        (("remember", "only"), 2, "usage"),
        (("remember", "a", "b", "{", "--value-json"), 2, "invalid_json"),
        (("remember", "--file", "/nowhere"), 3, "no_such_file"),
        (("search",), 2, "usage"),
        (("serch", "x"), 2, "usage"),
        (("search", "x", "--limti", "3"), 2, "usage"),
        (("token", "create", "--role", "agnet", "--name", "x"), 2, "unknown_role"),
        (("token", "create", "--role", "agent", "--name", "x", "--expires", "ever"), 2, None),
        (("token", "revoke", "x"), 2, "bad_token_id"),
        (("token", "revoke", "00000000-0000-0000-0000-000000000000"), 3, "not_found"),
        (("workspace", "create", "Not Good"), 2, "bad_workspace"),
        (("types", "add", "not pascal", "--description", "x"), 2, "bad_type_name"),
        (("verify", "--head", "x"), 2, "bad_head"),
        (("import", "archive", "/nowhere"), 3, None),
        (("ingest", "git", "/nowhere"), 3, None),
        (("set-status", "Apollo", "gone", "--reason", "x"), 2, "unknown_status"),
    ],
)
def test_each_error_is_one_document_and_its_own_exit_code(
    running: Cli, words: tuple[str, ...], code: int, name: str | None
) -> None:
    done = running.run(*words, "--json")
    assert done.code == code, done.out + done.err
    assert set(done.document) == {"error"}
    assert name is None or done.error["code"] == name
    assert done.error["next_step"]


def test_an_error_for_a_person_is_on_stderr_alone(running: Cli) -> None:
    done = running.process("open", "Nothing there")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("error: ")
    assert "[not_found]" in done.err


@pytest.mark.parametrize(
    ("env", "field"),
    [
        ({"MUNIMENT_URL": "http://127.0.0.1:1"}, "MUNIMENT_TOKEN"),
        ({"MUNIMENT_TOKEN": "mun_x"}, "MUNIMENT_URL"),
    ],
)
def test_half_a_scope_is_refused(running: Cli, env: dict[str, str], field: str) -> None:
    for verb in (("search", "x"), ("status",), ("token", "list")):
        done = running.run(*verb, "--json", env=env)
        assert (done.code, done.error["code"]) == (2, "half_scope")
        assert done.error["field"] == field


def test_a_setting_out_of_bounds_is_named(running: Cli) -> None:
    done = running.run("status", "--json", env={"MUNIMENT_PORT": "99999999"})
    assert (done.code, done.error["code"], done.error["field"]) == (
        2,
        "bad_setting",
        "MUNIMENT_PORT",
    )


def test_an_agent_speaks_to_the_service_over_mcp(running: Cli) -> None:
    made = running.json("token", "create", "--role", "agent", "--name", "remote")
    env = {"MUNIMENT_URL": f"http://127.0.0.1:{running.port}", "MUNIMENT_TOKEN": made["token"]}
    running.json("remember", "Far", "note", "seen from afar", "--type", "Note", env=env)
    found = running.json("search", "afar", env=env)
    assert found["hits"][0]["source"] == "agent:remote"
    assert running.json("open", "Far", env=env)["object"]["name"] == "Far"
    assert running.json("status", env=env)["ready"] is True
    why = ("--reason", "x", "--json")
    denied = running.run("merge", "Far", "Apollo", *why, env=env)
    assert (denied.code, denied.error["code"]) == (4, "capability_denied")
    absent = running.run("open", "Nothing there", "--json", env=env)
    assert (absent.code, absent.error["code"]) == (3, "not_found")
    for verb in (("verify",), ("token", "list"), ("rename", "Far", "x", *why[:2]), ("up",)):
        local = running.run(*verb, "--json", env=env)
        assert (local.code, local.error["code"]) == (4, "not_remote"), verb
    stranger = running.run("search", "x", "--json", env=env | {"MUNIMENT_TOKEN": "mun_nobody"})
    assert (stranger.code, stranger.error["code"]) == (4, "unauthenticated")
    nobody = running.run("search", "x", "--json", env=env | {"MUNIMENT_URL": "http://127.0.0.1:1"})
    assert (nobody.code, nobody.error["code"]) == (5, "service_unavailable")


async def test_a_harness_reaches_it_over_stdio_as_an_agent_of_its_own(running: Cli) -> None:
    server = StdioServerParameters(
        command=MUNIMENT[0],
        args=[*MUNIMENT[1:], "mcp", "--name", "desk"],
        env=running.environment(),
    )
    async with Client(server) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert "remember" in listed
        assert "merge" not in listed
        claim = {"about": "Desk", "type": "Note", "property": "note", "value": "is tidy"}
        made = await client.call_tool("remember", {"claims": [claim]})
        assert not made.is_error
    found = running.json("search", "tidy")
    assert found["hits"][0]["source"] == "agent:desk"


async def test_over_stdio_a_token_says_who_it_is(running: Cli) -> None:
    made = running.json("token", "create", "--role", "reader", "--name", "onlooker")
    server = StdioServerParameters(
        command=MUNIMENT[0],
        args=[*MUNIMENT[1:], "mcp"],
        env=running.environment({"MUNIMENT_TOKEN": made["token"]}),
    )
    async with Client(server) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
    assert listed == {"recall", "open", "trace"}


def test_help_is_instant_and_asks_no_database(cli: Cli) -> None:
    imported = subprocess.run(
        [MUNIMENT[0], "-X", "importtime", *MUNIMENT[1:], "--help"],
        env=cli.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    heavy = ("asyncpg", "sqlalchemy", "alembic", "mcp", "uvicorn", "pydantic", "arq", "redis")
    found = {line.rpartition("|")[2].strip().split(".")[0] for line in imported.stderr.splitlines()}
    assert found.isdisjoint(heavy)
