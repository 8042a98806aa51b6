"""Owns the agreement of README and ARCHITECTURE with the code: names, paths, examples."""

from __future__ import annotations

import ast
import re

import pytest

from muniment.surfaces.mcp.schemas import TOOLS
from tests.architecture.command_line import commands, resolve
from tests.architecture.tree import ROOT, files, modules

DOCUMENTS = ("README.md", "ARCHITECTURE.md")
FOLDERS = ("src", "tests", "scripts", "bench", "requirements", "helpers", ".ci")


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _code(text: str) -> list[str]:
    """Return what a document marks as code within a sentence or a table."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.M))


def _examples(text: str) -> list[str]:
    """Return the lines of fenced blocks that call muniment, continued lines joined."""
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    joined = "\n".join(blocks).replace("\\\n", " ")
    return re.findall(r"^(?:\$ )?(?:\.venv/bin/)?(muniment(?: .*)?)$", joined, re.MULTILINE)


def test_readme_names_every_command() -> None:
    text = _text("README.md")
    assert [name for name in commands() if f"muniment {name}" not in text] == []


def test_readme_names_every_tool() -> None:
    named = set(_code(_text("README.md")))
    assert [name for name in TOOLS if name not in named] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_examples_call_commands_that_exist(document: str) -> None:
    assert [wrong for line in _examples(_text(document)) if (wrong := resolve(line))] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_that_a_document_names_exist(document: str) -> None:
    known = set(files())
    named = {
        word.split("::")[0].rstrip("/")
        for word in _code(_text(document))
        if re.fullmatch(rf"(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./-]+(?:::\w+)?", word)
    }
    assert sorted(p for p in named if p not in known and not (ROOT / p).is_dir()) == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_tests_that_a_document_names_exist(document: str) -> None:
    functions = {
        node.name
        for module in modules()
        if module.under("tests/")
        for node in ast.walk(module.tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }
    named = set(re.findall(r"(?<![\w/])(test_\w+)\b(?!\.py)", " ".join(_code(_text(document)))))
    assert sorted(named - functions) == []


@pytest.mark.parametrize("number", range(1, 13))
def test_each_promise_names_its_tests(number: int) -> None:
    (row,) = re.findall(rf"^\| P{number} \|.*$", _text("ARCHITECTURE.md"), re.MULTILINE)
    held_by = row.rstrip(" |").rpartition(" | ")[2]
    assert re.search(r"`test_\w+`", held_by) or held_by.startswith("not yet"), row


def test_changelog_knows_the_version() -> None:
    (version,) = re.findall(r'__version__ = "(.+)"', _text("src/muniment/__init__.py"))
    assert f"\n## {version}" in _text("CHANGELOG.md")
