"""Reads a request's body within a size and a time, and hands it on as if it had not been read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from starlette.types import Message, Receive

from muniment.surfaces.mcp import rejection

BODY_SECONDS: Final = 30.0
DRAINED_BYTES: Final = 16 * 1024 * 1024
"""How much of a body that is too large is read and thrown away, so that a client which writes
before it reads gets to see the refusal."""


class Disconnected(Exception):
    """The client left before its body was here."""


async def read_body(headers: Mapping[str, str], receive: Receive, limit: int) -> bytes:
    """Return the whole body, at most `limit` bytes.

    Raises:
        Rejection: over the limit, or not here within `BODY_SECONDS`.
        Disconnected: the client left.
    """
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _read(headers, receive, limit)
    except TimeoutError:
        raise rejection.too_slow(BODY_SECONDS) from None


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body once and what comes after it then."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return pending.pop() if pending else await receive()

    return again


async def _read(headers: Mapping[str, str], receive: Receive, limit: int) -> bytes:
    declared = headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        # A client that waits for leave to send has sent nothing that would need to be read.
        if "expect" not in headers and int(declared) <= DRAINED_BYTES:
            await _drain(receive, 0)
        raise rejection.too_large(limit)
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        part, more = await _next(receive)
        size += len(part)
        if size > limit:
            if more:
                await _drain(receive, size)
            raise rejection.too_large(limit)
        parts.append(part)
    return b"".join(parts)


async def _drain(receive: Receive, size: int) -> None:
    more = True
    while more and size <= DRAINED_BYTES:
        part, more = await _next(receive)
        size += len(part)


async def _next(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] != "http.request":
        raise Disconnected
    return message.get("body", b""), message.get("more_body", False)
