"""Puts the tools behind the SDK's low-level server, which speaks both eras of the protocol.

The low-level server is used because it leaves schemas, the list of each role and the results to
us; the SDK keeps the wire: handshakes, envelopes, versions, headers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, CallToolRequestParams, PaginatedRequestParams

from muniment import __version__
from muniment.bootstrap import Service
from muniment.surfaces.mcp.schemas import INSTRUCTIONS
from muniment.surfaces.mcp.tools import TOOLBOX, Toolbox, UnknownTool
from muniment.surfaces.principal import Principal

Context = ServerRequestContext[Any, Any]
WhoAsks = Callable[[Context], Principal]

_LIST_FRESH_MS = 300_000


def build_server(service: Service, who: WhoAsks, toolbox: Toolbox = TOOLBOX) -> Server[Any]:
    """Return a server whose calls are made by whom `who` finds in the request's context."""

    async def list_tools(ctx: Context, _: PaginatedRequestParams) -> dict[str, Any]:
        return {"resultType": "complete", "tools": toolbox.listing(who(ctx).role)}

    async def call_tool(ctx: Context, params: CallToolRequestParams) -> dict[str, Any]:
        try:
            return await toolbox.call(service, who(ctx), params.name, params.arguments or {})
        except UnknownTool as error:
            raise MCPError(INVALID_PARAMS, error.message, error.as_dict()) from None

    server = Server[Any](
        "muniment",
        version=__version__,
        instructions=INSTRUCTIONS,
        # The list depends on the role alone, so it may be kept, but not shared between callers.
        cache_hints={"tools/list": CacheHint(ttl_ms=_LIST_FRESH_MS, scope="private")},
        # No argument travels in a header; saying so here spares a listing before each call.
        get_tool_input_schema=_no_schema,
    )
    server.add_request_handler("tools/list", PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, call_tool)
    # The SDK traces each message by default, at a cost, to an exporter that is not here.
    server.middleware.clear()
    return server


def _no_schema(_: str) -> None:
    return None
