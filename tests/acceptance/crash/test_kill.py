"""P1 under `kill -9`: of Postgres with all its processes, and of the service, while 64 write.

After every round the survivors go on. At the end each acknowledged write is in the log once, at
the pos that its caller was told; sent again, its key gets the same answer; the store verifies.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import orjson
import pytest

from muniment.actions import Actions, maintenance
from muniment.domain.errors import MunimentError
from muniment.embedded.postgres import EmbeddedPostgres
from muniment.store.database import Database
from muniment.store.workspaces import ensure_workspace
from muniment.surfaces.principal import local_operator
from tests.acceptance.crash.servers import kill_postgres
from tests.acceptance.crash.service import command_of, is_linked, told, tried, written

pytestmark = [pytest.mark.promise("P1"), pytest.mark.timeout(600)]

REPOSITORY = Path(__file__).parents[3]
CALLERS = 64
PROGRESS = 150
"""Acknowledged writes between two kills: enough for each caller to be amid a write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a run came to. `in_doubt`: writes under way at the kills, all together."""

    rounds: int
    in_doubt: int
    acknowledged: int
    lost: int
    doubled: int
    answered_differently: int
    written_again: int
    """Events that sending every key again in the end came to."""
    problems: int
    events: int


class Service:
    """A running `service.py`."""

    def __init__(self, process: asyncio.subprocess.Process, diary: Path) -> None:
        self._process = process
        self._diary = diary
        self._told = 0
        self._ended = False
        self._news = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    @asynccontextmanager
    async def running(cls, url: str, diary: Path) -> AsyncGenerator[Self]:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tests.acceptance.crash.service", url, str(diary), str(CALLERS)),
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        service = cls(process, diary)
        try:
            yield service
        finally:
            await service.kill()

    async def progress(self, more: int = PROGRESS) -> None:
        """Wait for so many acknowledgements more than there are."""
        async with self._news:
            wanted = self._told + more
            await self._news.wait_for(lambda: self._told >= wanted or self._ended)
        assert self._told >= wanted, "the service ended by itself"

    def in_doubt(self) -> set[str]:
        """Return the keys that are sent and not answered."""
        return set(tried(self._diary)) - set(told(self._diary))

    async def finish(self) -> None:
        """Let each caller get its answer."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert await self._process.wait() == 0

    async def kill(self) -> None:
        """End it at once, if it runs."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        await self._reading

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for _ in self._process.stdout:
            async with self._news:
                self._told += 1
                self._news.notify_all()
        async with self._news:
            self._ended = True
            self._news.notify_all()


Effect = tuple[str, str | None]
"""What an event did, as far as it tells one key from another."""


async def _effects(database: Database) -> dict[int, Effect]:
    """Return the effect of each event by its pos."""
    rows = await database.reader.fetch(
        "SELECT pos, kind, object_id, payload::jsonb ->> 'value' AS value, "
        "payload::jsonb ->> 'property' AS property, payload::jsonb ->> 'name' AS name "
        "FROM object_events"
    )
    names = {row["object_id"]: row["name"] for row in rows if row["kind"] == "object_created"}
    return {
        row["pos"]: {
            "object_created": ("object", row["name"]),
            "asserted": (row["property"], row["value"]),
            "linked": ("link", names.get(row["object_id"])),
        }.get(row["kind"], (row["kind"], row["value"]))
        for row in rows
    }


def _wanted(keys: Iterable[str]) -> set[Effect]:
    wanted: set[Effect] = {("object", "Log")}
    for key in keys:
        wanted |= {("object", key), ("text", key), ("note", key)}
        if is_linked(key):
            wanted.add(("link", key))
    return wanted


def _missing(key: str, answer: str, effects: Mapping[int, Effect]) -> int:
    """Count the results of an answer that are not where it says they are."""
    return sum(
        effects.get(result["pos"]) != (result.get("property", "link"), key)
        for result in orjson.loads(bytes.fromhex(answer))["results"]
    )


async def _check(url: str, diary: Path, rounds: int, in_doubt: int) -> Figures:
    """Return what became of the writes, all of which must have been answered."""
    answers = told(diary)
    keys = tried(diary)
    assert set(answers) == set(keys)
    database = await Database.connect(url)
    workspace = await ensure_workspace(database, "default")
    effects = await _effects(database)
    counts = Counter(effects.values())
    wanted = _wanted(keys)
    actor = local_operator(workspace.workspace_id).actor
    actions = Actions(database)
    again = await actions.perform_many(actor, [(command_of(key), key) for key in keys])
    await actions.close()
    report = await maintenance.verify(database, workspace.workspace_id)
    after = await _effects(database)
    await database.close()
    return Figures(
        rounds=rounds,
        in_doubt=in_doubt,
        acknowledged=len(answers),
        lost=len(wanted - set(counts))
        + sum(_missing(key, answer, effects) for key, answer in answers.items()),
        doubled=sum(count - 1 for count in counts.values()) + len(set(counts) - wanted),
        answered_differently=sum(
            isinstance(result, MunimentError) or written(result) != answers[key]
            for key, result in zip(keys, again, strict=True)
        ),
        written_again=len(after) - len(effects),
        problems=len(report.problems),
        events=len(effects),
    )


async def _kill_postgres_under_writers(postgres: EmbeddedPostgres, rounds: int) -> Figures:
    url, diary = postgres.address, postgres.status().data.parent / "diary"
    watching = asyncio.create_task(postgres.watch(0.1))
    in_doubt = 0
    killed: set[int] = set()
    try:
        async with Service.running(url, diary) as service:
            for _ in range(rounds):
                await service.progress()
                killed.add(kill_postgres(postgres))
                in_doubt += len(service.in_doubt())
            await service.progress()
            await service.finish()
    finally:
        watching.cancel()
    assert len(killed) == rounds
    return await _check(url, diary, rounds, in_doubt)


async def _kill_the_service_under_writers(postgres: EmbeddedPostgres, rounds: int) -> Figures:
    url, diary = postgres.address, postgres.status().data.parent / "diary"
    in_doubt = 0
    for _ in range(rounds):
        async with Service.running(url, diary) as service:
            await service.progress()
            await service.kill()
            in_doubt += len(service.in_doubt())
    async with Service.running(url, diary) as service:
        await service.progress()
        await service.finish()
    return await _check(url, diary, rounds, in_doubt)


def _require_whole(figures: Figures) -> None:
    assert figures.in_doubt >= figures.rounds, "nothing was under way: the kill came too late"
    assert figures.acknowledged >= (figures.rounds + 1) * PROGRESS
    assert (figures.lost, figures.doubled) == (0, 0), figures
    assert (figures.answered_differently, figures.written_again) == (0, 0), figures
    assert figures.problems == 0, figures


async def test_killed_postgres_loses_no_acknowledged_write_and_doubles_none(
    server: EmbeddedPostgres,
) -> None:
    _require_whole(await _kill_postgres_under_writers(server, 2))


async def test_killed_service_loses_no_acknowledged_write_and_doubles_none(
    server: EmbeddedPostgres,
) -> None:
    _require_whole(await _kill_the_service_under_writers(server, 2))


@pytest.mark.long
async def test_postgres_killed_ten_times_loses_and_doubles_nothing(
    server: EmbeddedPostgres, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = await _kill_postgres_under_writers(server, 10)
    with capsys.disabled():
        sys.stdout.write(f"\nPostgres killed: {figures}\n")
    _require_whole(figures)


@pytest.mark.long
async def test_service_killed_ten_times_loses_and_doubles_nothing(
    server: EmbeddedPostgres, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = await _kill_the_service_under_writers(server, 10)
    with capsys.disabled():
        sys.stdout.write(f"\nservice killed: {figures}\n")
    _require_whole(figures)
