"""What each tool does: arguments to a command or a read, and nothing in between.

A call is checked again although the list already left out what the role may not call, and an
argument that the schema does not name is refused: reader, actor, band and recorded time come from
the credential and the database, whatever a caller writes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final, cast

from muniment.bootstrap import Service
from muniment.domain import parse
from muniment.domain.canonical import Json
from muniment.domain.catalog import nearest
from muniment.domain.commands import Command
from muniment.domain.errors import CapabilityDenied, Malformed, MunimentError
from muniment.domain.identity import Role
from muniment.domain.parse import parse_key, require_known
from muniment.reads import arguments as reading
from muniment.surfaces.mcp import answers
from muniment.surfaces.mcp.schemas import ROLE_TOOLS, TOOLS, Schema, Tool
from muniment.surfaces.principal import Principal

Raw = dict[str, Any]
Answer = dict[str, Json]
Handler = Callable[[Service, Principal, Raw], Awaitable[Answer]]


class UnknownTool(Malformed):
    """No role has a tool of that name: the call is malformed, not denied."""

    default_code = "unknown_tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The tools that a server offers: their descriptions, their deeds, and which role has which."""

    tools: Mapping[str, Tool]
    handlers: Mapping[str, Handler]
    roles: Mapping[Role, tuple[str, ...]]

    def listing(self, role: Role) -> list[Answer]:
        """Return what a role is shown, in the form of the wire, always in the same order."""
        return [self.tools[name].listing() for name in self.roles[role]]

    async def call(
        self, service: Service, principal: Principal, name: str, arguments: Raw
    ) -> answers.Wire:
        """Carry a call out and return its result, errors that a model can act on included.

        Raises:
            UnknownTool: there is no such tool for anyone.
        """
        tool = self.tools.get(name)
        if tool is None:
            raise self._unknown(name, principal.role)
        try:
            if name not in self.roles[principal.role]:
                raise _denied(name, principal.role)
            require_schema(arguments, tool.schema)
            return answers.succeeded(await self.handlers[name](service, principal, arguments))
        except MunimentError as error:
            return answers.failed(error)
        except Exception:
            return answers.failed(answers.broken(f"tool {name}"))

    def _unknown(self, name: str, role: Role) -> UnknownTool:
        suggestion = nearest(name, self.roles[role])
        return UnknownTool(
            f"There is no tool {name[:80]!r}.",
            field="name",
            next_step=f"Did you mean {suggestion!r}?"
            if suggestion
            else "List the tools: tools/list.",
        )


def require_schema(raw: Mapping[str, object], schema: Schema, at: str = "") -> None:
    """Refuse what the schema does not name, at any depth that it describes.

    Raises:
        Malformed: `unknown_argument`, naming the nearest that is known.
    """
    properties = _properties(schema)
    require_known(raw, properties, at)
    for name, inner in properties.items():
        items = inner.get("items")
        found = raw.get(name)
        if isinstance(items, dict) and "properties" in items and isinstance(found, list):
            for index, item in enumerate(cast("list[object]", found)):
                if isinstance(item, Mapping):
                    entry = cast("Mapping[str, object]", item)
                    require_schema(entry, items, f"{at}{name}[{index}].")


def _properties(schema: Schema) -> dict[str, Schema]:
    return cast("dict[str, Schema]", schema["properties"])


def _denied(name: str, role: Role) -> CapabilityDenied:
    return CapabilityDenied(
        f"The role {role} may not call {name}.",
        field="name",
        next_step="Use a tool that is listed, or ask the operator for a token of another role.",
    )


async def _recall(service: Service, principal: Principal, raw: Raw) -> Answer:
    # A harness cuts what is longer, without a cursor.
    query = reading.parse_recall({"max_chars": answers.PAGE_CHARS} | raw)
    return _labelled(await service.reads.recall(principal.reader, query))


async def _open(service: Service, principal: Principal, raw: Raw) -> Answer:
    query = reading.parse_open(raw)
    found = await service.reads.open(
        principal.reader,
        query.ref,
        as_of=query.as_of,
        known_at=query.known_at,
        cursor=query.cursor,
    )
    return _labelled(found)


async def _trace(service: Service, principal: Principal, raw: Raw) -> Answer:
    query = reading.parse_trace(raw)
    reader, reads = principal.reader, service.reads
    if query.property is None:
        return _labelled(
            await reads.trace(reader, query.ref, limit=query.limit, cursor=query.cursor)
        )
    return _labelled(
        await reads.history(
            reader, query.ref, query.property, limit=query.limit, cursor=query.cursor
        )
    )


async def _command(
    parse_command: Callable[[Raw], Command], service: Service, principal: Principal, raw: Raw
) -> Answer:
    key = parse_key(raw.get("key"))
    command = parse_command({name: value for name, value in raw.items() if name != "key"})
    outcome = await service.actions.perform(principal.actor, command, key=key)
    return dict(outcome.answer)


def _labelled(found: Answer) -> Answer:
    return {"note": answers.NOTE} | found


TOOLBOX: Final = Toolbox(
    tools=TOOLS,
    handlers=MappingProxyType(
        {
            "recall": _recall,
            "open": _open,
            "trace": _trace,
            "remember": partial(_command, parse.parse_remember),
            "relate": partial(_command, parse.parse_relate),
            "retract": partial(_command, parse.parse_retract),
            "merge": partial(_command, parse.parse_merge),
            "unmerge": partial(_command, parse.parse_unmerge),
            "set_status": partial(_command, parse.parse_set_status),
        }
    ),
    roles=ROLE_TOOLS,
)
