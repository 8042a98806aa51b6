"""OpenCode.

Format: opencode.ai/v1/docs/mcp-servers and opencode.ai/docs/mcp-servers (version 2), read in
November 2026: opencode.json or opencode.jsonc in ~/.config/opencode or in the project. Version 1
names servers directly under `mcp` and has `enabled`; version 2 names them under `mcp.servers` and
has `disabled`, and still reads the form of version 1 (opencode.ai/docs/migrate-v1). So the form
of version 1 is written unless the file already has the other. `oauth: false`, since a remote
server would be asked for OAuth by default and ours takes a token; `{env:NAME}` is replaced.
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
    base = place.project if scope is Scope.PROJECT else place.config / "opencode"
    commented = base / "opencode.jsonc"
    return commented if commented.exists() else base / "opencode.json"


def _patch(entry: Entry, found: Json) -> Patch:
    servers = found.get("mcp") if isinstance(found, dict) else None
    second = isinstance(servers, dict) and _is_folder(servers.get("servers"))
    state: dict[str, Json] = {"disabled": False} if second else {"enabled": True}
    return Patch(
        path=("mcp", "servers", SERVER) if second else ("mcp", SERVER),
        values={
            "type": "remote",
            "url": entry.url,
            "oauth": False,
            "headers": bearer(entry, f"{{env:{entry.variable}}}"),
            **state,
        },
        rivals=("command", "environment", "enabled" if second else "disabled"),
    )


def _is_folder(servers: Json) -> bool:
    """Say whether this holds servers, and is not a server that somebody called `servers`."""
    return isinstance(servers, dict) and not isinstance(servers.get("type"), str)


OPENCODE = Harness(
    name="opencode",
    title="OpenCode",
    syntax="json",
    file=_file,
    patch=_patch,
    after="Start opencode anew; `opencode mcp list` shows whether it connects.",
)
