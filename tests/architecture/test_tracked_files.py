"""Owns the rules on the repository's files: no foreign address, no machine's path, sound scripts.

The words that are looked for are put together here, so that this file may be searched too.
"""

from __future__ import annotations

import os
import re
import subprocess
import tomllib

import pytest

from tests.architecture.tree import ROOT, files

REGISTRIES = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("crates", "io"),
        ("proxy", "golang", "org"),
        ("deb", "debian", "org"),
        ("archive", "ubuntu", "com"),
    )
)

# Folders of a person's or a builder's machine. Paths that any Linux has are no one's.
MACHINE_PATH = re.compile(r"(?<![\w.$}/~-])/(?:root|work|Users/\w+|home/\w+|opt/pypi)(?:/|\b)")

LOCKS = ("requirements/dev.lock", "requirements/run.lock")
SCRIPTS = ("setup", "up", "test", "check", "bench")


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize("host", REGISTRIES)
def test_no_file_names_a_registry(host: str) -> None:
    assert [name for name in files() if host in _text(name)] == []


def test_no_file_names_a_folder_of_one_machine() -> None:
    assert [
        f"{name}: {found.group()}"
        for name in files()
        for found in MACHINE_PATH.finditer(_text(name))
    ] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_carries_hashes_and_no_address(lock: str) -> None:
    text = _text(lock)
    assert re.findall(r"https?://|^-|--(?:extra-)?index-url", text, re.MULTILINE) == []
    assert [
        block.partition("\n")[0]
        for block in re.split(r"\n(?=[a-z0-9])", text)
        if "==" in block and "--hash=sha256:" not in block
    ] == []


def test_run_lock_is_a_part_of_the_development_lock() -> None:
    development, run = (
        set(re.findall(r"^[a-z0-9].*==\S+", _text(lock), re.MULTILINE)) for lock in LOCKS
    )
    assert run - development == set()


def test_locks_hold_every_declared_dependency() -> None:
    project = tomllib.loads(_text("pyproject.toml"))
    development, run = (
        set(re.findall(r"^([a-z0-9-]+)(?:\[|==)", _text(lock), re.MULTILINE)) for lock in LOCKS
    )
    groups = project["dependency-groups"]
    assert _names(project["project"]["dependencies"]) | _names(groups["build"]) <= run
    assert _names(groups["dev"]) <= development


def _names(requirements: list[object]) -> set[str]:
    return {
        re.split(r"[\[<>=~! ]", requirement)[0].lower()
        for requirement in requirements
        if isinstance(requirement, str)
    }


@pytest.mark.parametrize("path", [*(f"scripts/{name}" for name in SCRIPTS), ".ci/run"])
def test_script_can_be_run_and_stops_at_the_first_error(path: str) -> None:
    assert os.access(ROOT / path, os.X_OK)
    assert "\nset -euo pipefail\n" in _text(path)
    subprocess.run(["bash", "-n", path], cwd=ROOT, check=True)


def test_licence_is_apache() -> None:
    assert "Apache License" in _text("LICENSE")
    assert "Version 2.0, January 2004" in _text("LICENSE")
