"""Every tool, by every door, in both eras: listed for whom it is meant, called, and refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.types import CallToolResult, TextContent

from muniment.bootstrap import Service
from muniment.domain.identity import Role
from muniment.surfaces.mcp.answers import NOTE
from muniment.surfaces.mcp.schemas import INSTRUCTIONS, ROLE_TOOLS, TOOLS
from tests.integration.mcp.conftest import MakeToken
from tests.integration.mcp.doors import Door

CLAIM = {"about": "Ledger", "type": "Service", "property": "owner", "value": "Ada"}


def _facts(result: CallToolResult) -> dict[str, Any]:
    """Return what a result says, after looking that both of its forms say the same."""
    [block] = result.content
    assert isinstance(block, TextContent)
    facts = json.loads(block.text)
    assert result.structured_content == facts
    assert block.text == json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
    return facts


async def _do(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    named = {name.rstrip("_"): value for name, value in arguments.items()}
    result = await client.call_tool(tool, named)
    facts = _facts(result)
    assert not result.is_error, facts
    return facts


async def _fail(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, {n.rstrip("_"): v for n, v in arguments.items()})
    facts = _facts(result)
    assert result.is_error, facts
    error = facts["error"]
    assert error["message"]
    assert error["next_step"]
    return error


async def test_agent_reads_and_writes(door: Door, make_token: MakeToken) -> None:
    async with door.connect(await make_token("agent", "ada")) as client:
        assert client.server_info
        assert client.server_info.name == "muniment"
        assert client.instructions == INSTRUCTIONS
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == [*ROLE_TOOLS[Role.AGENT]]

        done = await _do(client, "remember", claims=[CLAIM], key="k1")
        assert await _do(client, "remember", claims=[CLAIM], key="k1") == done
        assert done["results"][0]["outcome"] == "asserted"
        linked = await _do(
            client, "relate", from_="Ledger", link="depends_on", to="Vault", to_type="Service"
        )
        assert linked["results"][0]["outcome"] == "linked"

        found = await _do(client, "recall", query="ledger owner")
        assert found["note"] == NOTE
        assert "Ada" in json.dumps(found)
        opened = await _do(client, "open", about="Ledger")
        assert opened["note"] == NOTE
        assert "agent:ada" in json.dumps(opened)
        assert "Vault" in json.dumps(opened)
        traced = await _do(client, "trace", about="Ledger")
        assert traced["note"] == NOTE
        assert "asserted" in json.dumps(traced)
        history = await _do(client, "trace", about="Ledger", property="owner")
        assert "Ada" in json.dumps(history)

        await _do(client, "retract", about="Ledger", property="owner", reason="It was Bob.")
        await _do(
            client, "retract", from_="Ledger", link="depends_on", to="Vault", reason="No more."
        )
        assert "Ada" not in json.dumps(await _do(client, "open", about="Ledger"))


async def test_operator_also_merges_and_sets_status(door: Door, make_token: MakeToken) -> None:
    async with door.connect(await make_token("operator")) as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == [*TOOLS]
        claims = [CLAIM, {**CLAIM, "about": "Ledgr", "property": "url", "value": "x:1"}]
        await _do(client, "remember", claims=claims)
        merged = await _do(
            client, "merge", loser="Ledgr", survivor="Ledger", reason="A misspelling."
        )
        assert merged["outcome"] == "merged"
        assert "x:1" in json.dumps(await _do(client, "open", about="Ledger"))
        assert (await _do(client, "unmerge", loser="Ledgr", reason="No."))["outcome"] == "unmerged"
        await _do(client, "set_status", about="Ledgr", status="archived", reason="Unused.")
        assert (await _do(client, "recall", query="x:1"))["hits"] == []


async def test_what_a_role_may_not_call_is_not_listed_and_denied(
    door: Door, make_token: MakeToken
) -> None:
    async with door.connect(await make_token("reader")) as client:
        assert [t.name for t in (await client.list_tools()).tools] == ["recall", "open", "trace"]
        for name in TOOLS.keys() - ROLE_TOOLS[Role.READER]:
            error = await _fail(client, name, claims=[CLAIM])
            assert error["code"] == "capability_denied"


async def test_unknown_tool_is_a_protocol_error(door: Door, make_token: MakeToken) -> None:
    async with door.connect(await make_token("agent")) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("recal", {"query": "x"})
        assert caught.value.code == -32602
        assert caught.value.data["code"] == "unknown_tool"
        assert "recall" in caught.value.data["next_step"]


async def test_refusals_tell_what_to_do(door: Door, make_token: MakeToken) -> None:
    async with door.connect(await make_token("agent")) as client:
        error = await _fail(client, "recall", query="x", limt=3)
        assert (error["code"], error["field"]) == ("unknown_argument", "limt")
        assert "limit" in error["next_step"]
        for limit in (0, -1, 10**9):
            assert (await _fail(client, "recall", query="x", limit=limit))["code"] == "bad_limit"
        assert (await _fail(client, "recall"))["field"] == "query"
        assert (await _fail(client, "open", about="Nobody"))["code"] == "not_found"
        error = await _fail(client, "remember", claims=[{**CLAIM, "type": "Servce"}])
        assert (error["code"], error["nearest"]) == ("unknown_type", "Service")
        error = await _fail(client, "remember", claims=[{**CLAIM, "vale": 1}])
        assert (error["code"], error["field"]) == ("unknown_argument", "claims[0].vale")
        assert (await _fail(client, "remember", claims=[]))["code"] == "claims_per_call"
        assert (await _fail(client, "remember", claims="x"))["code"] == "wrong_type"
        assert (await _do(client, "recall", query="Ledger"))["hits"] == []


async def test_fault_inside_is_logged_and_not_told(
    service: Service, make_token: MakeToken, caplog: pytest.LogCaptureFixture
) -> None:
    async with Door(service=service, door="memory", era="auto").connect(
        await make_token("agent")
    ) as client:
        await service.actions.close()
        error = await _fail(client, "remember", claims=[CLAIM])
    assert error["code"] == "internal"
    assert "closed" not in json.dumps(error)
    assert any(error["error_id"] in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("size", [4_000, 60_000])
async def test_large_answers_are_sent_once(
    service: Service, make_token: MakeToken, size: int
) -> None:
    async with Door(service=service, door="http", era="legacy").connect(
        await make_token("agent")
    ) as client:
        await _do(client, "remember", claims=[{**CLAIM, "value": "v" * size}])
        whole = {"about": "Ledger", "property": "owner", "limit": 1}
        result = await client.call_tool("trace", whole)
    [block] = result.content
    assert isinstance(block, TextContent)
    sent = block.text + json.dumps(result.structured_content)
    assert not result.is_error
    assert (result.structured_content is None) is (size > 32_000)
    assert len(sent) < 3 * size


async def test_answers_are_bounded_however_much_there_is(
    service: Service, make_token: MakeToken
) -> None:
    async with Door(service=service, door="http", era="auto").connect(
        await make_token("agent")
    ) as client:
        for index in range(0, 60, 3):
            claims = [
                {
                    "about": f"Tome {n}",
                    "type": "Document",
                    "property": "text",
                    "value": f"lore {n} " * 25_000,
                }
                for n in range(index, index + 3)
            ]
            await _do(client, "remember", claims=claims)
            claims = [
                {**c, "about": "Library", "property": f"shelf_{n}"}
                for n, c in zip(range(index, index + 3), claims, strict=True)
            ]
            await _do(client, "remember", claims=claims)
        for tool, arguments in (
            ("recall", {"query": "lore", "limit": 100}),
            (
                "recall",
                {"query": "lore", "limit": 100, "untrusted": True, "include_superseded": True},
            ),
            ("open", {"about": "Library"}),
            ("trace", {"about": "Library", "limit": 100}),
        ):
            result = await client.call_tool(tool, arguments)
            [block] = result.content
            assert isinstance(block, TextContent)
            assert len(block.text.encode()) <= 256 * 1024
            assert not result.is_error, block.text
        assert await _do(client, "recall", query="tome", limit=1)
