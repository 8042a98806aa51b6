"""MCP over stdin and stdout, for a harness that starts the service as its child.

Bytes are read and written as UTF-8 whatever the platform's encoding says, each line passes the
strict JSON door before the SDK sees it, and nothing but JSON-RPC can reach stdout: while serving,
file descriptor 1 leads to stderr, so that a stray print of any library lands in the log.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Final, cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from muniment.bootstrap import Service
from muniment.domain.errors import Malformed
from muniment.domain.jsondoor import loads_strict
from muniment.surfaces.mcp.envelope import require_message
from muniment.surfaces.mcp.rejection import Rejection, malformed, request_id_of
from muniment.surfaces.mcp.server import build_server
from muniment.surfaces.mcp.tools import TOOLBOX, Toolbox
from muniment.surfaces.principal import Principal

LAST_ANSWERS_SECONDS: Final = 30.0
"""How long, after stdin has ended, the answers to what was asked before are waited for."""

_CHUNK: Final = 64 * 1024


async def run_stdio(service: Service, principal: Principal, toolbox: Toolbox = TOOLBOX) -> None:
    """Serve one client as `principal` until stdin ends and what it asked is answered."""
    server = build_server(service, lambda _: principal, toolbox)
    with _wire() as (source, sink):
        async with _streams(source, sink, service.settings.request_limit_bytes) as streams:
            await server.run(*streams, server.create_initialization_options())


@contextmanager
def _wire() -> Generator[tuple[int, int]]:
    """Yield private descriptors of stdin and stdout; meanwhile 0 is empty and 1 leads to stderr."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield source, sink
    finally:
        os.dup2(source, 0)
        os.dup2(sink, 1)
        # `source` stays open: a thread may still wait in it, and its number must not be reused.
        os.close(sink)


@dataclass(slots=True, kw_only=True)
class _Asked:
    """The requests that have no answer yet."""

    ids: set[RequestId] = field(default_factory=set[RequestId])
    none_left: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, message: JSONRPCMessage) -> None:
        """Take note of what a client or the server said."""
        match message:
            case JSONRPCRequest(id=request_id):
                self.ids.add(request_id)
            case JSONRPCNotification(method="notifications/cancelled", params={"requestId": given}):
                # What was cancelled is never answered. What is no id cancels nothing.
                if isinstance(given, str | int):
                    self.ids.discard(given)
            case JSONRPCResponse(id=request_id) | JSONRPCError(id=request_id):
                self.ids.discard(cast("RequestId", request_id))
            case _:
                return
        if self.ids:
            self.none_left.clear()
        else:
            self.none_left.set()


@asynccontextmanager
async def _streams(
    source: int, sink: int, limit: int
) -> AsyncGenerator[
    tuple[
        MemoryObjectReceiveStream[SessionMessage | Exception],
        MemoryObjectSendStream[SessionMessage],
    ]
]:
    """Yield what the SDK reads from and writes to, with a task on each side that moves bytes."""
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    lines: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=16)
    asked = _Asked()
    asked.none_left.set()
    threading.Thread(
        target=_read_lines,
        args=(source, limit, lines, asyncio.get_running_loop()),
        name="stdin",
        daemon=True,
    ).start()

    async def feed() -> None:
        async with to_server, to_client.clone() as refusals:
            while (line := await lines.get()) is not None:
                message = _parse(line, limit)
                if message is None:
                    continue
                if isinstance(message.message, JSONRPCError):
                    await refusals.send(message)
                    continue
                asked.note(message.message)
                await to_server.send(message)
            with anyio.move_on_after(LAST_ANSWERS_SECONDS):
                await asked.none_left.wait()

    async def deliver() -> None:
        async with from_server:
            async for message in from_server:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await asyncio.to_thread(_write, sink, text.encode() + b"\n")
                except OSError:
                    # The client has left without closing stdin.
                    tasks.cancel_scope.cancel()
                    return
                asked.note(message.message)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(feed)
        tasks.start_soon(deliver)
        yield from_client, to_client


def _parse(line: bytes, limit: int) -> SessionMessage | None:
    """Return the message of a line, or the refusal that answers it; None for an empty line."""
    if not line.strip():
        return None
    try:
        value = loads_strict(line, limit=limit)
        require_message(value)
    except Malformed as error:
        return _refusal(malformed(error, line))
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(value, by_name=False))
    except ValidationError:
        error = Malformed(
            "The line is not one JSON-RPC message.",
            code="not_json_rpc",
            next_step="Send one request or notification a line; there are no batches.",
        )
        return _refusal(
            Rejection(400, error, rpc_code=INVALID_REQUEST, request_id=request_id_of(line))
        )


def _refusal(no: Rejection) -> SessionMessage:
    return SessionMessage(JSONRPCError.model_validate(no.body()))


def _read_lines(
    source: int,
    limit: int,
    lines: asyncio.Queue[bytes | None],
    loop: asyncio.AbstractEventLoop,
) -> None:
    """Hand on each line, one that is too long cut just past the limit, then None. In a thread:
    stdin may be a file, which no event loop can wait for."""

    def hand_on(line: bytes | None) -> None:
        asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()

    rest = bytearray()
    try:
        while chunk := os.read(source, _CHUNK):
            *ended, last = chunk.split(b"\n")
            for part in ended:
                rest += part
                hand_on(bytes(rest[: limit + 1]))
                rest.clear()
            rest += last
            # Of a line that is too long, no more is kept than shows that it is.
            del rest[limit + 1 :]
        if rest:
            hand_on(bytes(rest))
        hand_on(None)
    except (RuntimeError, asyncio.CancelledError):
        # The loop is gone: nobody waits for the rest.
        return


def _write(sink: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(sink, view) :]
