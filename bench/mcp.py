"""How fast the service answers over HTTP, beside a tool on the same server that does nothing.

    scripts/bench mcp [--objects N] [--rounds N] [--seconds S] [--connections N] [--json FILE]

The service is a process of its own, made by the product's application; this one is the client,
which speaks plain HTTP/1.1 over keep-alive connections and looks at nothing but the status and
the error flag. In each round every variant runs in turn, the order rotated, and ratios are taken
within a round. Both eras of the protocol are measured: a harness of today opens with either.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import asyncpg
from sqlalchemy.engine import make_url

from bench.mcp_server import NOTHING
from muniment.actions import Actions, WriterSettings
from muniment.domain.commands import Command
from muniment.domain.errors import MunimentError
from muniment.domain.parse import parse_remember
from muniment.embedded.postgres import EmbeddedPostgres
from muniment.store.database import Database
from muniment.store.migrate import migrate
from muniment.store.workspaces import ensure_workspace
from muniment.surfaces.principal import Principal, create_token, local_operator

_SYLLABLES: Final = [first + vowel for first in "bdfghklmnprstvz" for vowel in "aeiou"]
WORDS: Final = ["".join(parts) for parts in itertools.product(_SYLLABLES, repeat=2)]
random.Random(1).shuffle(WORDS)
"""A vocabulary whose words share nothing, as those of a language do not."""
FREQUENCIES: Final = [*itertools.accumulate(1 / rank for rank in range(1, len(WORDS) + 1))]
"""Cumulative weights by Zipf's law: a few words are everywhere, most are rare."""
CLAIMS_PER_CALL: Final = 50
MODERN: Final = "2026-07-28"
HANDSHAKE: Final = "2025-11-25"


class Load:
    """The objects in the store, and the stream of questions and claims about them."""

    def __init__(self, objects: int) -> None:
        self.objects = objects
        self._random = random.Random(7)
        self._count = itertools.count()

    def filling(self) -> list[tuple[Command, str | None]]:
        """Return the commands that make the objects, with one claim each."""
        calls: list[tuple[Command, str | None]] = []
        for start in range(0, self.objects, CLAIMS_PER_CALL):
            numbers = range(start, min(start + CLAIMS_PER_CALL, self.objects))
            calls.append((parse_remember({"claims": [self._claim(n) for n in numbers]}), None))
        return calls

    def nothing(self) -> tuple[str, dict[str, Any]]:
        return NOTHING, {}

    def recall(self) -> tuple[str, dict[str, Any]]:
        named = self._name(self._random.randrange(self.objects))
        return "recall", {"query": f"{named} {' '.join(self._words(2))}"}

    def remember(self) -> tuple[str, dict[str, Any]]:
        claim = self._claim(self._random.randrange(self.objects))
        return "remember", {"claims": [claim], "key": f"k{next(self._count)}"}

    def _words(self, count: int) -> list[str]:
        return self._random.choices(WORDS, cum_weights=FREQUENCIES, k=count)

    def _name(self, number: int) -> str:
        more, first = divmod(number, len(WORDS))
        return f"{WORDS[first]} {WORDS[(first * 7 + more) % len(WORDS)]} {WORDS[more]}"

    def _claim(self, number: int) -> dict[str, Any]:
        return {
            "about": self._name(number),
            "type": "Service",
            "property": "description",
            "value": " ".join(self._words(8)),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One kind of call in one era."""

    name: str
    era: str
    call: Callable[[], tuple[str, dict[str, Any]]]


class Connection:
    """One keep-alive connection that calls tools."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str):
        self._reader = reader
        self._writer = writer
        self._token = token

    async def call(self, era: str, tool: str, arguments: dict[str, Any]) -> None:
        """Call a tool; an answer that is an error ends the bench."""
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        head = f"MCP-Protocol-Version: {era}\r\n"
        if era == MODERN:
            head += f"Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": era,
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        body = json.dumps(message).encode()
        self._writer.write(
            f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self._token}\r\n"
            f"Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
            f"{head}Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        answer = await self._answer()
        if b'"isError":false' not in answer:
            raise SystemExit(f"{tool} failed: {answer[:400]!r}")

    async def _answer(self) -> bytes:
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return await self._reader.readexactly(length)

    def close(self) -> None:
        self._writer.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The service's process."""

    pid: int
    port: int

    def resident_mb(self) -> float:
        """Return its resident memory in MB of 2**20 bytes."""
        told = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(self.pid)], check=True, capture_output=True, text=True
        )
        return round(int(told.stdout) / 1024, 1)


