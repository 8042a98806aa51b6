"""Owns a model that follows a script: the real client does the rest of an agent's loop itself.

It serves the Anthropic Messages API on loopback, whole or streamed. Each turn it calls the next
tool of its script, with arguments that may be made of what the tools said before, and at the end
it says what the last one said. What it was offered and what reached it is kept for the test.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One turn. tool: as the client names it. arguments: made of the results so far."""

    tool: str
    arguments: Callable[[Sequence[str]], Json]


@dataclass(slots=True, kw_only=True)
class Heard:
    """What reached the model: the tools of its last turn by name, and each tool's result."""

    tools: dict[str, Json] = field(default_factory=dict[str, Json])
    results: list[str] = field(default_factory=list[str])
    system: str = ""
    turns: int = 0


class ScriptedModel:
    """A model on loopback, from `with` to its end. url: the base of its API."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._steps = tuple(steps)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, name="model")
        self.heard = Heard()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, request: Json) -> Json:
        """Return the block that continues a conversation."""
        results = list(_results(request))
        step = self._steps[len(results)] if len(results) < len(self._steps) else None
        offered: dict[str, Json] = {tool["name"]: tool for tool in request.get("tools", ())}
        if not any(known.tool in offered for known in self._steps):
            # A client asks on the side for a title, or whether the model is there.
            return {"type": "text", "text": "A title"}
        self.heard.turns += 1
        self.heard.tools, self.heard.results = offered, results
        self.heard.system = json.dumps(request.get("system", "")) + json.dumps(request["messages"])
        if step is None:
            return {"type": "text", "text": f"The last tool said: {results[-1]}"}
        return {
            "type": "tool_use",
            "id": f"toolu_{len(results):04}",
            "name": step.tool,
            "input": step.arguments(results),
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path.partition("?")[0].endswith("/count_tokens"):
                    self._reply("application/json", json.dumps({"input_tokens": 1}))
                    return
                block = model.answer(request)
                if request.get("stream"):
                    self._reply("text/event-stream", "".join(_streamed(block)))
                else:
                    message = _message(block["type"]) | {"content": [block]}
                    self._reply("application/json", json.dumps(message))

            def do_GET(self) -> None:
                self._reply("application/json", json.dumps({"data": [], "has_more": False}))

            def do_HEAD(self) -> None:
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def _reply(self, media_type: str, text: str) -> None:
                body = text.encode()
                self.send_response(200)
                self.send_header("content-type", media_type)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: the test looks at what was heard."""

        return Handler


def _results(request: Json) -> Iterable[str]:
    """Yield what the tools said, in order."""
    for message in request.get("messages", ()):
        for block in _blocks(message["content"]):
            if block["type"] == "tool_result":
                yield "".join(part.get("text", "") for part in _blocks(block.get("content", "")))


def _blocks(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _message(kind: str) -> Json:
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [],
        "stop_reason": "tool_use" if kind == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _streamed(block: Json) -> Iterable[str]:
    """Yield one message as server-sent events, its only block in one piece."""
    whole = _message(block["type"])
    if block["type"] == "text":
        nothing: Json = {"text": ""}
        piece: Json = {"type": "text_delta", "text": block["text"]}
    else:
        nothing = {"input": Json()}
        piece = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    events: list[Json] = [
        {"type": "message_start", "message": whole | {"stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": block | nothing},
        {"type": "content_block_delta", "index": 0, "delta": piece},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": 1},
        },
        {"type": "message_stop"},
    ]
    for event in events:
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
