"""Owns a look at the plans that the service's own sessions run, as the server reports them.

`auto_explain` sends each plan to the client as a notice. So what is seen is what was run: with the
plan that the session had kept, its parameters, and how many rows each step really touched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from muniment.store.database import Connection, Database

SETTINGS: Final = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_level": "notice",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_nested_statements": "off",
    "auto_explain.log_parameter_max_length": "0",
}
"""Of a database whose sessions tell their plans."""
_SCAN: Final = re.compile(r"Seq Scan on (\w+)")
_INDEX: Final = re.compile(r"Index (?:Only )?Scan(?: Backward)? (?:using|on) (\w+)")
_ROWS: Final = re.compile(r"rows=([\d.]+) loops=(\d+)")
_REMOVED: Final = re.compile(r"Rows Removed by (?:Filter|Join Filter|Index Recheck): (\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One statement as it was run, in the text form of EXPLAIN ANALYZE."""

    text: str

    @property
    def scanned(self) -> set[str]:
        """The tables that were read from end to end; a partition counts as its table."""
        return {re.sub(r"_(?:\d{4}|rest)$", "", name) for name in _SCAN.findall(self.text)}

    @property
    def indexes(self) -> set[str]:
        """The indexes that were used."""
        return set(_INDEX.findall(self.text))

    @property
    def most_rows(self) -> float:
        """The most rows that one step gave, or read and threw away, in all its loops."""
        most, loops = 0.0, 1
        for line in self.text.splitlines():
            if found := _ROWS.search(line):
                loops = int(found[2])
                most = max(most, float(found[1]) * loops)
            elif found := _REMOVED.search(line):
                most = max(most, int(found[1]) * loops)
        return most

    @property
    def generic(self) -> bool:
        """Whether it was made without the values of its parameters."""
        return re.search(r"(?:Cond|Filter): .*\$\d", self.text) is not None


@dataclass(slots=True)
class Watch:
    """Plans by the one-line purpose of their statement."""

    plans: dict[str, list[Plan]] = field(default_factory=dict[str, list[Plan]])

    def hear(self, _connection: object, message: asyncpg.PostgresLogMessage) -> None:
        """Keep a plan that the server sent."""
        text = str(message)
        if found := re.search(r"Query Text: -- (.+)\n", text):
            plan = text[text.rindex("\n", 0, text.index("(cost=")) + 1 :]
            self.plans.setdefault(found[1], []).append(Plan(text=plan))

    def forget(self) -> None:
        """Start anew."""
        self.plans.clear()


async def tell(owner: Connection, **more: str) -> None:
    """Let new sessions of the owner's database tell their plans, with more settings beside."""
    database = await owner.fetchval("SELECT quote_ident(current_database())")
    for setting, value in (SETTINGS | more).items():
        await owner.execute(f"ALTER DATABASE {database} SET {setting} = '{value}'")


def listen(database: Database) -> Watch:
    """Hear the plans of what a database's pools run from now on.

    A pool forgets the listeners of a connection that comes back, and warns of it: its next user
    is given one anew.
    """
    watch = Watch()

    async def setup(connection: PoolConnectionProxy[asyncpg.Record]) -> None:
        connection.add_log_listener(watch.hear)

    for pool in (database.writer, database.reader):
        for holder in pool._holders:  # pyright: ignore
            holder._setup = setup  # pyright: ignore
    return watch
