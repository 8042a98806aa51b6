"""Visual Studio Code (Copilot).

Format: code.visualstudio.com/docs/copilot/reference/mcp-configuration, approved 2026-05-20, read
in November 2026: mcp.json of the user's profile or .vscode/mcp.json, `servers` with `type`, `url`
and `headers`. An editor started from a desktop has no variables of a shell, so the token is an
`inputs` item: asked for once, kept by the editor in its secret store, never in the file.
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

INPUT = "muniment-token"


def _file(place: Place, scope: Scope) -> Path:
    if scope is Scope.PROJECT:
        return place.project / ".vscode" / "mcp.json"
    support = place.home / "Library" / "Application Support" if place.mac else place.config
    return support / "Code" / "User" / "mcp.json"


def _patch(entry: Entry, _: Json) -> Patch:
    asked: dict[str, Json] = {
        "type": "promptString",
        "id": INPUT,
        "description": "Token of muniment (muniment token create)",
        "password": True,
    }
    return Patch(
        path=("servers", SERVER),
        values={
            "type": "http",
            "url": entry.url,
            "headers": bearer(entry, f"${{input:{INPUT}}}"),
        },
        rivals=("command", "args", "env", "envFile"),
        inputs={} if entry.token else {("inputs",): asked},
    )


VSCODE = Harness(
    name="vscode",
    title="Visual Studio Code",
    syntax="json",
    file=_file,
    patch=_patch,
    after="Run `MCP: List Servers`, start muniment, and paste the token when it is asked for.",
    prompts=True,
)
