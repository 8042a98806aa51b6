"""The stdio door: nothing but JSON-RPC leaves it, and any bytes may come in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from muniment.bootstrap import Service
from tests.integration.mcp.conftest import MakeToken
from tests.integration.mcp.doors import LEGACY, PYTHON, call, request, stdio_environment

HELLO = request(
    "initialize",
    {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
    id_=0,
)


class Peer:
    """A process that serves over stdio; what it writes is kept to be looked at whole."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[bytes] = []

    async def send(self, message: bytes | dict[str, Any]) -> None:
        assert self.process.stdin is not None
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(line + b"\n")
        await self.process.stdin.drain()

    async def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), 30)
        self.lines.append(line)
        return json.loads(line.decode("utf-8"))

    async def ask(self, message: bytes | dict[str, Any]) -> dict[str, Any]:
        await self.send(message)
        return await self.receive()

    async def end(self) -> bytes:
        """Close its stdin, wait for it, and return the rest that it wrote."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        rest = await asyncio.wait_for(self.process.stdout.read(), 30)
        assert await self.process.wait() == 0
        return rest


@asynccontextmanager
async def _started(service: Service, token: str, **environment: str) -> AsyncGenerator[Peer]:
    process = await asyncio.create_subprocess_exec(
        *PYTHON,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=stdio_environment(service, token) | environment,
        limit=8 * 1024 * 1024,
    )
    try:
        yield Peer(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def _greeted(service: Service, token: str, **environment: str) -> AsyncGenerator[Peer]:
    async with _started(service, token, **environment) as peer:
        assert (await peer.ask(HELLO))["result"]["serverInfo"]["name"] == "muniment"
        await peer.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield peer


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
async def test_text_of_any_script_survives_any_console_encoding(
    service: Service, make_token: MakeToken, encoding: str
) -> None:
    token = await make_token("agent")
    async with _greeted(service, token, PYTHONIOENCODING=encoding, PYTHONUTF8="0") as peer:
        for name in ("Дневник Анны", "日記 📓", "naïve Straße"):
            claim = {"about": name, "type": "Note", "property": "text", "value": f"«{name}» 🦊"}
            for escaped in (True, False):
                message = json.dumps(call("remember", {"claims": [claim]}), ensure_ascii=escaped)
                assert not (await peer.ask(message.encode()))["result"]["isError"]
            opened = await peer.ask(call("open", {"about": name}))
            assert f"«{name}» 🦊" in opened["result"]["content"][0]["text"]
        assert await peer.end() == b""


PING = b'{"jsonrpc":"2.0","id":5,"method":"ping","params":'


async def test_line_that_is_not_strict_json_is_answered(
    service: Service, make_token: MakeToken
) -> None:
    async with _greeted(service, await make_token("agent")) as peer:
        for line, code, rpc, id_ in (
            (PING + b'{"a":"\\ud800"}}', "lone_surrogate", -32600, 5),
            (PING + b'{"a":"\xed\xa0\x80"}}', "invalid_utf8", -32700, 5),
            (PING + b'{"a":1,"a":2}}', "duplicate_key", -32600, 5),
            (PING + b'{"a":NaN}}', "not_finite", -32600, 5),
            (b"not json", "invalid_json", -32700, None),
            (b"[]", "not_json_rpc", -32600, None),
            (b'{"jsonrpc":"2.0","id":5}', "not_json_rpc", -32600, 5),
            (b'"' + b"x" * 1024 * 1024 + b'"', "body_too_large", -32600, None),
            (b'"' + b"x" * 9 * 1024 * 1024 + b'"', "body_too_large", -32600, None),
        ):
            answer = await peer.ask(line)
            assert (answer["id"], answer["error"]["code"]) == (id_, rpc)
            assert answer["error"]["data"]["code"] == code
            assert "result" in await peer.ask(request("ping", id_=6))
        assert await peer.end() == b""


async def test_nothing_but_json_rpc_reaches_stdout(service: Service, make_token: MakeToken) -> None:
    token = await make_token("agent")
    async with _greeted(service, token, MUNIMENT_PEER_NOISY="1") as peer:
        assert not (await peer.ask(call("shout", {})))["result"]["isError"]
        assert "result" in await peer.ask(request("tools/list"))
        assert await peer.end() == b""
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in peer.lines)
        assert len(peer.lines) == 3


async def test_what_was_asked_is_answered_although_stdin_ends(
    service: Service, make_token: MakeToken
) -> None:
    async with _started(service, await make_token("agent")) as peer:
        claims = [{"about": "A", "type": "Note", "property": "text", "value": "x"}]
        asked = [HELLO, call("remember", {"claims": claims}, id_=1), request("ping", id_=2)]
        for message in asked:
            await peer.send(message)
        answers = [json.loads(line) for line in (await peer.end()).splitlines()]
    assert sorted(answer["id"] for answer in answers) == [0, 1, 2]
    assert all("result" in answer for answer in answers)


async def test_cancelled_request_does_not_keep_the_process(
    service: Service, make_token: MakeToken
) -> None:
    async with _greeted(service, await make_token("agent")) as peer:
        await peer.send(call("recall", {"query": "x"}, id_=3))
        await peer.send(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}
        )
        await peer.end()


async def test_last_line_needs_no_line_end(service: Service, make_token: MakeToken) -> None:
    async with _greeted(service, await make_token("agent")) as peer:
        assert peer.process.stdin is not None
        peer.process.stdin.write(b"\n\r\n" + json.dumps(request("ping", id_=4)).encode())
        assert json.loads(await peer.end())["id"] == 4
