"""Owns a process that serves one principal over stdio, for the tests to talk to."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Final

from muniment.actions import Actions
from muniment.bootstrap import Service
from muniment.config import Settings
from muniment.reads import Reads
from muniment.store.database import Database
from muniment.store.workspaces import ensure_workspace
from muniment.surfaces.mcp.schemas import Schema, Tool
from muniment.surfaces.mcp.stdio import run_stdio
from muniment.surfaces.mcp.tools import TOOLBOX, Answer, Raw, Toolbox
from muniment.surfaces.principal import Principal, principal_from_token

NOTHING: Final[Schema] = {"type": "object", "properties": {}, "additionalProperties": False}


async def shout(_: Service, __: Principal, ___: Raw) -> Answer:
    """Do what a careless library would: write to stdout, by Python and by the descriptor."""
    sys.stdout.write("printed\n")
    sys.stdout.flush()
    os.write(1, b"written\n")
    await asyncio.create_subprocess_exec("echo", "echoed")
    return {"shouted": True}


NOISY = Toolbox(
    tools={
        **TOOLBOX.tools,
        "shout": Tool(name="shout", description="Shout.", schema=NOTHING, reads_only=True),
    },
    handlers={**TOOLBOX.handlers, "shout": shout},
    roles={role: (*names, "shout") for role, names in TOOLBOX.roles.items()},
)


async def main() -> None:
    """Serve until stdin ends."""
    database = await Database.connect(os.environ.pop("MUNIMENT_PEER_DSN"), writers=2, readers=2)
    token = os.environ.pop("MUNIMENT_PEER_TOKEN")
    service = Service(
        settings=Settings(home=Path(tempfile.gettempdir())),
        database=database,
        actions=Actions(database),
        reads=Reads(database),
        workspace=await ensure_workspace(database, "default"),
    )
    principal = await principal_from_token(database, token)
    noisy = os.environ.pop("MUNIMENT_PEER_NOISY", None)
    await run_stdio(service, principal, NOISY if noisy else TOOLBOX)
    await service.actions.close()
    await database.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.DEBUG)
    asyncio.run(main())
