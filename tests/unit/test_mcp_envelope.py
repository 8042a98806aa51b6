"""Owns what counts as one JSON-RPC message, soundly addressed."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.domain.errors import Malformed
from muniment.surfaces.mcp.envelope import require_message


def _request(**more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": "ping"} | more


@pytest.mark.parametrize(
    "message",
    [
        _request(),
        _request(id="mine", params=None),
        _request(params={"_meta": {}}, extra=1),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 7, "result": {}},
        {"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "no"}},
        _request(method="tools/call", params={"name": "recall"}),
        _request(method="tools/call", params={"name": "recall", "arguments": None}),
        _request(method="tools/call", params={"name": "recall", "arguments": {"query": "x"}}),
    ],
)
def test_a_sound_message_passes(message: Any) -> None:
    require_message(message)


@pytest.mark.parametrize(
    ("message", "code", "field"),
    [
        ([], "not_json_rpc", None),
        ([_request()], "not_json_rpc", None),
        ("ping", "not_json_rpc", None),
        (None, "not_json_rpc", None),
        ({}, "not_json_rpc", "jsonrpc"),
        (_request(jsonrpc="1.0"), "not_json_rpc", "jsonrpc"),
        ({"jsonrpc": "2.0"}, "not_json_rpc", "method"),
        ({"jsonrpc": "2.0", "id": 7}, "not_json_rpc", "method"),
        ({"jsonrpc": "2.0", "result": {}}, "not_json_rpc", "method"),
        (_request(method=5), "not_json_rpc", "method"),
        (_request(params=[1]), "not_json_rpc", "params"),
        (_request(params="x"), "not_json_rpc", "params"),
        # Any of these ids would make a request look like a notification, never to be answered.
        (_request(id=None), "not_json_rpc", "id"),
        (_request(id=1.5), "not_json_rpc", "id"),
        (_request(id=True), "not_json_rpc", "id"),
        (_request(id={}), "not_json_rpc", "id"),
        (_request(method="tools/call"), "bad_params", "params.name"),
        (_request(method="tools/call", params={"name": 5}), "bad_params", "params.name"),
        (
            _request(method="tools/call", params={"name": "recall", "arguments": '{"query":"x"}'}),
            "bad_params",
            "params.arguments",
        ),
    ],
)
def test_anything_else_is_refused_with_what_to_do(
    message: Any, code: str, field: str | None
) -> None:
    with pytest.raises(Malformed) as refused:
        require_message(message)
    assert (refused.value.code, refused.value.field) == (code, field)
    assert refused.value.next_step
