"""The ways of writing that `bench.write` compares, each on a database made alike.

The plain writer does what one would write first: a transaction a claim, with a round trip for the
key, for the current value, for the event and for the projection, on many connections. It has no
hash chain and takes its positions from a sequence, which makes it faster than it could safely be.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import asyncpg
from sqlalchemy.engine import make_url

from muniment.actions import Actions, WriterSettings
from muniment.actions.collector import settle_collector
from muniment.domain import commands as cmd
from muniment.domain.commands import Ref
from muniment.domain.errors import MunimentError
from muniment.domain.identity import FLEET, Actor, Reader, Role, Via
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
        settle_collector()
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
        columns = [
            "workspace_id",
            "pos",
            "event_id",
            "kind",
            "object_id",
            "actor_id",
            "via",
            "audience",
            "recorded_at",
            "payload",
            "payload_hash",
            "hash",
        ]

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
