"""Cursor.

Format: cursor.com/docs/mcp, read in November 2026: ~/.cursor/mcp.json or .cursor/mcp.json of the
project, `mcpServers` with `url` and `headers`; `${env:NAME}` is replaced in both. Cursor sees the
environment that it was started with.
"""

from __future__ import annotations

from pathlib import Path

from muniment.surfaces.cli.connect.entry import (
    SERVER,
    Entry,
    Harness,
    Patch,
    Place,
    Scope,
    bearer,
)
from muniment.surfaces.cli.connect.jsonc import Json


def _file(place: Place, scope: Scope) -> Path:
    base = place.project if scope is Scope.PROJECT else place.home
    return base / ".cursor" / "mcp.json"


def _patch(entry: Entry, _: Json) -> Patch:
    return Patch(
        path=("mcpServers", SERVER),
        values={"url": entry.url, "headers": bearer(entry, f"${{env:{entry.variable}}}")},
        rivals=("command", "args", "env", "envFile", "type"),
    )


CURSOR = Harness(
    name="cursor",
    title="Cursor",
    syntax="json",
    file=_file,
    patch=_patch,
    after="Start Cursor anew from a shell that has the variable, then look in Settings, MCP.",
)
