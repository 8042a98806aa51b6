"""Gemini CLI.

Format: docs/tools/mcp-server.md and docs/reference/configuration.md of google-gemini/gemini-cli,
read in November 2026 (version 0.61): ~/.gemini/settings.json or .gemini/settings.json of the
project, `mcpServers` with `httpUrl` for streamable HTTP (`url` alone means SSE) and `headers`;
`${NAME}` is replaced in every text of the file.
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
    return base / ".gemini" / "settings.json"


def _patch(entry: Entry, _: Json) -> Patch:
    return Patch(
        path=("mcpServers", SERVER),
        values={"httpUrl": entry.url, "headers": bearer(entry, f"${{{entry.variable}}}")},
        rivals=("command", "args", "env", "url", "type", "tcp"),
    )


GEMINI = Harness(
    name="gemini",
    title="Gemini CLI",
    syntax="json",
    file=_file,
    patch=_patch,
    after="Start gemini anew; `gemini mcp list` shows whether it connects.",
)
