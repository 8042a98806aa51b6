"""Owns the promise that the README's examples run, as a person would paste them, in their order.

A block of shell that stands below the mark `<!-- runs -->` is run, in a folder that holds what the
examples speak of.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.integration.cli.conftest import Cli

MEMORY = """\
{"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Likes tea"]}
{"type": "entity", "name": "ledger", "entityType": "service", "observations": []}
{"type": "relation", "from": "Ada", "to": "ledger", "relationType": "works_on"}
"""
VERBS = ["ingest git", "ingest markdown", "import server-memory"]
GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com")


def _examples() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"<!-- runs -->\n```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def _folder(path: Path) -> Path:
    """Make a repository with a document, and a memory file."""
    (path / "README.md").write_text("# Checkout\n\nTakes the money.\n\n## Owner\n\nPayments.\n")
    (path / "memory.jsonl").write_text(MEMORY)
    for words in (("init", "--quiet"), ("add", "README.md"), ("commit", "--quiet", "-m", "Begin")):
        subprocess.run([*GIT, *words], cwd=path, check=True)
    return path


def _run(cli: Cli, block: str, folder: Path) -> str:
    """Run a block and return what it wrote; in this process, when it holds our commands alone."""
    lines = block.replace("\\\n", " ").splitlines()
    if all(line.startswith("muniment ") for line in lines):
        return "".join(_command(cli, line) for line in lines)
    environment = cli.environment()
    # The commands of this environment first, as after `source .venv/bin/activate`.
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.replace(":8790/", f":{cli.port}/")],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
    return done.stdout


def _command(cli: Cli, line: str) -> str:
    done = cli.run(*shlex.split(line, comments=True)[1:])
    assert done.code == 0, f"{line}\n{done.out}{done.err}"
    return done.out


def test_examples_of_the_readme_run_in_their_order(
    running: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shutil.which("curl"), "the examples speak HTTP through curl"
    folder = _folder(tmp_path)
    monkeypatch.chdir(folder)
    fill, ask, call, back_up = (_run(running, block, folder) for block in _examples())
    assert re.findall(r"^verb: (.+)$", fill, re.MULTILINE) == VERBS
    assert "payments team" in ask
    remembered, recalled = re.findall(r'"structuredContent":(\{.*?\})\}\}(?=\{|\s*\Z)', call)
    result = json.loads(remembered)["results"][0]
    assert result["outcome"] == "asserted"
    assert [other["source"] for other in result["disagrees"]] == ["operator"]
    assert "shop team" in recalled
    assert "ok: yes" in back_up
    assert (folder / "projections.jsonl").stat().st_size > 0
