"""Owns the view of the command line that the document tests share: its tree, read from typer."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

import typer
from typer.core import TyperGroup
from typer.main import get_command

import muniment.surfaces.cli as surface


@cache
def commands() -> dict[str, frozenset[str]]:
    """Return each command that a person may type, `token create`, with its option names."""
    return dict(_commands(get_command(_root()), ()))


def resolve(line: str) -> str | None:
    """Say what is wrong with a line that calls muniment, or nothing."""
    words = shlex.split(line, comments=True)[1:]
    plain = [word for word in words if not word.startswith("-")]
    name = next((" ".join(plain[:n]) for n in (2, 1) if " ".join(plain[:n]) in commands()), None)
    if name is None:
        return None if words in ([], ["--help"]) else f"no such command: {line}"
    known = commands()[name] | {"--help"}
    unknown = [w for w in words if w.startswith("--") and w.partition("=")[0] not in known]
    return f"{line}: no such option {unknown}" if unknown else None


def _root() -> typer.Typer:
    """Find the one application that no other holds, wherever the surface keeps it."""
    names = [surface.__name__]
    names += [found.name for found in walk_packages(surface.__path__, f"{surface.__name__}.")]
    apps = {
        id(value): value
        for name in names
        for value in vars(import_module(name)).values()
        if isinstance(value, typer.Typer)
    }
    held = {id(group.typer_instance) for app in apps.values() for group in app.registered_groups}
    (root,) = (app for key, app in apps.items() if key not in held)
    return root


def _commands(command: object, path: tuple[str, ...]) -> Iterator[tuple[str, frozenset[str]]]:
    if isinstance(command, TyperGroup):
        for name, child in command.commands.items():
            if not child.hidden:
                yield from _commands(child, (*path, name))
    elif path:
        parameters = getattr(command, "params", ())
        yield " ".join(path), frozenset(o for p in parameters for o in (*p.opts, *p.secondary_opts))
