"""Codex CLI.

Format: developers.openai.com/codex/mcp, read in November 2026 (version 0.171): a table
`mcp_servers.NAME` in $CODEX_HOME/config.toml (default ~/.codex), or in .codex/config.toml of a
project that is trusted, with `url` and `bearer_token_env_var`, the name of a variable. A token
within the file is refused under `bearer_token`; a header in `http_headers` is the way for one.
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
        return place.project / ".codex" / "config.toml"
    home = place.environment.get("CODEX_HOME")
    return (Path(home) if home else place.home / ".codex") / "config.toml"


def _patch(entry: Entry, _: Json) -> Patch:
    inline: dict[str, Json] = {"http_headers": bearer(entry, "")}
    by_name: dict[str, Json] = {"bearer_token_env_var": entry.variable}
    credential = inline if entry.token else by_name
    return Patch(
        path=("mcp_servers", SERVER),
        values={"url": entry.url, **credential},
        rivals=(
            "command",
            "args",
            "env",
            "bearer_token",
            "bearer_token_env_var" if entry.token else "",
        ),
    )


CODEX = Harness(
    name="codex",
    title="Codex CLI",
    syntax="toml",
    file=_file,
    patch=_patch,
    after="Start codex anew; /mcp within it shows whether it connects.",
)
