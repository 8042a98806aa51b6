"""The other end of the service's door: one tool call over MCP, with a bearer token.

The SDK's client negotiates the era of the protocol, so an older or newer service is spoken to as
well as it can be. What the service refuses comes back as the same typed error that it raised there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from muniment.domain import errors
from muniment.domain.errors import MunimentError, Unauthenticated, Unavailable

if TYPE_CHECKING:
    from mcp.types import CallToolResult

TIMEOUT_SECONDS: Final = 60.0
_FLAT: Final = frozenset({"code", "message", "field", "limit", "next_step"})
_BY_CODE: Final[dict[str, type[MunimentError]]] = {
    kind.default_code: kind
    for kind in (
        errors.NotFound,
        errors.Conflict,
        errors.Refused,
        errors.Busy,
        errors.Unavailable,
        errors.CapabilityDenied,
        errors.Unauthenticated,
    )
}


async def call(url: str, token: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Call a tool of the service whose MCP endpoint is `url`, and return its answer.

    Raises:
        MunimentError: what the service refused, or that it does not answer.
    """
    import httpx2
    from mcp.client import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.exceptions import MCPError

    seen: list[int] = []

    async def remember_status(response: httpx2.Response) -> None:
        seen.append(response.status_code)

    http = httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {token}"},
        timeout=TIMEOUT_SECONDS,
        event_hooks={"response": [remember_status]},
    )
    try:
        async with http, Client(streamable_http_client(url, http_client=http)) as client:
            result = await client.call_tool(tool, dict(arguments))
    except MCPError as error:
        raise _protocol_error(error.message, error.data, seen) from error
    except (httpx2.HTTPError, OSError, ExceptionGroup) as error:
        raise _unreachable(url, error, seen) from error
    return _answer(result)


def error_from(found: Mapping[str, Any]) -> MunimentError:
    """Return the error that a service described as JSON."""
    code = str(found.get("code", "error"))
    kind = _BY_CODE.get(code, _kind_of(code, found))
    return kind(
        str(found.get("message", "The service refused.")),
        code=code,
        field=found.get("field"),
        limit=found.get("limit"),
        next_step=found.get("next_step"),
        details={name: value for name, value in found.items() if name not in _FLAT},
    )


def _kind_of(code: str, found: Mapping[str, Any]) -> type[MunimentError]:
    """Guess the class of a specific code: what names a field was bad input."""
    if code.endswith(("_unavailable", "internal")):
        return MunimentError
    return errors.Malformed if "field" in found or "limit" in found else errors.Refused


def _answer(result: CallToolResult) -> dict[str, Any]:
    found: object = result.structured_content
    if found is None:
        text = "".join(getattr(part, "text", "") for part in result.content)
        with suppress(ValueError):
            found = json.loads(text)
    if not isinstance(found, dict):
        raise Unavailable(
            "The service's answer is not an object.",
            code="bad_answer",
            next_step="Check that MUNIMENT_URL names a muniment.",
        )
    answer = cast("dict[str, Any]", found)
    if result.is_error:
        raise error_from(cast("dict[str, Any]", answer.get("error", answer)))
    return answer


def _protocol_error(message: str, data: object, seen: list[int]) -> MunimentError:
    if 401 in seen:
        return _unauthenticated()
    if isinstance(data, Mapping) and "code" in data:
        return error_from(cast("Mapping[str, Any]", data))
    return errors.Refused(
        f"The service refused the call: {message}",
        code="protocol",
        next_step="Compare the versions of this muniment and the service.",
    )


def _unreachable(url: str, error: Exception, seen: list[int]) -> MunimentError:
    if 401 in seen:
        return _unauthenticated()
    return Unavailable(
        f"The service at {url} does not answer: {_innermost(error)}",
        code="service_unavailable",
        field="MUNIMENT_URL",
        next_step="Check MUNIMENT_URL and that the service runs.",
    )


def _unauthenticated() -> Unauthenticated:
    return Unauthenticated(
        "The service does not know this token.",
        field="MUNIMENT_TOKEN",
        next_step="Have one issued there: muniment token create --role agent --name NAME.",
    )


def _innermost(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return str(error) or type(error).__name__
