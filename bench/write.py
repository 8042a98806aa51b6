"""How fast acknowledged claims become durable, beside a plain writer on the same server.

    scripts/bench write [--rounds N] [--seconds S] [--verify-events N] [--json FILE]

Every variant has a database of its own, made alike; in each round all of them run in turn, the
order rotated, and ratios are taken within a round, since the machine's speed drifts. The plain
writer does what one would write first: a transaction a claim, with a round trip for the key, for
the current value, for the event and for the projection, on many connections; it has no hash
chain and takes its positions from a sequence, which makes it faster than it could safely be.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import itertools
import json
import random
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID, uuid4

import asyncpg
from sqlalchemy.engine import make_url

from muniment.actions import Actions, WriterSettings
from muniment.actions.maintenance import verify
from muniment.domain import commands as cmd
from muniment.domain.commands import Ref
from muniment.domain.errors import MunimentError
from muniment.domain.identity import FLEET, Actor, Reader, Role, Via
from muniment.embedded.postgres import EmbeddedPostgres
from muniment.store.database import Database
from muniment.store.migrate import migrate
from muniment.store.workspaces import ensure_workspace

OBJECTS = 5_000
PROPERTIES = ("description", "status", "owner", "version")
PLAIN_CONNECTIONS = (8, 16, 32)
WORDS = [f"word{n}" for n in range(4_000)]

PLAIN_SCHEMA = """
CREATE TABLE plain_events (
    pos bigserial PRIMARY KEY, event_id uuid NOT NULL, object_id uuid NOT NULL, kind text NOT NULL,
    actor_id uuid NOT NULL, payload text NOT NULL, recorded_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON plain_events (object_id, pos);
CREATE TABLE plain_claims (
    object_id uuid NOT NULL, property text NOT NULL, source text NOT NULL, value text NOT NULL,
    pos bigint NOT NULL, PRIMARY KEY (object_id, property, source));
CREATE TABLE plain_keys (key text PRIMARY KEY, pos bigint);
CREATE TABLE plain_docs (pos bigint PRIMARY KEY, tsv tsvector NOT NULL);
CREATE INDEX ON plain_docs USING gin (tsv);
"""


@dataclass(slots=True)
class Variant:
    """One way to write. run: write until the deadline, return (claims, latencies in seconds)."""

    name: str
    run: Callable[[float], Awaitable[tuple[int, list[float]]]]


class Load:
    """The same stream of claims for every variant."""

    def __init__(self, objects: list[UUID]) -> None:
        self._objects = objects
        self._random = random.Random(7)
        self._count = itertools.count()

    def next(self) -> tuple[UUID, str, str, str]:
        """Return (object, property, value, key)."""
        draw = self._random
        value = " ".join(draw.choices(WORDS, k=8))
        return draw.choice(self._objects), draw.choice(PROPERTIES), value, f"k{next(self._count)}"

    def command(self) -> tuple[cmd.Command, str]:
        """Return the claim as a command with its key."""
        object_id, name, value, key = self.next()
        return cmd.Remember(claims=(claim(object_id, name, value),)), key


def claim(object_id: UUID, name: str, value: str) -> cmd.ClaimInput:
    """Return one claim."""
    return cmd.ClaimInput(
        about=Ref(object_id=object_id), property=name, value=f'"{value}"', stated=cmd.Stated()
    )


def agent(workspace_id: UUID) -> Actor:
    """Return an agent to write as."""
    reader = Reader(
        workspace_id=workspace_id,
        principal_id=uuid4(),
        name="bench",
        role=Role.AGENT,
        audiences=frozenset({FLEET}),
    )
    return Actor(reader=reader, via=Via.MCP, source="agent:bench")


async def callers(
    count: int, seconds: float, write: Callable[[], Awaitable[object]]
) -> tuple[int, list[float]]:
    """Run `count` callers that write one after the other until the time is up."""
    deadline = time.perf_counter() + seconds
    latencies: list[float] = []

    async def call() -> None:
        while (start := time.perf_counter()) < deadline:
            await write()
            latencies.append(time.perf_counter() - start)

    await asyncio.gather(*(call() for _ in range(count)))
    return len(latencies), latencies


class Bench:
    """Databases made alike, and the variants on them."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._closers: list[Callable[[], Awaitable[object]]] = []

    async def database(self, name: str) -> str:
        """Return the URL of a fresh database."""
        connection = await asyncpg.connect(self._server)
        await connection.execute(f'CREATE DATABASE "{name}"')
        await connection.close()
        return make_url(self._server).set(database=name).render_as_string(hide_password=False)

    async def product(self, name: str, *, documents: bool) -> tuple[Actions, Actor, Load]:
        """Return the product on a fresh database that holds the objects."""
        dsn = await self.database(name)
        await asyncio.to_thread(migrate, dsn)
        database = await Database.connect(dsn)
        workspace = await ensure_workspace(database, "default")
        actions = Actions(database, WriterSettings(documents=documents))
        actor = agent(workspace.workspace_id)
        made = await actions.perform_many(
            actor,
            [
                (
                    cmd.EnsureObject(
                        ref=Ref(type="Service", name=f"service {n}", canonical=f"service {n}")
                    ),
                    None,
                )
                for n in range(OBJECTS)
            ],
        )
        ids: list[UUID] = []
        for outcome in made:
            if isinstance(outcome, MunimentError):
                raise outcome
            shown: Any = outcome.answer["object"]
            ids.append(UUID(shown["id"]))
        self._closers += [actions.close, database.close]
        return actions, actor, Load(ids)

    async def product_variants(self, *, documents: bool) -> list[Variant]:
        """Return the product at 1, 32 and 256 callers, and in bulk."""
        label = "+docs" if documents else ""
        actions, actor, load = await self.product(f"product{label}", documents=documents)

        async def write() -> None:
            command, key = load.command()
            await actions.perform(actor, command, key=key)

        async def bulk(seconds: float) -> tuple[int, list[float]]:
            deadline = time.perf_counter() + seconds
            done = 0
            while time.perf_counter() < deadline:
                calls: list[tuple[cmd.Command, str | None]] = []
                for _ in range(40):
                    claims = [load.next() for _ in range(50)]
                    made = tuple(claim(o, p, v) for o, p, v, _ in claims)
                    calls.append((cmd.Remember(claims=made), claims[0][3]))
                for outcome in await actions.perform_many(actor, calls):
                    if isinstance(outcome, MunimentError):
                        raise outcome
                    done += 50
            return done, []

        def at(count: int) -> Variant:
            return Variant(f"muniment{label} {count}", lambda s: callers(count, s, write))

        return [at(1), at(32), at(256), Variant(f"muniment{label} bulk", bulk)]

    async def plain_variants(self, *, documents: bool) -> list[Variant]:
        """Return the plain writer on several numbers of connections; the best one counts."""
        label = "+docs" if documents else ""
        dsn = await self.database(f"plain{label}")
        most = max(PLAIN_CONNECTIONS)
        pool = await asyncpg.create_pool(dsn, min_size=most, max_size=most)
        await pool.execute(PLAIN_SCHEMA)
        load = Load([uuid4() for _ in range(OBJECTS)])
        actor_id = uuid4()
        self._closers.append(pool.close)

        async def write() -> None:
            object_id, name, value, key = load.next()
            payload = json.dumps({"property": name, "value": value, "source": "agent:bench"})
            async with pool.acquire() as c, c.transaction():
                if await c.fetchval("SELECT 1 FROM plain_keys WHERE key = $1", key):
                    return
                await c.fetchrow(
                    "SELECT value, pos FROM plain_claims "
                    "WHERE object_id = $1 AND property = $2 AND source = 'agent:bench' FOR UPDATE",
                    object_id,
                    name,
                )
                pos = await c.fetchval(
                    "INSERT INTO plain_events (event_id, object_id, kind, actor_id, payload) "
                    "VALUES ($1, $2, 'asserted', $3, $4) RETURNING pos",
                    uuid4(),
                    object_id,
                    actor_id,
                    payload,
                )
                await c.execute(
                    "INSERT INTO plain_claims VALUES ($1, $2, 'agent:bench', $3, $4) "
                    "ON CONFLICT (object_id, property, source) "
                    "DO UPDATE SET value = excluded.value, pos = excluded.pos",
                    object_id,
                    name,
                    value,
                    pos,
                )
                if documents:
                    await c.execute(
                        "INSERT INTO plain_docs VALUES ($1, to_tsvector('simple', $2))",
                        pos,
                        f"{name} {value}",
                    )
                await c.execute("INSERT INTO plain_keys VALUES ($1, $2)", key, pos)

        def on(count: int) -> Variant:
            return Variant(f"plain{label} {count}", lambda s: callers(count, s, write))

        return [on(count) for count in PLAIN_CONNECTIONS]

    async def copy_variant(self) -> Variant:
        """Return binary COPY into the product's own log, with its indexes and nothing else."""
        dsn = await self.database("copy")
        await asyncio.to_thread(migrate, dsn)
        connection = await asyncpg.connect(dsn)
        self._closers.append(connection.close)
        workspace_id, actor_id = uuid4(), uuid4()
        positions = itertools.count(1)
        load = Load([uuid4() for _ in range(OBJECTS)])
        columns = (
            "workspace_id pos event_id kind object_id actor_id via audience recorded_at payload "
            "payload_hash hash"
        ).split()

        async def run(seconds: float) -> tuple[int, list[float]]:
            deadline = time.perf_counter() + seconds
            done = 0
            while time.perf_counter() < deadline:
                rows: list[tuple[object, ...]] = []
                now = datetime.now(UTC)
                for _ in range(2_000):
                    object_id, name, value, _ = load.next()
                    payload = f'{{"property":"{name}","value":"{value}"}}'
                    digest = hashlib.sha256(payload.encode()).digest()
                    row = (workspace_id, next(positions), uuid4(), "asserted", object_id, actor_id)
                    rows.append((*row, "mcp", "fleet", now, payload, digest, digest))
                await connection.copy_records_to_table(
                    "object_events", records=rows, columns=columns
                )
                done += len(rows)
            return done, []

        return Variant("copy into the log", run)

    async def close(self) -> None:
        """Close what was opened."""
        for closer in self._closers:
            await closer()


async def rounds(variants: list[Variant], count: int, seconds: float) -> list[dict[str, Any]]:
    """Run all variants in each round, the order rotated; return claims per second by name."""
    told: list[dict[str, Any]] = []
    for number in range(count):
        turn = variants[number % len(variants) :] + variants[: number % len(variants)]
        figures: dict[str, Any] = {}
        for variant in turn:
            start = time.perf_counter()
            done, latencies = await variant.run(seconds)
            rate = done / (time.perf_counter() - start)
            latencies.sort()
            figures[variant.name] = {"per_second": round(rate)} | (
                {
                    "p50_ms": round(latencies[len(latencies) // 2] * 1e3, 2),
                    "p95_ms": round(latencies[int(len(latencies) * 0.95)] * 1e3, 2),
                }
                if latencies
                else {}
            )
        told.append(figures)
    return told


def summary(told: list[dict[str, Any]]) -> dict[str, Any]:
    """Return medians, and ratios to the best plain writer of the same round."""

    def best_plain(figures: dict[str, Any], label: str) -> float:
        prefix = f"plain{label} "
        return max(f["per_second"] for n, f in figures.items() if n.startswith(prefix))

    table: dict[str, Any] = {}
    for name in told[0]:
        rates = [figures[name]["per_second"] for figures in told]
        row: dict[str, Any] = {"median": round(median(rates)), "range": [min(rates), max(rates)]}
        for key in ("p50_ms", "p95_ms"):
            if key in told[0][name]:
                row[key] = median(figures[name][key] for figures in told)
        label = "+docs" if "+docs" in name else ""
        ratios = [figures[name]["per_second"] / best_plain(figures, label) for figures in told]
        row["to_best_plain"] = round(median(ratios), 2)
        row["to_best_plain_range"] = [round(min(ratios), 2), round(max(ratios), 2)]
        if "bulk" in name:
            copied = [f[name]["per_second"] / f["copy into the log"]["per_second"] for f in told]
            row["to_copy"] = round(median(copied), 3)
        table[name] = row
    return table


async def verify_speed(bench: Bench, events: int) -> dict[str, Any]:
    """Fill a log with so many events and time its verification, hashes included."""
    actions, actor, load = await bench.product("verified", documents=False)
    done = OBJECTS
    while done < events:
        calls: list[tuple[cmd.Command, str | None]] = []
        for _ in range(100):
            claims = tuple(claim(o, p, v) for o, p, v, _ in (load.next() for _ in range(50)))
            calls.append((cmd.Remember(claims=claims), None))
        await actions.perform_many(actor, calls)
        done += 5_000
    database = actions.database
    times: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        report = await verify(database, actor.workspace_id, documents=False)
        times.append(time.perf_counter() - start)
        if not report.ok:
            raise SystemExit(f"verify found {report.problems[:3]}")
    return {"events": done, "seconds": round(median(times), 2), "per_second": round(done / median(times))}


async def main(options: argparse.Namespace) -> None:
    """Run the bench and print its figures."""
    home = Path(tempfile.mkdtemp(prefix="muniment-bench-"))
    home.chmod(0o755)
    postgres = EmbeddedPostgres(home)
    try:
        bench = Bench(postgres.start())
        variants: list[Variant] = []
        for documents in (False, True):
            variants += await bench.plain_variants(documents=documents)
            variants += await bench.product_variants(documents=documents)
        variants.append(await bench.copy_variant())
        told = await rounds(variants, options.rounds, options.seconds)
        result: dict[str, Any] = {
            "rounds": options.rounds,
            "seconds": options.seconds,
            "variants": summary(told),
            "by_round": told,
        }
        if options.verify_events:
            result["verify"] = await verify_speed(bench, options.verify_events)
        await bench.close()
        report(result, options.json)
    finally:
        postgres.stop_if_last()
        shutil.rmtree(home, ignore_errors=True)


def report(result: dict[str, Any], path: str | None) -> None:
    """Print a table, and write the whole as JSON if asked to."""
    for name, row in result["variants"].items():
        latency = f"{row['p50_ms']:>8} {row['p95_ms']:>8}" if "p50_ms" in row else " " * 17
        copied = f"  {row['to_copy']} of COPY" if "to_copy" in row else ""
        low, high = row["to_best_plain_range"]
        print(f"{name:<22} {row['median']:>8}/s {latency}  x{row['to_best_plain']} [{low}-{high}]{copied}")
    if "verify" in result:
        print(f"verify {result['verify']}")
    if path:
        Path(path).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--verify-events", type=int, default=500_000)
    parser.add_argument("--json")
    asyncio.run(main(parser.parse_args()))
