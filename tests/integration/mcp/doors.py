"""Owns the ways in that the tests of MCP share: in memory, over HTTP, over stdio, in both eras."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx2
import uvicorn
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from muniment.bootstrap import Service
from muniment.surfaces.mcp.http import create_app
from muniment.surfaces.mcp.server import build_server
from muniment.surfaces.mcp.tools import TOOLBOX, Toolbox
from muniment.surfaces.principal import principal_from_token

DOORS = ("memory", "http", "stdio")
ERAS: tuple[Literal["auto", "legacy"], ...] = ("auto", "legacy")
LEGACY = "2025-11-25"

STDIO_PEER = Path(__file__).with_name("stdio_peer.py")
PYTHON = (sys.executable, str(STDIO_PEER))


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A way in: `door` and `era`, to be connected as whom a token names."""

    service: Service
    door: str
    era: Literal["auto", "legacy"]

    @asynccontextmanager
    async def connect(self, token: str) -> AsyncGenerator[Client]:
        """Yield the SDK's own client, connected."""
        match self.door:
            case "memory":
                principal = await principal_from_token(self.service.database, token)
                async with Client(
                    build_server(self.service, lambda _: principal), mode=self.era
                ) as client:
                    yield client
            case "http":
                async with (
                    serving(self.service) as url,
                    http_client(url, token, self.era) as client,
                ):
                    yield client
            case _:
                parameters = StdioServerParameters(
                    command=PYTHON[0],
                    args=[*PYTHON[1:]],
                    env=stdio_environment(self.service, token),
                )
                async with Client(parameters, mode=self.era) as client:
                    yield client


@asynccontextmanager
async def http_client(
    url: str, token: str, era: Literal["auto", "legacy"] = "auto"
) -> AsyncGenerator[Client]:
    """Yield the SDK's own client, connected over HTTP with a bearer token."""
    async with (
        httpx2.AsyncClient(headers=bearer(token), timeout=30) as transport,
        Client(streamable_http_client(url, http_client=transport), mode=era) as client,
    ):
        yield client


@asynccontextmanager
async def serving(
    service: Service, toolbox: Toolbox = TOOLBOX, *, port: int = 0
) -> AsyncGenerator[str]:
    """Serve the product's application on loopback and yield the address of MCP."""
    with _listening(port) as listener:
        config = uvicorn.Config(
            create_app(service, toolbox), log_config=None, timeout_graceful_shutdown=5
        )
        server = _Server(config)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await asyncio.wait_for(server.ready.wait(), 30)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            await running


class _Server(uvicorn.Server):
    """uvicorn that says when it is ready and leaves signals alone."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@contextmanager
def _listening(port: int) -> Generator[socket.socket]:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        yield listener


def bearer(token: str) -> dict[str, str]:
    """Return the header that a token travels in."""
    return {"Authorization": f"Bearer {token}"}


def stdio_environment(service: Service, token: str) -> dict[str, str]:
    """Return what `stdio_peer.py` reads: the database and the token."""
    return {
        "PATH": os.environ["PATH"],
        "MUNIMENT_PEER_DSN": service.database.dsn,
        "MUNIMENT_PEER_TOKEN": token,
    }


def request(method: str, params: dict[str, Any] | None = None, *, id_: int = 1) -> dict[str, Any]:
    """Return a JSON-RPC request of the handshake era."""
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}}


def call(tool: str, arguments: dict[str, Any], *, id_: int = 1) -> dict[str, Any]:
    """Return a `tools/call` of the handshake era."""
    return request("tools/call", {"name": tool, "arguments": arguments}, id_=id_)
