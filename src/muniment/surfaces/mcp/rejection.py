"""How the HTTP door says no: a status, and a JSON-RPC error with our code and the next step."""

from __future__ import annotations

import json
import math
from typing import Final, cast

import orjson
from mcp.types import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR
from starlette.responses import Response

from muniment.domain import limits
from muniment.domain.errors import (
    Busy,
    Malformed,
    MunimentError,
    NotFound,
    Refused,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from muniment.surfaces.mcp.envelope import BAD_PARAMS

SERVER_ERROR: Final = -32000
"""JSON-RPC leaves -32000 to -32099 to servers; what happened stands in `data.code`."""

_RPC_CODES: Final = {
    "invalid_json": PARSE_ERROR,
    "invalid_utf8": PARSE_ERROR,
    BAD_PARAMS: INVALID_PARAMS,
}
_ID_CHARS: Final = 200
_READ_FOR_ID_BYTES: Final = 64 * 1024


class Rejection(Exception):
    """A request goes no further. `request_id`: of the JSON-RPC request, where it is known."""

    def __init__(
        self,
        status: int,
        error: MunimentError,
        *,
        rpc_code: int = SERVER_ERROR,
        headers: dict[str, str] | None = None,
        request_id: str | int | None = None,
    ) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error
        self.rpc_code = rpc_code
        self.headers = headers
        self.request_id = request_id

    def body(self) -> dict[str, object]:
        """Return the refusal as a JSON-RPC error."""
        data = self.error.as_dict()
        message = data.pop("message")
        error = {"code": self.rpc_code, "message": message, "data": data}
        return {"jsonrpc": "2.0", "id": self.request_id, "error": error}

    def response(self) -> Response:
        """Return the refusal as HTTP and JSON-RPC clients both read it."""
        return Response(
            orjson.dumps(self.body()), self.status, self.headers, media_type="application/json"
        )


def host_not_allowed() -> Rejection:
    return Rejection(
        421,
        Refused(
            "This Host is not served.",
            code="host_not_allowed",
            field="Host",
            next_step="Use a loopback name, or add the name to MUNIMENT_ALLOWED_HOSTS.",
        ),
    )


def origin_not_allowed() -> Rejection:
    return Rejection(
        403,
        Refused(
            "This Origin is not served.",
            code="origin_not_allowed",
            field="Origin",
            next_step="Add the origin to MUNIMENT_ALLOWED_ORIGINS if it is yours.",
        ),
    )


def no_token() -> Unauthenticated:
    return Unauthenticated(
        "A bearer token is needed.",
        field="Authorization",
        next_step="Send 'Authorization: Bearer mun_...'; an operator issues a token with "
        "muniment token create.",
    )


def unauthenticated(error: Unauthenticated, *, token_given: bool) -> Rejection:
    challenge = 'Bearer realm="muniment"'
    if token_given:
        challenge += f', error="invalid_token", error_description="{error.message}"'
    return Rejection(401, error, headers={"WWW-Authenticate": challenge})


def unavailable(error: Unavailable) -> Rejection:
    return Rejection(503, error, headers={"Retry-After": "1"})


def method_not_allowed(method: str) -> Rejection:
    return Rejection(
        405,
        Refused(
            f"{method} is not served here.",
            code="method_not_allowed",
            next_step="POST one JSON-RPC message; there is no stream and no session to hold open.",
        ),
        headers={"Allow": "POST"},
    )


def unknown_session() -> Rejection:
    return Rejection(
        404,
        NotFound(
            "There is no such session.",
            code="unknown_session",
            field="Mcp-Session-Id",
            next_step="Initialize again; this service holds no sessions and gives no id.",
        ),
    )


def wrong_media_type() -> Rejection:
    return Rejection(
        415,
        Malformed(
            "The body must be JSON.",
            code="media_type",
            field="Content-Type",
            next_step="Send 'Content-Type: application/json'.",
        ),
    )


def not_acceptable() -> Rejection:
    return Rejection(
        406,
        Refused(
            "The answer is JSON, which the request does not take.",
            code="not_acceptable",
            field="Accept",
            next_step="Send 'Accept: application/json, text/event-stream'.",
        ),
    )


def too_large(limit: int) -> Rejection:
    return Rejection(
        413,
        TooLarge(
            f"The body is over {limit} bytes.",
            code="body_too_large",
            field="body",
            limit=limit,
            next_step="Split it into several calls.",
        ),
        rpc_code=INVALID_REQUEST,
        headers={"Connection": "close"},
    )


def too_slow(seconds: float) -> Rejection:
    return Rejection(
        408,
        Refused(
            f"The body did not arrive within {seconds:.0f} seconds.",
            code="body_timeout",
            limit=seconds,
            next_step="Send it again.",
        ),
        headers={"Connection": "close"},
    )


def malformed(error: Malformed, body: bytes) -> Rejection:
    code = _RPC_CODES.get(error.code, INVALID_REQUEST)
    return Rejection(400, error, rpc_code=code, request_id=request_id_of(body))


def rate_limited(wait: float, body: bytes) -> Rejection:
    seconds = math.ceil(wait)
    return Rejection(
        429,
        Busy(
            "This principal calls too often.",
            code="rate_limited",
            next_step=f"Wait {seconds} s, then go on; several claims fit into one call.",
            details={"retry_after": seconds, "retry_after_ms": math.ceil(wait * 1000)},
        ),
        headers={"Retry-After": str(seconds)},
        request_id=request_id_of(body),
    )


def request_id_of(body: bytes) -> str | int | None:
    """Return the id that a refused request seems to have, so that its sender need not wait.

    The body was refused, so it is read leniently and nothing of it but the id is used.
    """
    if len(body) > _READ_FOR_ID_BYTES:
        return None
    try:
        value: object = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    found: object = cast("dict[str, object]", value).get("id") if isinstance(value, dict) else None
    if isinstance(found, bool) or not isinstance(found, str | int):
        return None
    if isinstance(found, int):
        return found if limits.INT_MIN <= found <= limits.INT_MAX else None
    return found if len(found) <= _ID_CHARS and found.isprintable() else None
