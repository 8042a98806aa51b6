"""The list of tools: what it costs, that every harness can read it, and what it never takes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, cast

import pytest

from muniment.bootstrap import Service
from muniment.domain.identity import Role
from muniment.surfaces.mcp.schemas import INSTRUCTIONS, ROLE_TOOLS, TOOLS, tools_of
from tests.integration.mcp.conftest import MakeToken
from tests.integration.mcp.doors import Door

with warnings.catch_warnings():
    # It reads its vocabulary by a function that Python has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from bpe_openai import get_encoding  # pyright: ignore[reportMissingTypeStubs]

SNAPSHOT = Path(__file__).with_name("tools.json")
COMBINATORS = {"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref", "$defs"}
LISTING = {name: tool.listing() for name, tool in TOOLS.items()}

IDENTITIES = (
    *("actor", "actor_id", "as", "as_user", "agent", "agent_id", "author", "by", "caller"),
    *("created_by", "from_agent", "identity", "impersonate", "on_behalf_of", "owner", "principal"),
    *("principal_id", "reader", "reader_id", "role", "sender", "sender_name", "session", "sub"),
    *("seat", "subject", "token", "user", "user_id", "username", "via", "who", "workspace"),
    *("workspace_id", "tenant", "tenant_id", "namespace", "group_id", "run_as", "sudo"),
    *("band", "trust", "rule", "confidence", "recorded_at", "recorded", "timestamp", "now"),
    *("pos", "head_id", "sees_all", "every", "audiences", "capability", "scope", "admin"),
    *("Reader", "ACTOR", "workspaceId", "principalId", "userId", "recordedAt", "reader ", "_actor"),
    *("source", "sources", "owned_sources"),
)


def _tokens(value: object) -> int:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return len(get_encoding("o200k_base").encode(text))


def _seen_by_a_model(name: str) -> dict[str, Any]:
    return {key: part for key, part in LISTING[name].items() if key != "annotations"}


def _objects(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if schema.get("type") == "object":
        yield schema
        for inner in schema["properties"].values():
            yield from _objects(inner)
    if "items" in schema:
        yield from _objects(schema["items"])


def test_list_of_an_agent_is_cheap() -> None:
    assert _tokens([LISTING[name] for name in ROLE_TOOLS[Role.AGENT]]) <= 1_200


@pytest.mark.parametrize("name", TOOLS)
def test_each_tool_is_cheap(name: str) -> None:
    assert _tokens(_seen_by_a_model(name)) <= 200


def test_instructions_are_short_and_say_to_read_first() -> None:
    assert 300 <= len(INSTRUCTIONS) <= 600
    assert INSTRUCTIONS.index("recall") < INSTRUCTIONS.index("remember")


@pytest.mark.parametrize("name", TOOLS)
def test_schema_is_a_plain_object_without_tricks(name: str) -> None:
    schema = cast("dict[str, Any]", LISTING[name]["inputSchema"])
    text = json.dumps(schema)
    assert schema["type"] == "object"
    assert not COMBINATORS & set(schema)
    assert not any(f'"{word}"' in text for word in COMBINATORS)
    for part in _objects(schema):
        assert part["additionalProperties"] is False
        assert set(part["required"]) <= set(part["properties"])
    assert "outputSchema" not in LISTING[name]


@pytest.mark.parametrize("name", TOOLS)
def test_tool_carries_its_four_annotations(name: str) -> None:
    annotations = cast("dict[str, Any]", LISTING[name]["annotations"])
    assert set(annotations) == {
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
    }
    assert all(isinstance(hint, bool) for hint in annotations.values())
    assert annotations["readOnlyHint"] is (name in ROLE_TOOLS[Role.READER])


@pytest.mark.parametrize("name", TOOLS)
def test_description_says_what_and_when_in_one_breath(name: str) -> None:
    description = TOOLS[name].description
    assert "use " in description.lower()
    assert len(description) <= 200


def test_list_is_byte_for_byte_the_reviewed_one() -> None:
    """A change of the list is a change for every harness: review it, then replace the file."""
    listed = [tool.listing() for tool in tools_of(Role.OPERATOR)]
    assert SNAPSHOT.read_text() == json.dumps(listed, indent=1) + "\n"


async def test_wire_carries_the_list_unchanged(door: Door, make_token: MakeToken) -> None:
    async with door.connect(await make_token("operator")) as client:
        listed = [await client.list_tools(cache_mode="bypass") for _ in range(2)]
    for result in listed:
        sent = [
            tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in result.tools
        ]
        assert sent == json.loads(SNAPSHOT.read_text())


@pytest.mark.promise("P7")
@pytest.mark.parametrize("name", TOOLS)
async def test_no_argument_can_say_who_asks(
    service: Service, make_token: MakeToken, name: str
) -> None:
    async with Door(service=service, door="memory", era="auto").connect(
        await make_token("operator")
    ) as client:
        known = cast("dict[str, Any]", TOOLS[name].schema["properties"])
        for word, inside in product(IDENTITIES, (False, True) if "claims" in known else (False,)):
            if word in known:
                # Whose claims to look for is a filter, not an identity.
                assert (name, word) == ("recall", "source")
                continue
            extra: dict[str, Any] = {word: "operator"}
            arguments = {"claims": [extra]} if inside else extra
            result = await client.call_tool(name, arguments)
            assert result.is_error
            error = cast("dict[str, Any]", result.structured_content)["error"]
            assert error["code"] == "unknown_argument", word
            assert error["field"].endswith(word)
            assert error["next_step"]
