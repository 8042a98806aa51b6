"""The private Postgres: what a start gives, and what it survives."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
import sqlalchemy

from muniment.domain.errors import EmbeddedError
from muniment.embedded import EmbeddedPostgres, ServerState, binaries, process
from muniment.embedded.lock import opened
from muniment.embedded.postgres import SETTINGS
from muniment.embedded.site import LOG_BYTES
from muniment.embedded.user import service_user
from tests.integration.embedded.conftest import Peer, eventually, is_dead, kill, state

Peers = Callable[..., Peer]
Place = Callable[[Path], Path]


def scalar(dsn: str, query: str) -> Any:
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
        return row[0] if row else None


def do(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def pid_of(server: EmbeddedPostgres) -> int:
    pid = server.status().pid
    assert pid is not None
    return pid


async def test_the_dsn_serves_asyncpg_psycopg_and_sqlalchemy(home: Path) -> None:
    async with EmbeddedPostgres(home) as server:
        connection = await asyncpg.connect(server.dsn)
        assert await connection.fetchval("SELECT current_user") == "muniment_owner"
        await connection.close()
        assert scalar(server.dsn, "SELECT current_database()") == "muniment"
        url = server.dsn.replace("postgresql://", "postgresql+psycopg://")
        engine = sqlalchemy.create_engine(url)
        with engine.connect() as session:
            assert session.scalar(sqlalchemy.text("SELECT 1")) == 1
        engine.dispose()


def test_settings_take_effect_and_text_of_every_script_is_compared(used_home: Path) -> None:
    with EmbeddedPostgres(used_home, shared_buffers="32MB") as server:
        for name, value in (SETTINGS | {"shared_buffers": "32MB"}).items():
            shown = scalar(server.dsn, f"SHOW {name}")
            expected = {"wal_compression": "pglz"}.get(name, value)
            assert shown.lstrip() == expected.lstrip(), name
        assert scalar(server.dsn, "SHOW data_checksums") == "on"
        assert scalar(server.dsn, "SHOW server_encoding") == "UTF8"
        do(server.dsn, "CREATE EXTENSION pg_trgm")
        for word in ("日本語", "École", "Москва"):
            assert scalar(server.dsn, f"SELECT similarity('{word}', '{word}')") == 1.0
        assert scalar(server.dsn, "SELECT show_trgm('École') = show_trgm('cole')") is False


def test_only_the_password_and_only_the_own_user_get_in(used_home: Path) -> None:
    with EmbeddedPostgres(used_home) as server:
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(server.dsn, password="guessed")
        for name in ("run", "lock", "log", "postgres", "postgres/data"):
            assert stat.S_IMODE((used_home / name).stat().st_mode) == 0o700, name
        secret = used_home / "postgres" / "data" / "muniment.password"
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600


def test_warm_start_takes_under_300_ms(used_home: Path) -> None:
    server = EmbeddedPostgres(used_home)
    taken: list[float] = []
    for _ in range(3):
        before = time.perf_counter()
        server.start()
        taken.append(time.perf_counter() - before)
        assert server.stop_if_last()
    assert min(taken) < 0.3


def test_status_tells_the_state_and_makes_nothing(home: Path) -> None:
    server = EmbeddedPostgres(home)
    assert server.status().state is ServerState.STOPPED
    assert not home.exists()
    with server:
        status = server.status()
        assert (status.state, status.version) == (ServerState.RUNNING, 18)
        assert status.data.is_dir()
        assert status.log.is_file()
    assert server.status().state is ServerState.STOPPED
    with pytest.raises(EmbeddedError) as caught:
        _ = server.dsn
    assert caught.value.code == "embedded_not_started"


def test_six_processes_start_at_once_and_share_one_server(home: Path, peer: Peers) -> None:
    peers = [peer() for _ in range(6)]
    for one in peers:
        one.say("start")
    answers = [one.answer() for one in peers]
    assert len({answer["pid"] for answer in answers}) == 1
    assert [scalar(answer["address"], "SELECT 1") for answer in answers] == [1] * 6
    assert [one.ask("stop")["stopped"] for one in peers] == [False] * 5 + [True]


def test_the_last_user_stops_the_server_and_nobody_else(used_home: Path, peer: Peers) -> None:
    service, call = peer(), EmbeddedPostgres(used_home)
    pid = service.ask("start")["pid"]
    assert pid_of(call) == pid
    with call:
        assert pid_of(call) == pid
    assert call.status().state is ServerState.RUNNING
    assert service.ask("stop")["stopped"] is True
    assert call.status().state is ServerState.STOPPED


def test_two_users_in_one_process_count_as_two(used_home: Path) -> None:
    first, second = EmbeddedPostgres(used_home), EmbeddedPostgres(used_home)
    first.start()
    second.start()
    assert first.stop_if_last() is False
    assert first.stop_if_last() is False
    assert second.stop_if_last() is True


def test_a_killed_owner_leaves_its_server_to_the_next_which_stops_it(
    used_home: Path, peer: Peers
) -> None:
    owner = peer()
    pid = owner.ask("start")["pid"]
    owner.kill()
    server = EmbeddedPostgres(used_home)
    server.start()
    assert pid_of(server) == pid
    assert server.stop_if_last() is True


def test_a_killed_postmaster_comes_back_with_what_was_committed(used_home: Path) -> None:
    with EmbeddedPostgres(used_home) as server:
        do(server.dsn, "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (7)")
        killed = pid_of(server)
        kill(killed)
        server.start()
        assert pid_of(server) != killed
        assert scalar(server.dsn, "SELECT n FROM kept") == 7


def test_a_postmaster_left_as_a_zombie_is_dead(used_home: Path, peer: Peers) -> None:
    owner = peer()
    killed = owner.ask("start")["pid"]
    owner.stop_running()
    kill(killed)
    with EmbeddedPostgres(used_home) as server:
        assert state(killed) == "Z"
        assert pid_of(server) != killed
        assert scalar(server.dsn, "SELECT 1") == 1


def test_a_start_waits_for_the_backends_of_a_killed_postmaster(used_home: Path) -> None:
    with EmbeddedPostgres(used_home) as server:
        with psycopg.connect(server.dsn) as connection:
            backend = connection.info.backend_pid
            busy = threading.Thread(target=_count_until_cut_off, args=(connection,))
            busy.start()
            active = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(%'"
            # The one that asks is the second.
            eventually(lambda: scalar(server.dsn, active) == 2)
            kill(pid_of(server))
            server.start()
            assert is_dead(backend)
            busy.join()
        assert scalar(server.dsn, "SELECT 1") == 1


def _count_until_cut_off(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT count(*), pg_sleep(600) FROM generate_series(1, 8000000)")


async def test_a_watched_server_comes_back_by_itself(used_home: Path) -> None:
    async with EmbeddedPostgres(used_home) as server:
        watch = asyncio.create_task(server.watch(every=0.02))
        killed = pid_of(server)
        kill(killed)
        await asyncio.to_thread(eventually, lambda: server.status().pid not in (None, killed))
        watch.cancel()
        await asyncio.wait([watch])
        assert watch.cancelled()


async def test_a_cancelled_start_leaves_no_user_behind(used_home: Path) -> None:
    first = EmbeddedPostgres(used_home)
    starting = asyncio.create_task(first.__aenter__())
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert EmbeddedPostgres(used_home).status().state is ServerState.STOPPED


@pytest.mark.parametrize("living", [True, False])
def test_a_pid_file_that_names_a_stranger_does_no_harm(used_home: Path, living: bool) -> None:
    server = EmbeddedPostgres(used_home)
    server.start()
    pid_file = used_home / "postgres" / "data" / "postmaster.pid"
    lines = pid_file.read_text().split("\n")
    assert server.stop_if_last()
    # A server killed together with its machine; afterwards its pid belongs to another program.
    lines[0] = str(os.getpid() if living else 2**22 - 1)
    pid_file.write_text("\n".join(lines))
    (used_home / "run" / ".s.PGSQL.5432.lock").write_text("\n".join(lines))
    assert server.status().state is ServerState.STOPPED
    with server:
        assert scalar(server.dsn, "SELECT 1") == 1
        assert pid_of(server) != int(lines[0])


def test_a_server_started_by_hand_is_adopted_and_not_stopped(used_home: Path) -> None:
    server = EmbeddedPostgres(used_home)
    user = service_user(used_home)
    data = used_home / "postgres" / "data"
    command = [binaries.postgres_program().path, "-D", data, "-k", used_home / "run", "-h", ""]
    with opened(used_home / "lock" / "other.lock", user) as other:
        child = process.spawn(command, user=user, log=1, keep=other.descriptor)
    eventually(lambda: server.status().state is ServerState.RUNNING)
    with server:
        assert pid_of(server) == child.pid
        assert scalar(server.dsn, "SELECT 1") == 1
    assert server.status().pid == child.pid
    child.send_signal(signal.SIGINT)
    assert child.wait() == 0


def test_data_of_another_version_is_refused_with_the_way_out(used_home: Path) -> None:
    server = EmbeddedPostgres(used_home)
    version = used_home / "postgres" / "data" / "PG_VERSION"
    version.write_text("17\n")
    with pytest.raises(EmbeddedError) as caught:
        server.start()
    assert caught.value.code == "embedded_version_mismatch"
    for way_out in ("pg_dump", "MUNIMENT_HOME", "MUNIMENT_DATABASE_URL"):
        assert way_out in (caught.value.next_step or "")
    version.write_text("18\n")
    with server:
        assert scalar(server.dsn, "SELECT 1") == 1


def test_a_folder_that_is_no_data_is_refused_and_kept(home: Path) -> None:
    notes = home / "postgres" / "data" / "notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine")
    with pytest.raises(EmbeddedError) as caught:
        EmbeddedPostgres(home).start()
    assert caught.value.code == "embedded_data_foreign"
    assert notes.read_text() == "mine"


def test_a_start_killed_while_it_made_the_data_is_made_up_for(home: Path, peer: Peers) -> None:
    first = peer()
    first.say("start")
    eventually((home / "postgres" / "data.new" / "PG_VERSION").exists)
    first.kill()
    with EmbeddedPostgres(home) as server:
        assert scalar(server.dsn, "SELECT current_database()") == "muniment"
    assert not (home / "postgres" / "data.new").exists()


def test_a_home_with_a_long_name_gets_a_short_socket(home: Path, place: Place) -> None:
    _serves_outside_its_home(place(home / ("a" * 60) / ("b" * 60)))


def test_a_home_whose_name_would_break_a_url_gets_a_plain_socket(home: Path, place: Place) -> None:
    _serves_outside_its_home(place(home / "Käse, 100% & more?"))


def _serves_outside_its_home(home: Path) -> None:
    with EmbeddedPostgres(home) as server:
        sockets = Path(scalar(server.dsn, "SHOW unix_socket_directories"))
        assert not sockets.is_relative_to(home)
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    sockets.chmod(0o777)
    with pytest.raises(EmbeddedError) as caught:
        EmbeddedPostgres(home).start()
    assert caught.value.code == "embedded_socket_folder"
    shutil.rmtree(sockets)


def test_a_home_with_a_space_in_its_name_works(home: Path, place: Place) -> None:
    with EmbeddedPostgres(place(home / "Application Support")) as server:
        assert scalar(server.dsn, "SELECT 1") == 1


def test_the_log_keeps_no_statement_and_stays_small(used_home: Path) -> None:
    with EmbeddedPostgres(used_home) as server:
        log = server.status().log
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            do(server.dsn, "SELECT 'the secret plan'::int FROM pg_class")
        with pytest.raises(psycopg.errors.UniqueViolation):
            do(
                server.dsn,
                "CREATE TABLE one (v text PRIMARY KEY)",
                "INSERT INTO one VALUES ('hidden value')",
                "INSERT INTO one VALUES ('hidden value')",
            )
        text = log.read_text()
        assert "duplicate key" in text
        assert "hidden value" not in text
        assert "INSERT" not in text
        with log.open("a") as file:
            file.write("x" * LOG_BYTES)
        server.start()
        assert log.stat().st_size == 0
        assert log.with_name("postgres.log.1").stat().st_size > LOG_BYTES
        with pytest.raises(psycopg.errors.DivisionByZero):
            do(server.dsn, "SELECT 1 / 0")
        assert log.read_text().startswith("2")


def test_a_setting_that_postgres_refuses_is_reported_in_its_words(used_home: Path) -> None:
    with pytest.raises(EmbeddedError) as caught:
        EmbeddedPostgres(used_home, shared_buffers="9999999GB").start()
    assert caught.value.code == "embedded_start_failed"
    assert "shared_buffers" in caught.value.message
    with EmbeddedPostgres(used_home) as server:
        assert scalar(server.dsn, "SELECT 1") == 1


@pytest.mark.parametrize(("kills", "starts"), [(4, True), (5, False)])
def test_a_server_killed_while_it_starts_is_started_again_a_few_times(
    used_home: Path, monkeypatch: pytest.MonkeyPatch, kills: int, starts: bool
) -> None:
    real = binaries.postgres_program().path
    folder = used_home.parent / "bin"
    folder.mkdir()
    (folder / "left").write_text("x" * kills)
    (folder / "left").chmod(0o666)
    for name in ("pg_ctl", "initdb", "postgres"):
        (folder / name).write_text(
            f"#!/bin/sh\ncd {folder}\n"
            'if [ "$1" = -D ] && [ -s left ]; then\n'
            '    left=$(cat left); printf %s "${left#x}" > left; kill -9 $$\n'
            f'fi\nexec {real.parent}/{name} "$@"\n'
        )
        (folder / name).chmod(0o755)
    monkeypatch.setattr(binaries, "PACKAGES", {})
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    server = EmbeddedPostgres(used_home)
    if starts:
        with server:
            assert scalar(server.dsn, "SELECT 1") == 1
        return
    with pytest.raises(EmbeddedError) as caught:
        server.start()
    assert caught.value.code == "embedded_start_failed"


def test_a_home_that_cannot_be_a_folder_is_a_typed_error(home: Path) -> None:
    home.write_text("")
    with pytest.raises(EmbeddedError) as caught:
        EmbeddedPostgres(home).start()
    assert caught.value.code == "embedded_files"
    assert caught.value.field == "MUNIMENT_HOME"


def test_a_lost_password_is_a_typed_error(used_home: Path) -> None:
    server = EmbeddedPostgres(used_home)
    (used_home / "postgres" / "data" / "muniment.password").unlink()
    with pytest.raises(EmbeddedError) as caught:
        server.start()
    assert caught.value.code == "embedded_password_missing"
