"""Owns the service that is measured: the product's application, and one tool that does nothing.

Run by `bench.mcp` as a process of its own; prints the port that it serves on.
"""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from pathlib import Path
from typing import Final

import uvicorn

from muniment.actions import Actions
from muniment.bootstrap import Service
from muniment.config import Settings
from muniment.domain.identity import Role
from muniment.reads import Reads
from muniment.store.database import Database
from muniment.store.workspaces import ensure_workspace
from muniment.surfaces.mcp.http import create_app
from muniment.surfaces.mcp.schemas import Schema, Tool
from muniment.surfaces.mcp.tools import TOOLBOX, Answer, Raw, Toolbox
from muniment.surfaces.principal import Principal

NOTHING: Final = "nothing"
_NO_ARGUMENTS: Final[Schema] = {
    "type": "object",
    "properties": {},
    "required": [],
    "additionalProperties": False,
}


async def _nothing(_: Service, __: Principal, ___: Raw) -> Answer:
    return {"outcome": "nothing"}


TOOLS: Final = Toolbox(
    tools={
        **TOOLBOX.tools,
        NOTHING: Tool(
            name=NOTHING, description="Do nothing.", schema=_NO_ARGUMENTS, reads_only=True
        ),
    },
    handlers={**TOOLBOX.handlers, NOTHING: _nothing},
    roles={**TOOLBOX.roles, Role.AGENT: (*TOOLBOX.roles[Role.AGENT], NOTHING)},
)


async def main() -> None:
    """Serve until the process is ended."""
    database = await Database.connect(os.environ["MUNIMENT_DATABASE_URL"])
    service = Service(
        settings=Settings(home=Path(tempfile.gettempdir()), rate_limit_per_minute=10**9),
        database=database,
        actions=Actions(database),
        reads=Reads(database),
        workspace=await ensure_workspace(database, "default"),
    )
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1024)
        print(listener.getsockname()[1], flush=True)
        config = uvicorn.Config(create_app(service, TOOLS), log_config=None, access_log=False)
        await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
