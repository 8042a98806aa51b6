"""Claude Code.

Format: code.claude.com/docs/en/mcp, read in November 2026 (version 2.1.332): entries of the user
are in .claude.json of $CLAUDE_CONFIG_DIR (default ~), those of a project in .mcp.json, both under
`mcpServers`; `${NAME}` is replaced by an environment variable in `url` and `headers`. A server of a
project waits for approval.
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
    if scope is Scope.PROJECT:
        return place.project / ".mcp.json"
    moved = place.environment.get("CLAUDE_CONFIG_DIR")
    return (Path(moved) if moved else place.home) / ".claude.json"


def _patch(entry: Entry, _: Json) -> Patch:
    return Patch(
        path=("mcpServers", SERVER),
        values={
            "type": "http",
            "url": entry.url,
            "headers": bearer(entry, f"${{{entry.variable}}}"),
        },
        rivals=("command", "args", "env"),
    )


CLAUDE = Harness(
    name="claude",
    title="Claude Code",
    syntax="json",
    file=_file,
    patch=_patch,
    after="Start claude anew; `claude mcp list` shows whether it connects.",
)
