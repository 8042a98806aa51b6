"""Each door answers what is no sound message, in our words, and says what it wants instead."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from muniment.bootstrap import Service
from tests.integration.mcp.conftest import MakeToken
from tests.integration.mcp.doors import LEGACY, bearer, request, serving

CALL: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}


async def test_http_tells_what_is_wrong_with_a_message(
    service: Service, make_token: MakeToken
) -> None:
    token = await make_token("agent")
    async with serving(service) as url, httpx2.AsyncClient(timeout=30) as http:
        for era in (LEGACY, "2026-07-28"):
            for body, code, rpc, id_ in (
                ([request("ping")], "not_json_rpc", -32600, None),
                ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, "not_json_rpc", -32600, None),
                ({"jsonrpc": "2.0", "id": 7}, "not_json_rpc", -32600, 7),
                (CALL | {"params": {"name": "recall", "arguments": "{}"}}, "bad_params", -32602, 7),
            ):
                headers = bearer(token) | {"MCP-Protocol-Version": era}
                answer = await http.post(url, json=body, headers=headers)
                error = answer.json()["error"]
                assert answer.status_code == 400
                assert (answer.json()["id"], error["code"]) == (id_, rpc)
                assert error["data"]["code"] == code
                assert error["data"]["next_step"]
                assert "pydantic" not in answer.text


async def test_http_answers_who_does_not_say_what_it_takes(
    service: Service, make_token: MakeToken
) -> None:
    token = await make_token("agent")
    async with serving(service) as url, httpx2.AsyncClient(timeout=30) as http:
        for accept, status in (
            (None, 200),
            ("*/*", 200),
            ("text/html, application/json;q=0.9", 200),
            ("text/html", 406),
        ):
            asked = http.build_request(
                "POST",
                url,
                content=json.dumps(request("ping")),
                headers=bearer(token) | {"Content-Type": "application/json"},
            )
            del asked.headers["Accept"]
            if accept is not None:
                asked.headers["Accept"] = accept
            answer = await http.send(asked)
            assert answer.status_code == status, accept
            if status == 406:
                error = answer.json()["error"]
                assert error["data"]["code"] == "not_acceptable"
                assert "application/json" in error["data"]["next_step"]
