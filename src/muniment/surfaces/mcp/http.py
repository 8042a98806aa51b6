"""The HTTP application: MCP at /mcp, a sign of life at /healthz, a plain 404 for all else.

Stateless: a call carries all that it needs, so the service may be restarted, or run in copies,
between any two calls. Answers are single JSON bodies in both eras of the protocol. There is no
OAuth server here, and the paths where clients look for one say so with a 404.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final, cast

import orjson
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from muniment.bootstrap import Service
from muniment.domain.errors import MunimentError, NotFound, Refused, Unavailable
from muniment.store.credentials import answers as database_answers
from muniment.surfaces.mcp import answers
from muniment.surfaces.mcp.gate import Gate, principal_of
from muniment.surfaces.mcp.hosts import Hosts
from muniment.surfaces.mcp.server import Context, build_server
from muniment.surfaces.mcp.tools import TOOLBOX, Toolbox
from muniment.surfaces.principal import Principal

MCP_PATH: Final = "/mcp"
HEALTH_SECONDS: Final = 3.0

_log = logging.getLogger("muniment.mcp")


def create_app(service: Service, toolbox: Toolbox = TOOLBOX) -> Starlette:
    """Return the application over an open service, which stays the caller's to close."""
    hosts = Hosts(service.settings)
    manager = StreamableHTTPSessionManager(
        app=build_server(service, _asking, toolbox),
        stateless=True,
        json_response=True,
        # The gate has looked already; the SDK looks again rather than being told not to.
        security_settings=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[*hosts.hosts],
            allowed_origins=[*hosts.origins],
        ),
        max_request_body_size=service.settings.request_limit_bytes,
    )
    gate = Gate(manager.handle_request, service, hosts)

    async def healthz(_: Request) -> Response:
        try:
            await database_answers(service.database, within=HEALTH_SECONDS)
        except Unavailable as error:
            _log.warning("not healthy: %s", error.message)
            return _json({"status": "unavailable", "error": error.as_dict()}, 503)
        return _json({"status": "ok"}, 200)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with manager.run():
            yield

    return Starlette(
        routes=[
            Route(MCP_PATH, gate),
            Route(f"{MCP_PATH}/", gate),
            Route("/healthz", healthz, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _http_error, Exception: _internal_error},
        lifespan=lifespan,
    )


def _asking(ctx: Context) -> Principal:
    return principal_of(cast("Request", ctx.request).scope)


async def _http_error(_: Request, raised: Exception) -> Response:
    error = cast("HTTPException", raised)
    if error.status_code == 404:
        said: MunimentError = NotFound(
            "There is nothing at this path.", next_step=f"MCP is served at {MCP_PATH}."
        )
    else:
        said = Refused(error.detail, code="http", next_step=f"MCP is served at {MCP_PATH}.")
    return _json({"error": said.as_dict()}, error.status_code, error.headers)


async def _internal_error(request: Request, _: Exception) -> Response:
    return _json({"error": answers.broken(f"{request.method} request").as_dict()}, 500)


def _json(body: object, status: int, headers: object = None) -> Response:
    extra = cast("dict[str, str] | None", headers)
    return Response(orjson.dumps(body), status, extra, media_type="application/json")
