"""Owns a process that serves one principal over stdio, for the tests to talk to."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from pathlib import Path

from muniment.actions import Actions
from muniment.bootstrap import Service
from muniment.config import Settings
from muniment.reads import Reads
from muniment.store.database import Database
from muniment.store.workspaces import ensure_workspace
from muniment.surfaces.mcp.stdio import run_stdio
from muniment.surfaces.principal import principal_from_token


async def main() -> None:
    """Serve until stdin ends; a stray print must not reach the client."""
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
    await run_stdio(service, principal)
    await service.actions.close()
    await database.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.DEBUG)
    asyncio.run(main())
