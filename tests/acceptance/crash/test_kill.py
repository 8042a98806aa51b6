"""P1 under `kill -9`: of Postgres with all its processes, and of the service, while 64 write.

After every round the survivors go on; at the end each acknowledged write is in the log at the pos
that its caller was told, each key has one effect, and the store verifies.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import pytest_asyncio

from muniment.actions import maintenance
from muniment.embedded.postgres import EmbeddedPostgres
from muniment.store.database import Database
from muniment.store.migrate import migrate
from muniment.store.workspaces import ensure_workspace

pytestmark = [pytest.mark.promise("P1"), pytest.mark.timeout(600)]

REPOSITORY = Path(__file__).parents[3]
CALLERS = 64
PROGRESS = 150
"""Acknowledged writes between two kills: enough for each caller to be amid a write."""
LOOK_SECONDS = 0.02
"""Between two looks at the diary; what is waited for is progress, never time."""


@pytest_asyncio.fixture
async def server() -> AsyncGenerator[EmbeddedPostgres]:
    """A migrated Postgres in a home that is this test's alone."""
    home = Path(tempfile.mkdtemp(prefix="muniment-crash-"))
    home.chmod(0o755)
    postgres = EmbeddedPostgres(home)
    migrate(postgres.start())
    yield postgres
    postgres.start()
    postgres.stop_if_last()
    shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _service(url: str, diary: Path) -> Generator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.acceptance.crash.service", url, diary, str(CALLERS)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _told(diary: Path) -> int:
    return diary.read_text().count("told ") if diary.exists() else 0


async def _progress(diary: Path, process: subprocess.Popen[bytes], more: int = PROGRESS) -> None:
    """Wait for so many acknowledgements more than there are."""
    wanted = _told(diary) + more
    while _told(diary) < wanted:
        assert process.poll() is None, "the service ended by itself"
        await asyncio.sleep(LOOK_SECONDS)


async def _finish(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    assert await asyncio.to_thread(process.wait, 120) == 0


def _kill_postgres(postgres: EmbeddedPostgres) -> int:
    """Kill the postmaster and everything it started, none of which can say goodbye."""
    pid = postgres.status().pid
    assert pid is not None
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    for each in [pid, *map(int, children.stdout.split())]:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    return pid


async def _check(url: str, diary: Path) -> int:
    """Return how many writes were acknowledged, each of which must be there once."""
    lines = [line.split() for line in diary.read_text().splitlines()]
    tried = {line[1] for line in lines if line[0] == "try"}
    told = {line[1]: int(line[2]) for line in lines if line[0] == "told"}
    assert set(told) == tried
    database = await Database.connect(url)
    workspace = await ensure_workspace(database, "default")
    report = await maintenance.verify(database, workspace.workspace_id)
    rows = await database.reader.fetch(
        "SELECT pos, kind, payload::jsonb ->> 'value' AS value, payload::jsonb ->> 'property' "
        "AS property, payload::jsonb ->> 'name' AS name FROM object_events"
    )
    await database.close()
    assert report.ok, report.problems
    by_pos = {row["pos"]: row for row in rows}
    for key, pos in told.items():
        assert by_pos[pos]["value"] == key
    for property_ in ("text", "note"):
        said = Counter(row["value"] for row in rows if row["property"] == property_)
        assert said == Counter(dict.fromkeys(told, 1))
    made = Counter(row["name"] for row in rows if row["kind"] == "object_created")
    assert made == Counter(dict.fromkeys([*told, "Log"], 1))
    return len(told)


async def _kill_postgres_under_writers(postgres: EmbeddedPostgres, rounds: int) -> None:
    url, diary = postgres.address, postgres.status().data.parent / "diary"
    watching = asyncio.create_task(postgres.watch(0.1))
    with _service(url, diary) as service:
        killed: set[int] = set()
        for _ in range(rounds):
            await _progress(diary, service)
            killed.add(_kill_postgres(postgres))
        await _progress(diary, service)
        await _finish(service)
    watching.cancel()
    assert len(killed) == rounds
    assert await _check(url, diary) >= (rounds + 1) * PROGRESS


async def _kill_the_service_under_writers(postgres: EmbeddedPostgres, rounds: int) -> None:
    url, diary = postgres.address, postgres.status().data.parent / "diary"
    for _ in range(rounds):
        with _service(url, diary) as service:
            await _progress(diary, service)
            service.send_signal(signal.SIGKILL)
            service.wait()
    with _service(url, diary) as service:
        await _progress(diary, service, 1)
        await _finish(service)
    assert await _check(url, diary) >= rounds * PROGRESS


async def test_killed_postgres_loses_no_acknowledged_write_and_doubles_none(
    server: EmbeddedPostgres,
) -> None:
    await _kill_postgres_under_writers(server, 2)


async def test_killed_service_loses_no_acknowledged_write_and_doubles_none(
    server: EmbeddedPostgres,
) -> None:
    await _kill_the_service_under_writers(server, 2)


@pytest.mark.long
async def test_postgres_killed_ten_times_loses_and_doubles_nothing(
    server: EmbeddedPostgres,
) -> None:
    await _kill_postgres_under_writers(server, 10)


@pytest.mark.long
async def test_service_killed_ten_times_loses_and_doubles_nothing(server: EmbeddedPostgres) -> None:
    await _kill_the_service_under_writers(server, 10)
