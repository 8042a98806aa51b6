"""Stands before the SDK: nothing reaches it but a strict body from a known principal.

In this order: the Host and Origin headers (a web page must not reach a service on loopback), the
bearer token, the method, the session, the media types, the size, the rate, the JSON, the message.
Every refusal is JSON with a stable code and the next step.
"""

from __future__ import annotations

import time
from typing import Final, cast

from starlette.types import ASGIApp, Receive, Scope, Send

from muniment.bootstrap import Service
from muniment.domain.errors import Malformed, Unauthenticated, Unavailable
from muniment.domain.jsondoor import loads_strict
from muniment.surfaces.mcp import answers, rejection
from muniment.surfaces.mcp.body import Disconnected, read_body, replay
from muniment.surfaces.mcp.envelope import require_message
from muniment.surfaces.mcp.hosts import Hosts
from muniment.surfaces.mcp.rate import RateLimit
from muniment.surfaces.mcp.rejection import Rejection
from muniment.surfaces.principal import Principal, principal_from_token

_PRINCIPAL: Final = "muniment.principal"


class Gate:
    """The ASGI application at the MCP path, around the SDK's."""

    def __init__(self, app: ASGIApp, service: Service, hosts: Hosts) -> None:
        self._app = app
        self._database = service.database
        self._hosts = hosts
        self._limit = service.settings.request_limit_bytes
        self._rate = RateLimit(service.settings.rate_limit_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            scope[_PRINCIPAL], body = await self._admit(scope, receive)
        except Rejection as no:
            await no.response()(scope, receive, send)
        except Disconnected:
            return
        except Exception:
            await Rejection(500, answers.broken("admission")).response()(scope, receive, send)
        else:
            await self._app(scope, replay(body, receive), send)

    async def _admit(self, scope: Scope, receive: Receive) -> tuple[Principal, bytes]:
        headers = _headers(scope)
        if not self._hosts.serves_host(headers.get("host", "")):
            raise rejection.host_not_allowed()
        if "origin" in headers and not self._hosts.serves_origin(headers["origin"]):
            raise rejection.origin_not_allowed()
        principal = await self._authenticate(headers)
        if scope["method"] != "POST":
            raise rejection.method_not_allowed(scope["method"])
        if "mcp-session-id" in headers:
            raise rejection.unknown_session()
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise rejection.wrong_media_type()
        if "accept" not in headers:
            # Who says nothing takes anything; the SDK wants it said.
            scope["headers"] = [*scope["headers"], (b"accept", b"application/json")]
        elif not _takes_json(headers["accept"]):
            raise rejection.not_acceptable()
        body = await read_body(headers, receive, self._limit)
        reader = principal.reader
        wait = self._rate.take((reader.workspace_id, reader.principal_id), time.monotonic())
        if wait > 0:
            raise rejection.rate_limited(wait, body)
        try:
            require_message(loads_strict(body, limit=self._limit))
        except Malformed as error:
            raise rejection.malformed(error, body) from None
        return principal, body

    async def _authenticate(self, headers: dict[str, str]) -> Principal:
        given = headers.get("authorization")
        scheme, _, token = (given or "").partition(" ")
        try:
            if scheme.lower() != "bearer" or not token.strip():
                raise rejection.no_token()
            return await principal_from_token(self._database, token.strip())
        except Unauthenticated as error:
            raise rejection.unauthenticated(error, token_given=given is not None) from None
        except Unavailable as error:
            raise rejection.unavailable(error) from None


def principal_of(scope: Scope) -> Principal:
    """Return the principal whose request was let through."""
    return cast("Principal", scope[_PRINCIPAL])


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers by lower-case name; of one that stands twice, the last."""
    pairs: list[tuple[bytes, bytes]] = scope["headers"]
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in pairs}


def _takes_json(accept: str) -> bool:
    ranges = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    return not ranges.isdisjoint({"application/json", "application/*", "*/*"})
