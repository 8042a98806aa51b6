"""Says what a message is: one JSON-RPC 2.0 request, notification or answer, soundly addressed.

Both doors look before the SDK does. It takes a request whose id is neither a string nor an integer
for a notification, which nobody answers; and it tells of what is wrong in its validator's words.
"""

from __future__ import annotations

from typing import Final

from muniment.domain.canonical import Json
from muniment.domain.errors import Malformed

BAD_PARAMS: Final = "bad_params"


def require_message(value: Json) -> None:
    """Refuse what is not one message.

    Raises:
        Malformed: `not_json_rpc`, or `bad_params` for a call that names no tool or gives its
            arguments in another form than an object.
    """
    if not isinstance(value, dict):
        raise _no_message("Send one request or notification at a time; there are no batches.")
    if value.get("jsonrpc") != "2.0":
        raise _no_message('Say "jsonrpc": "2.0".', "jsonrpc")
    if "id" in value and not _is_id(value["id"]):
        raise _no_message("Use a string or an integer; leave it out of a notification.", "id")
    if "method" not in value:
        if "id" not in value or not ("result" in value or "error" in value):
            raise _no_message("Name the method.", "method")
        return
    if not isinstance(value["method"], str):
        raise _no_message("Name the method in a string.", "method")
    params = value.get("params")
    if params is not None and not isinstance(params, dict):
        raise _no_message("Give an object, or leave it out.", "params")
    if value["method"] == "tools/call":
        _require_call(params or {})


def _require_call(params: dict[str, Json]) -> None:
    if not isinstance(params.get("name"), str):
        raise Malformed(
            "The call does not name a tool.",
            code=BAD_PARAMS,
            field="params.name",
            next_step="Name one in a string; tools/list shows them.",
        )
    arguments = params.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        raise Malformed(
            "The arguments of a call are an object.",
            code=BAD_PARAMS,
            field="params.arguments",
            next_step="Give each argument by its name, as the tool's input schema has it.",
        )


def _is_id(value: Json) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _no_message(next_step: str, field: str | None = None) -> Malformed:
    return Malformed(
        "This is not one JSON-RPC message.", code="not_json_rpc", field=field, next_step=next_step
    )
