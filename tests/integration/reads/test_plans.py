"""Owns how search is carried out: by its indexes, with and without statistics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import asyncpg
import pytest

from muniment.reads import recall
from muniment.reads.arguments import parse_recall
from muniment.store.database import Connection, Database
from muniment.store.read import recall as store
from muniment.store.statements import load
from tests.integration.reads.desk import Desk

DOCUMENTS = 3_000
MOST_ROWS = 20 * DOCUMENTS
"""Twice as many documents for each of some lexemes; a join gone wrong handles millions."""


class Explaining:
    """A connection that keeps the plan of each statement it runs."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.plans: dict[str, str] = {}

    async def fetch(
        self, sql: str, *arguments: object, **_options: object
    ) -> Sequence[asyncpg.Record]:
        explain = f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {sql}"
        rows = await self._connection.fetch(explain, *arguments)
        self.plans[sql] = "\n".join(row[0] for row in rows)
        return await self._connection.fetch(sql, *arguments)


async def _plans(database: Database, desk: Desk, query: str) -> dict[str, str]:
    async with database.reader.acquire() as connection:
        explaining: Any = Explaining(connection)
        await recall.recall(explaining, b"s" * 32, desk.who.reader, parse_recall({"query": query}))
    named = {sql: name for name, sql in store.STATEMENTS.items()}
    return {named[sql]: plan for sql, plan in explaining.plans.items()}


def _most_rows(plan: str) -> float:
    """Return the most rows that one step of a plan handled in all its loops."""
    steps = re.findall(r"rows=([\d.]+) loops=(\d+)", plan)
    return max(float(rows) * int(loops) for rows, loops in steps)


async def test_every_statement_of_reads_can_be_prepared_by_the_reader(database: Database) -> None:
    names = ("events", "lens", "objects", "recall")
    statements = [sql for name in names for sql in load(f"read/{name}.sql").values()]
    assert len(statements) > 20
    async with database.reader.acquire() as connection:
        for sql in statements:
            await connection.prepare(sql)


@pytest.mark.parametrize("analyzed", [False, True])
async def test_search_takes_its_indexes_and_touches_no_more_than_it_admits(
    database: Database, desk: Desk, analyzed: bool
) -> None:
    await desk.say_many(
        {
            "about": f"common name {n}",
            "type": "Document",
            "property": "text",
            "value": f"number{n} common words",
        }
        for n in range(DOCUMENTS)
    )
    if analyzed:
        connection: Connection = await asyncpg.connect(database.dsn)
        await connection.execute("VACUUM ANALYZE")
        await connection.close()
    for query in ("number17", "comon nmae", "number17 common words of it"):
        for name, plan in (await _plans(database, desk, query)).items():
            assert "Seq Scan" not in plan, (query, name, plan)
            assert _most_rows(plan) <= MOST_ROWS, (query, name, plan)
            if analyzed and name == "rank_documents" and "number17" in query:
                assert "search_documents_text" in plan, plan
                assert "object_events" not in plan, plan
