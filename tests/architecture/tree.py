"""Owns the view of the repository that the architecture tests share: files, modules, calls.

Files are those that git tracks or would track, so that a rule holds before the commit too.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One Python file: `path` is relative to the repository, with forward slashes."""

    path: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    def under(self, *folders: str) -> bool:
        return self.path.startswith(folders)


@cache
def files() -> tuple[str, ...]:
    """Return the repository's files, relative to its root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    names = set(listed.stdout.decode().split("\0")) - {""}
    return tuple(sorted(name for name in names if (ROOT / name).is_file()))


@cache
def modules() -> tuple[Module, ...]:
    """Return every Python module of the package, the tests and the benches."""
    found: list[Module] = []
    for name in files():
        if name.endswith(".py"):
            text = (ROOT / name).read_text(encoding="utf-8")
            found.append(Module(path=name, text=text, tree=ast.parse(text, name)))
    return tuple(found)


def package() -> Iterator[Module]:
    """Yield the modules of `muniment` itself."""
    return (module for module in modules() if module.under("src/"))


def calls(module: Module) -> Iterator[tuple[str, ast.Call]]:
    """Yield each call with the last part of the name that is called: `a.b.c()` gives `c`."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Attribute(attr=name) | ast.Name(id=name):
                    yield name, node
                case _:
                    pass


def imports(module: Module) -> Iterator[tuple[str, int]]:
    """Yield each absolute import as its dotted name, `from a import b` as `a.b`, with its line."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
