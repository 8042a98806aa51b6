"""What an entry says, and what each harness must tell about itself.

A harness is a value: where its file is, and how the entry looks there. How a file is edited is
decided by its syntax (`edit.py`), not by the harness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

from muniment.surfaces.cli.connect.jsonc import Json

SERVER = "muniment"
"""What the entry is called. Harnesses put it before the name of each tool, so it stays short."""


class Scope(StrEnum):
    """Where an entry holds."""

    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One connection.

    url: of the MCP endpoint. variable: the environment variable that holds the token.
    token: the token itself, for a harness that shall not read the environment; else None.
    """

    url: str
    variable: str
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the path of a configuration depends on: the user's folders and the project's.

    config: $XDG_CONFIG_HOME or what stands for it. mac: whether this is macOS.
    environment: variables by which some harnesses move their files.
    """

    home: Path
    config: Path
    project: Path
    mac: bool
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """What must hold in the file.

    path: where the entry is. values: what it must say; other keys in it are kept.
    rivals: keys that would contradict it, such as the command of a server of another kind.
    inputs: items that an array must hold, by their `id`: {path: item}.
    """

    path: tuple[str, ...]
    values: dict[str, Json]
    rivals: tuple[str, ...] = ()
    inputs: dict[tuple[str, ...], dict[str, Json]] = field(
        default_factory=dict[tuple[str, ...], dict[str, Json]]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """One agent harness.

    name: what is typed. title: what it calls itself. syntax: of its file.
    file: where the file is. patch: the entry, given what the file says now (None: nothing yet).
    prompts: it asks for the token itself instead of reading a variable.
    after: what to do once the file is written.
    """

    name: str
    title: str
    syntax: Literal["json", "toml"]
    file: Callable[[Place, Scope], Path]
    patch: Callable[[Entry, Json], Patch]
    after: str
    prompts: bool = False


def bearer(entry: Entry, reference: str) -> dict[str, Json]:
    """Return the header that carries the token, or the harness's own reference to it."""
    return {"Authorization": f"Bearer {entry.token or reference}"}
