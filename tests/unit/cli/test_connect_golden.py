"""Owns what `connect` writes for each harness: the entry, and everything else as it was."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from muniment.domain.errors import Conflict, Refused
from muniment.surfaces.cli.connect import edit, files
from muniment.surfaces.cli.connect.entry import Entry, Place, Scope
from muniment.surfaces.cli.connect.harnesses import HARNESSES

URL = "http://127.0.0.1:8790/mcp"
ENTRY = Entry(url=URL, variable="MUNIMENT_TOKEN_X")

FRESH: dict[str, Any] = {
    "claude": {
        "mcpServers": {
            "muniment": {
                "type": "http",
                "url": URL,
                "headers": {"Authorization": "Bearer ${MUNIMENT_TOKEN_X}"},
            }
        }
    },
    "codex": {
        "mcp_servers": {"muniment": {"url": URL, "bearer_token_env_var": "MUNIMENT_TOKEN_X"}}
    },
    "opencode": {
        "mcp": {
            "muniment": {
                "type": "remote",
                "url": URL,
                "oauth": False,
                "headers": {"Authorization": "Bearer {env:MUNIMENT_TOKEN_X}"},
                "enabled": True,
            }
        }
    },
    "gemini": {
        "mcpServers": {
            "muniment": {
                "httpUrl": URL,
                "headers": {"Authorization": "Bearer ${MUNIMENT_TOKEN_X}"},
            }
        }
    },
    "cursor": {
        "mcpServers": {
            "muniment": {
                "url": URL,
                "headers": {"Authorization": "Bearer ${env:MUNIMENT_TOKEN_X}"},
            }
        }
    },
    "vscode": {
        "inputs": [
            {
                "type": "promptString",
                "id": "muniment-token",
                "description": "Token of muniment (muniment token create)",
                "password": True,
            }
        ],
        "servers": {
            "muniment": {
                "type": "http",
                "url": URL,
                "headers": {"Authorization": "Bearer ${input:muniment-token}"},
            }
        },
    },
}

JSON_FILE = """\
// What I like.
{
\t"theme": "dark", // always
\t/* servers */
\t"mcpServers": {
\t\t"other": {"command": "x", "args": ["a", "b"]}, // mine
\t},
\t"mcp": {"other": {"type": "local", "command": ["x"]}},
\t"servers": {},
\t"last": [1, 2.50, -0.0, 1e400, "\\u00e9 é"]
}
"""
TOML_FILE = """\
# What I like.
model = "o9"   # the big one

[mcp_servers.other]
command = "x"
args = ["a", 'b']