@asynccontextmanager
async def serving(dsn: str) -> AsyncGenerator[Server]:
    """Start the service and yield it once it has said its port."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bench.mcp_server",
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"MUNIMENT_DATABASE_URL": dsn},
    )
    try:
        assert process.stdout is not None
        port = await asyncio.wait_for(process.stdout.readline(), 60)
        yield Server(pid=process.pid, port=int(port))
    finally:
        process.terminate()
        await process.wait()


async def fill(dsn: str, load: Load) -> str:
    """Make the objects and return the token of an agent."""
    database = await Database.connect(dsn)
    workspace = await ensure_workspace(database, "default")
    actions = Actions(database, WriterSettings(queue_limit=100_000))
    operator: Principal = local_operator(workspace.workspace_id)
    token = await create_token(actions, operator.actor, name="bench", role="agent")
    for result in await actions.perform_many(operator.actor, load.filling()):
        if isinstance(result, MunimentError):
            raise result
    await actions.close()
    await database.close()
    return token.token


async def run(variant: Variant, connections: list[Connection], seconds: float) -> dict[str, float]:
    """Call on all connections until the time is up; return the rate and the latencies."""
    deadline = time.perf_counter() + seconds
    latencies: list[float] = []

    async def keep_calling(connection: Connection) -> None:
        while (start := time.perf_counter()) < deadline:
            await connection.call(variant.era, *variant.call())
            latencies.append(time.perf_counter() - start)

    start = time.perf_counter()
    await asyncio.gather(*map(keep_calling, connections))
    rate = len(latencies) / (time.perf_counter() - start)
    latencies.sort()
    return {
        "per_second": round(rate, 1),
        "p50_ms": round(latencies[len(latencies) // 2] * 1e3, 2),
        "p95_ms": round(latencies[int(len(latencies) * 0.95)] * 1e3, 2),
    }


def summary(variants: list[Variant], told: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Return medians over the rounds, and ratios to the do-nothing tool of the same era."""
    table: dict[str, Any] = {}
    for variant in variants:
        rates = [figures[variant.name]["per_second"] for figures in told]
        base = f"{NOTHING} {variant.era}"
        ratios = [f[variant.name]["per_second"] / f[base]["per_second"] for f in told]
        table[variant.name] = {
            "per_second": median(rates),
            "range": [min(rates), max(rates)],
            "p50_ms": median(f[variant.name]["p50_ms"] for f in told),
            "p95_ms": median(f[variant.name]["p95_ms"] for f in told),
            "to_nothing": round(median(ratios), 2),
            "to_nothing_range": [round(min(ratios), 2), round(max(ratios), 2)],
        }
    return table


async def measure(dsn: str, token: str, load: Load, options: argparse.Namespace) -> dict[str, Any]:
    """Start the service and measure all variants in rotated rounds."""
    variants = [
        Variant(name=f"{call.__name__} {era}", era=era, call=call)
        for era in (MODERN, HANDSHAKE)
        for call in (load.nothing, load.recall, load.remember)
    ]
    async with serving(dsn) as server:
        idle = server.resident_mb()
        connections = [
            Connection(*await asyncio.open_connection("127.0.0.1", server.port), token)
            for _ in range(options.connections)
        ]
        for variant in variants:
            await run(variant, connections, 0.5)
        told: list[dict[str, dict[str, float]]] = []
        for number in range(options.rounds):
            at = number % len(variants)
            figures: dict[str, dict[str, float]] = {}
            for variant in variants[at:] + variants[:at]:
                figures[variant.name] = await run(variant, connections, options.seconds)
            told.append(figures)
        loaded = server.resident_mb()
        for connection in connections:
            connection.close()
    return {
        "objects": load.objects,
        "connections": options.connections,
        "rounds": options.rounds,
        "seconds": options.seconds,
        "resident_mb": {"idle": idle, "after_load": loaded},
        "tools": summary(variants, told),
        "by_round": told,
    }


async def main(options: argparse.Namespace) -> None:
    """Run the bench and print its figures."""
    home = Path(tempfile.mkdtemp(prefix="muniment-bench-"))
    home.chmod(0o755)
    postgres = EmbeddedPostgres(home)
    try:
        server = postgres.start()
        connection = await asyncpg.connect(server)
        await connection.execute("CREATE DATABASE bench")
        await connection.close()
        dsn = make_url(server).set(database="bench").render_as_string(hide_password=False)
        await asyncio.to_thread(migrate, dsn)
        load = Load(options.objects)
        start = time.perf_counter()
        token = await fill(dsn, load)
        print(f"filled {options.objects} objects in {time.perf_counter() - start:.1f} s")
        connection = await asyncpg.connect(dsn)
        await connection.execute("VACUUM ANALYZE")
        await connection.close()
        report(await measure(dsn, token, load, options), options.json)
    finally:
        postgres.stop_if_last()
        shutil.rmtree(home, ignore_errors=True)


def report(result: dict[str, Any], path: str | None) -> None:
    """Print a table, and write the whole as JSON if asked to."""
    for name, row in result["tools"].items():
        low, high = row["to_nothing_range"]
        print(
            f"{name:<22} {row['per_second']:>8.1f}/s  p50 {row['p50_ms']:>7} ms  "
            f"p95 {row['p95_ms']:>7} ms  x{row['to_nothing']} [{low}-{high}]"
        )
    print(f"resident memory, MB: {result['resident_mb']}")
    if path:
        Path(path).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--json")
    asyncio.run(main(parser.parse_args()))
