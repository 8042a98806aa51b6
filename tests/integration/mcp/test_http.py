"""The HTTP door: what it refuses, how it says so, and that it goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, Literal

import httpx2
import pytest
import pytest_asyncio

from muniment.bootstrap import Service
from muniment.config import Settings
from muniment.surfaces.mcp.body import DRAINED_BYTES
from muniment.surfaces.principal import Principal, create_token, revoke_token
from tests.integration.mcp.conftest import MakeToken
from tests.integration.mcp.doors import ERAS, LEGACY, bearer, call, http_client, request, serving

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
MODERN = {
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/list",
}


class Caller:
    """Speaks raw HTTP to a served application, as the holder of one token."""

    def __init__(self, http: httpx2.AsyncClient, url: str, token: str) -> None:
        self.http = http
        self.url = url
        self.token = token

    async def post(
        self, body: bytes | dict[str, Any] | list[Any], **headers: str
    ) -> httpx2.Response:
        """POST a body; `headers` as `content_type=...`, on top of the usual ones."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.http.post(
            self.url, content=content, headers=JSON | bearer(self.token) | named
        )

    async def lives(self) -> bool:
        """Say whether the service still answers."""
        answer = await self.post(request("ping"), MCP_Protocol_Version=LEGACY)
        return answer.status_code == 200 and "result" in answer.json()


@pytest_asyncio.fixture
async def caller(service: Service, make_token: MakeToken) -> AsyncGenerator[Caller]:
    token = await make_token("agent", "ada")
    async with serving(service) as url, httpx2.AsyncClient(timeout=30) as http:
        yield Caller(http, url, token)