[[profiles]]
name = "a"
"""


def _apply(name: str, text: str, entry: Entry = ENTRY) -> str:
    harness = HARNESSES[name]
    return edit.apply(text, harness.syntax, harness.patch(entry, edit.read(text, harness.syntax)))


def _full(name: str) -> str:
    return JSON_FILE if HARNESSES[name].syntax == "json" else TOML_FILE


@pytest.mark.parametrize("name", HARNESSES)
def test_entry_in_a_new_file_is_what_the_harness_documents(name: str) -> None:
    text = _apply(name, "")
    read = json.loads if HARNESSES[name].syntax == "json" else tomllib.loads
    assert read(text) == FRESH[name]
    assert text.endswith("\n")


@pytest.mark.parametrize("name", HARNESSES)
def test_each_line_that_was_there_stays_as_it_was(name: str) -> None:
    before = _full(name)
    after = _apply(name, before)
    kept = [line.rstrip(",") for line in before.splitlines()]
    found = [line.rstrip(",") for line in after.splitlines()]
    missing = [line for line in kept if line not in found]
    # A container that was written in one line is added to within that line.
    assert [line for line in missing if not line.lstrip().startswith(('"mcp"', '"servers"'))] == []
    assert edit.read(after, HARNESSES[name].syntax) != edit.read(before, HARNESSES[name].syntax)


@pytest.mark.parametrize("name", HARNESSES)
def test_second_run_changes_nothing(name: str) -> None:
    for text in ("", _full(name)):
        once = _apply(name, text)
        assert _apply(name, once) == once


@pytest.mark.parametrize("name", HARNESSES)
def test_another_address_replaces_the_old_one_and_keeps_the_rest_of_the_entry(name: str) -> None:
    moved = Entry(url="https://memory.example/mcp", variable="OTHER")
    once = _apply(name, _full(name))
    key = "url = " if name == "codex" else '"httpUrl": ' if name == "gemini" else '"url": '
    extra = "startup_timeout_sec = 9\n" if name == "codex" else '"timeout": 9, '
    with_extra = once.replace(f'{key}"{URL}"', f'{extra}{key}"{URL}"')
    twice = _apply(name, with_extra, moved)
    assert "https://memory.example/mcp" in twice
    assert URL not in twice
    assert extra.strip(" ,\n") in twice


@pytest.mark.parametrize("name", HARNESSES)
def test_a_server_of_another_kind_gives_way(name: str) -> None:
    harness = HARNESSES[name]
    path = harness.patch(ENTRY, {}).path
    old: dict[str, Any] = {"command": "old", "timeout": 7}
    if harness.syntax == "toml":
        text = f'[{".".join(path)}]\ncommand = "old"\ntimeout = 7\n'
    else:
        for key in reversed(path):
            old = {key: old}
        text = json.dumps(old)
    entry: Any = edit.read(_apply(name, text), harness.syntax)
    for key in path:
        entry = entry[key]
    assert "command" not in entry
    assert entry["timeout"] == 7
    assert URL in entry.values()


def test_a_comment_that_would_be_lost_is_not_lost() -> None:
    text = '{"mcpServers": {"muniment": {"command": "x" /* why */}}}'
    with pytest.raises(edit.NotEditable, match="comments"):
        _apply("claude", text)


def test_toml_comments_in_our_own_table_stay() -> None:
    text = '[mcp_servers.muniment]\n# mine\nurl = "http://old"  # here\n'
    after = _apply("codex", text)
    assert "# mine" in after
    assert "# here" in after
    assert URL in after


def test_an_inline_toml_table_is_refused_when_nothing_can_be_added() -> None:
    with pytest.raises(edit.NotEditable):
        _apply("codex", "mcp_servers = { other = { command = 'x' } }\n")


def test_opencode_second_form_is_kept() -> None:
    text = '{"mcp": {"servers": {"other": {"type": "local", "command": ["x"]}}}}'
    found: Any = edit.read(_apply("opencode", text), "json")
    assert "muniment" not in found["mcp"]
    entry = found["mcp"]["servers"]["muniment"]
    assert entry["disabled"] is False
    assert "enabled" not in entry


def test_windows_line_ends_and_a_byte_order_mark_stay() -> None:
    text = '\ufeff{\r\n    "a": 1\r\n}\r\n'
    after = _apply("vscode", text)
    assert after.startswith('\ufeff{\r\n    "a": 1,\r\n    "')
    assert "\n" not in after.replace("\r\n", "")


@pytest.mark.parametrize("name", HARNESSES)
@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1',
        "{'a': 1}",
        "[1",
        '{"a": 1} {"b": 2}',
        '{"mcpServers": 3, "mcp": 3, "servers": 3}',
        '{"a": 1, "a": 2}',
        "= = =",
        'mcp_servers = 3\n[x]\ny = "',
    ],
)
def test_a_broken_file_is_refused_with_the_text_to_paste(name: str, text: str) -> None:
    harness = HARNESSES[name]
    with pytest.raises(edit.NotEditable) as raised:
        _apply(name, text)
    refused = edit.refuse("FILE", str(raised.value), harness.syntax, harness.patch(ENTRY, {}))
    assert refused.code == "config_not_editable"
    assert URL in str(refused.details["snippet"])


@pytest.mark.parametrize("name", HARNESSES)
def test_a_token_in_the_file_replaces_the_reference(name: str) -> None:
    token = "mun_" + "a" * 43
    text = _apply(name, "", Entry(url=URL, variable="V", token=token))
    assert f"Bearer {token}" in text
    assert "${" not in text
    assert "promptString" not in text


@pytest.mark.parametrize(
    ("name", "scope", "expected"),
    [
        ("claude", Scope.USER, "home/.claude.json"),
        ("claude", Scope.PROJECT, "work/.mcp.json"),
        ("codex", Scope.USER, "home/.codex/config.toml"),
        ("codex", Scope.PROJECT, "work/.codex/config.toml"),
        ("opencode", Scope.USER, "conf/opencode/opencode.json"),
        ("opencode", Scope.PROJECT, "work/opencode.json"),
        ("gemini", Scope.USER, "home/.gemini/settings.json"),
        ("gemini", Scope.PROJECT, "work/.gemini/settings.json"),
        ("cursor", Scope.USER, "home/.cursor/mcp.json"),
        ("cursor", Scope.PROJECT, "work/.cursor/mcp.json"),
        ("vscode", Scope.USER, "conf/Code/User/mcp.json"),
        ("vscode", Scope.PROJECT, "work/.vscode/mcp.json"),
    ],
)
def test_each_scope_has_the_file_that_the_harness_reads(
    tmp_path: Path, name: str, scope: Scope, expected: str
) -> None:
    place = Place(
        home=tmp_path / "home",
        config=tmp_path / "conf",
        project=tmp_path / "work",
        mac=False,
        environment={},
    )
    assert HARNESSES[name].file(place, scope) == tmp_path / expected


def test_a_file_is_replaced_whole_and_its_former_text_kept(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text("old")
    real.chmod(0o644)
    link = tmp_path / "link.json"
    link.symlink_to(real)
    kept = files.replace(link, "old", "new", secret=False)
    assert link.is_symlink()
    assert (real.read_text(), real.stat().st_mode & 0o777) == ("new", 0o644)
    assert kept is not None
    assert (kept.read_text(), kept.stat().st_mode & 0o777) == ("old", 0o600)
    files.replace(link, "new", "secret", secret=True)
    assert real.stat().st_mode & 0o777 == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "link.json",
        "real.json",
        "real.json.before-muniment",
    ]


def test_a_new_file_of_a_user_is_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    files.replace(path, "", "new", secret=False, personal=True)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    files.replace(path, "new", "newer", secret=False, personal=True)
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("theirs")
    with pytest.raises(Conflict):
        files.replace(path, "ours", "new", secret=False)
    assert path.read_text() == "theirs"


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for name in ("bytes", "."):
        with pytest.raises(Refused):
            files.load(tmp_path / name)
