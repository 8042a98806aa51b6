"""Clients that call one tool a run find, read and write what the product holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.acceptance.clients.conftest import TITLE, Product
from tests.acceptance.clients.packages import Clients, Ran

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

Call = Callable[[str, dict[str, Any]], Ran]
TOOLS = ["recall", "open", "trace", "remember", "relate", "retract"]


def _inspector(clients: Clients, url: str, token: str) -> Call:
    def call(tool: str, arguments: dict[str, Any]) -> Ran:
        given: list[str] = []
        for name, value in arguments.items():
            text = value if isinstance(value, str) else json.dumps(value)
            given += ["--tool-arg", f"{name}={text}"]
        return clients.run(
            *("mcp-inspector", "--cli", url, "--transport", "http"),
            *("--header", f"Authorization: Bearer {token}"),
            *("--method", "tools/call", "--tool-name", tool, *given),
        )

    return call


def _mcporter(clients: Clients, url: str, token: str) -> Call:
    def call(tool: str, arguments: dict[str, Any]) -> Ran:
        return clients.run(
            *("mcporter", "call", "--http-url", url, "--allow-http", "--name", "muniment"),
            *("--header", f"Authorization=Bearer {token}", "--output", "json"),
            *(f"muniment.{tool}", "--args", json.dumps(arguments)),
        )

    return call


CALLERS = {"inspector": _inspector, "mcporter": _mcporter}


def _said(ran: Ran) -> dict[str, Any]:
    """Return what a tool said: a client prints that, or the whole result."""
    result = json.loads(ran.out)
    if "content" not in result:
        return result
    said = json.loads(result["content"][0]["text"])
    assert result["structuredContent"] == said
    return said


def test_inspector_lists_an_agents_tools(product: Product, clients: Clients) -> None:
    token, _ = product.token()
    ran = clients.run(
        *("mcp-inspector", "--cli", product.url, "--transport", "http"),
        *("--header", f"Authorization: Bearer {token}", "--method", "tools/list", "--strict"),
    )
    assert ran.code == 0, ran.text
    tools = json.loads(ran.out)["tools"]
    assert [tool["name"] for tool in tools] == TOOLS
    assert [tool["annotations"]["readOnlyHint"] for tool in tools] == [True] * 3 + [False] * 3


def test_mcporter_lists_an_agents_tools(product: Product, clients: Clients) -> None:
    token, _ = product.token()
    ran = clients.run(
        *("mcporter", "list", "--http-url", product.url, "--allow-http", "--name", "muniment"),
        *("--header", f"Authorization=Bearer {token}"),
    )
    assert ran.code == 0, ran.text
    for tool in TOOLS:
        assert f"function {tool}(" in ran.out


@pytest.mark.parametrize("caller", CALLERS)
def test_a_commit_is_found_opened_and_traced(
    product: Product, clients: Clients, caller: str
) -> None:
    call = CALLERS[caller](clients, product.url, product.token()[0])
    hit = _said(call("recall", {"query": "quokka count leaves", "limit": 1}))["hits"][0]
    assert hit["value"] == TITLE
    assert (hit["source"], hit["class"], hit["band"]) == (
        "git:marsupials",
        "direct_observation",
        "observed",
    )
    assert hit["evidence"].endswith(product.sha)
    about = {"about": hit["object"]["id"]}
    claims = {part["property"]: part["claims"][0] for part in _said(call("open", about))["claims"]}
    assert claims["sha"]["value"] == product.sha
    assert all(claim["winner"] for claim in claims.values())
    assert {claim["source"] for claim in claims.values()} == {"git:marsupials"}
    events = _said(call("trace", about))["events"]
    assert events[0]["kind"] == "object_created"
    assert {event["via"] for event in events} == {"ingest"}
    assert [event["pos"] for event in events] == sorted(event["pos"] for event in events)


@pytest.mark.parametrize("caller", CALLERS)
def test_what_is_remembered_is_recalled_until_it_is_retracted(
    product: Product, clients: Clients, caller: str
) -> None:
    call = CALLERS[caller](clients, product.url, product.token()[0])
    name, word = f"Note by {caller}", f"zanzibar{caller}"
    claim = {"about": name, "type": "Note", "property": "text", "value": f"{word} came by"}
    first = _said(call("remember", {"claims": [claim], "key": "once"}))
    assert first["results"][0]["outcome"] == "asserted"
    assert _said(call("remember", {"claims": [claim], "key": "once"})) == first
    assert _said(call("recall", {"query": word}))["hits"][0]["object"]["name"] == name
    gone = {"about": name, "property": "text", "reason": "only a check"}
    assert _said(call("retract", gone))["outcome"] == "retracted"
    assert _said(call("recall", {"query": word}))["hits"] == []


@pytest.mark.parametrize("caller", CALLERS)
def test_a_mistake_is_answered_with_what_to_do(
    product: Product, clients: Clients, caller: str
) -> None:
    call = CALLERS[caller](clients, product.url, product.token()[0])
    for tool, arguments, code in (
        ("recall", {"query": "x", "limitt": 3}, "unknown_argument"),
        ("recall", {"query": "x", "limit": 0}, "bad_limit"),
        ("open", {"about": "Nobody at all"}, "not_found"),
    ):
        ran = call(tool, arguments)
        assert ran.code != 0
        assert code in ran.out
        assert "next_step" in ran.out