def _refusal(answer: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert body["jsonrpc"] == "2.0"
    error = body["error"]
    assert error["message"]
    assert error["data"]["code"] == code
    assert error["data"]["next_step"]
    return {"id": body["id"], **error}


# Who asks ------------------------------------------------------------------------------------


async def test_no_token_is_challenged(caller: Caller) -> None:
    for given in (None, "", "Bearer", "Basic abc", "mun_x"):
        headers = JSON if given is None else JSON | {"Authorization": given}
        answer = await caller.http.post(caller.url, json=request("initialize"), headers=headers)
        _refusal(answer, 401, "unauthenticated")
        assert answer.headers["www-authenticate"].startswith('Bearer realm="muniment"')


async def test_wrong_token_is_challenged_as_invalid(caller: Caller) -> None:
    caller.token = "mun_" + "a" * 43
    answer = await caller.post(request("tools/list"))
    _refusal(answer, 401, "unauthenticated")
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert "resource_metadata" not in answer.headers["www-authenticate"]


async def test_revoked_token_stops_at_once(
    caller: Caller, service: Service, operator: Principal
) -> None:
    new = await create_token(service.actions, operator.actor, name="eve", role="agent")
    caller.token = new.token
    assert await caller.lives()
    await revoke_token(service.actions, operator.actor, name="eve", token_id=new.token_id)
    _refusal(await caller.post(request("ping")), 401, "unauthenticated")


async def test_where_nothing_is_a_plain_404_says_so(caller: Caller) -> None:
    for path in (
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
        "/register",
        "/",
        "/mcp/x",
    ):
        answer = await caller.http.get(caller.url.removesuffix("/mcp") + path)
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "not_found"
        assert "/mcp" in answer.json()["error"]["next_step"]


async def test_foreign_host_is_refused(caller: Caller) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost:80@evil"):
        _refusal(await caller.post(request("ping"), Host=host), 421, "host_not_allowed")


async def test_foreign_origin_is_refused(caller: Caller) -> None:
    for origin in ("https://evil.example", "null", "http://localhost.evil:1"):
        _refusal(await caller.post(request("ping"), Origin=origin), 403, "origin_not_allowed")


async def test_loopback_names_are_served_with_any_port(caller: Caller) -> None:
    for host in ("localhost", "localhost:1", "[::1]:8790", "127.0.0.1"):
        answer = await caller.post(
            request("ping"), Host=host, Origin=f"http://{host}", MCP_Protocol_Version=LEGACY
        )
        assert answer.status_code == 200


async def test_host_of_the_settings_is_served(service: Service, make_token: MakeToken) -> None:
    settings = Settings(home=service.settings.home, allowed_hosts=("memory.example:*",))
    token = await make_token("agent")
    served = replace(service, settings=settings)
    async with serving(served) as url, httpx2.AsyncClient() as http:
        caller = Caller(http, url, token)
        answer = await caller.post(
            request("ping"), Host="memory.example", MCP_Protocol_Version=LEGACY
        )
        assert answer.status_code == 200
        _refusal(await caller.post(request("ping"), Host="evil.example"), 421, "host_not_allowed")


# What is sent --------------------------------------------------------------------------------


async def test_only_post_is_served(caller: Caller) -> None:
    for method in ("GET", "DELETE", "PUT", "PATCH", "OPTIONS"):
        answer = await caller.http.request(method, caller.url, headers=JSON | bearer(caller.token))
        _refusal(answer, 405, "method_not_allowed")
        assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_unknown_session_is_not_found(caller: Caller, method: str) -> None:
    headers = JSON | bearer(caller.token) | {"Mcp-Session-Id": "0123456789abcdef"}
    answer = await caller.http.request(method, caller.url, json=request("ping"), headers=headers)
    if method == "POST":
        _refusal(answer, 404, "unknown_session")
    else:
        _refusal(answer, 405, "method_not_allowed")


async def test_other_media_types_are_refused(caller: Caller) -> None:
    for media_type in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = await caller.post(request("ping"), Content_Type=media_type)
        _refusal(answer, 415, "media_type")


@pytest.mark.parametrize(
    ("body", "code", "rpc"),
    [
        (b"", "invalid_json", -32700),
        (b"{", "invalid_json", -32700),
        (b'{"jsonrpc":"2.0","id":7,"method":"\xff"}', "invalid_utf8", -32700),
        (b'{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}', "duplicate_key", -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":NaN}}', "not_finite", -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1e999}}', "not_finite", -32600),
        (
            b'{"jsonrpc":"2.0","id":7,"method":"p","params":' + b"9" * 1000 + b"}",
            "integer_range",
            -32600,
        ),
        (b'{"jsonrpc":"2.0","id":7,"method":"\\ud800"}', "lone_surrogate", -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"\\u0000"}', "nul_character", -32600),
        (b'{"id":7,"a":' + b"[" * 70 + b"]" * 70 + b"}", "too_deep", -32600),
        (b"[" * 500_000, "too_deep", -32600),
    ],
    ids=lambda part: part if isinstance(part, str) else None,
)
async def test_body_that_is_not_strict_json(
    caller: Caller, body: bytes, code: str, rpc: int
) -> None:
    error = _refusal(await caller.post(body), 400, code)
    assert error["code"] == rpc
    assert error["id"] in (7, 8, None)
    assert await caller.lives()


async def test_refusal_names_the_request_that_it_answers(caller: Caller) -> None:
    body = b'{"jsonrpc":"2.0","id":"mine","method":"ping","params":{"x":1,"x":2}}'
    assert _refusal(await caller.post(body), 400, "duplicate_key")["id"] == "mine"


async def test_what_is_no_message_is_refused(caller: Caller) -> None:
    for body in ([], [request("ping")], {"jsonrpc": "2.0"}, {"a": 1}):
        for headers in ({}, MODERN):
            answer = await caller.post(body, **headers)
            assert answer.status_code == 400
            assert answer.json()["error"]["code"] in (-32600, -32602)
        assert await caller.lives()


@pytest.mark.parametrize("size", [1024 * 1024 + 1, 12 * 1024 * 1024, DRAINED_BYTES + 1])
@pytest.mark.parametrize("chunked", [False, True])
async def test_body_over_the_limit_is_refused_with_413(
    caller: Caller, size: int, chunked: bool
) -> None:
    async def chunks() -> AsyncGenerator[bytes]:
        for _ in range(size // 65536 + 1):
            yield b" " * 65536

    headers = JSON | bearer(caller.token)
    content = chunks() if chunked else b" " * size
    try:
        answer = await caller.http.post(caller.url, content=content, headers=headers)
    except httpx2.NetworkError:
        # Past what is drained, a client that only writes may find the connection gone.
        assert size > DRAINED_BYTES
    else:
        assert _refusal(answer, 413, "body_too_large")["data"]["limit"] == 1024 * 1024
    assert await caller.lives()


async def test_largest_body_passes(caller: Caller) -> None:
    body = json.dumps(request("ping")).encode()
    answer = await caller.post(body.ljust(1024 * 1024), MCP_Protocol_Version=LEGACY)
    assert answer.status_code == 200


async def test_client_that_waits_for_leave_is_refused_before_it_sends(caller: Caller) -> None:
    port = int(caller.url.rsplit(":", 1)[1].removesuffix("/mcp"))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Authorization: Bearer " + caller.token.encode() + b"\r\n"
        b"Content-Length: 9999999\r\nExpect: 100-continue\r\n\r\n"
    )
    assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
    writer.close()
    await writer.wait_closed()


async def test_client_that_leaves_midway_does_no_harm(caller: Caller) -> None:
    port = int(caller.url.rsplit(":", 1)[1].removesuffix("/mcp"))
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Authorization: Bearer " + caller.token.encode() + b"\r\nContent-Length: 1000\r\n\r\n{"
    )
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert await caller.lives()


# How often, and whether at all -----------------------------------------------------------------


async def test_too_many_calls_are_told_when_to_come_back(
    service: Service, make_token: MakeToken
) -> None:
    settings = Settings(home=service.settings.home, rate_limit_per_minute=3)
    token, other = await make_token("agent", "ada"), await make_token("agent", "bob")
    served = replace(service, settings=settings)
    async with serving(served) as url, httpx2.AsyncClient() as http:
        ada, bob = Caller(http, url, token), Caller(http, url, other)
        for _ in range(3):
            assert await ada.lives()
        answer = await ada.post(request("ping", id_=9))
        error = _refusal(answer, 429, "rate_limited")
        assert error["id"] == 9
        assert 0 < error["data"]["retry_after_ms"] <= 20_000
        assert int(answer.headers["retry-after"]) == error["data"]["retry_after"]
        assert await bob.lives()


async def test_healthz_needs_no_token_and_tells_nothing(caller: Caller) -> None:
    answer = await caller.http.get(caller.url.replace("/mcp", "/healthz"))
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_without_its_database_health_fails_and_calls_say_so(
    caller: Caller, service: Service
) -> None:
    await service.database.writer.close()
    health = await caller.http.get(caller.url.replace("/mcp", "/healthz"))
    assert health.status_code == 503
    assert health.json()["error"]["code"] == "unavailable"
    await service.database.reader.close()
    health = await caller.http.get(caller.url.replace("/mcp", "/healthz"))
    assert health.status_code == 503
    answer = await caller.post(call("recall", {"query": "x"}))
    _refusal(answer, 503, "unavailable")
    assert answer.headers["retry-after"]


@pytest.mark.parametrize("era", ERAS)
async def test_restart_between_two_calls_goes_unnoticed(
    service: Service, make_token: MakeToken, era: Literal["auto", "legacy"]
) -> None:
    token = await make_token("agent")
    async with AsyncExitStack() as first:
        url = await first.enter_async_context(serving(service))
        port = int(url.rsplit(":", 1)[1].removesuffix("/mcp"))
        async with http_client(url, token, era) as client:
            before = await client.list_tools()
            await first.aclose()
            async with serving(service, port=port):
                after = await client.list_tools(cache_mode="bypass")
                assert [t.name for t in after.tools] == [t.name for t in before.tools]
