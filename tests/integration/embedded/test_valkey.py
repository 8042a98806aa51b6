"""The private Valkey: a queue for arq, shared and revived like the private Postgres."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from arq.connections import RedisSettings, create_pool
from redis import Redis
from redis.exceptions import ResponseError

from muniment.embedded import EmbeddedValkey, ServerState
from tests.integration.embedded.conftest import Peer, eventually, kill, state

Peers = Callable[..., Peer]


connect = cast("Callable[[str], Redis]", Redis.from_url)  # pyright: ignore[reportUnknownMemberType]
"""redis-py leaves the type of its options open."""


def ask(url: str, *command: str) -> Any:
    with connect(url) as client:
        return cast("Any", client).execute_command(*command)


def pid_of(server: EmbeddedValkey) -> int:
    pid = server.status().pid
    assert pid is not None
    return pid


async def test_the_url_serves_arq_and_redis(home: Path) -> None:
    async with EmbeddedValkey(home) as server:
        assert ask(server.url, "PING") is True
        pool = await create_pool(RedisSettings.from_dsn(server.url))
        assert await pool.enqueue_job("heartbeat", _job_id="one") is not None
        assert await pool.enqueue_job("heartbeat", _job_id="one") is None
        await pool.aclose()


def test_it_listens_on_its_socket_alone_and_keeps_nothing_on_disk(home: Path) -> None:
    with EmbeddedValkey(home) as server:
        assert ask(server.url, "CONFIG", "GET", "port") == [b"port", b"0"]
        assert ask(server.url, "CONFIG", "GET", "save") == [b"save", b""]
        assert ask(server.url, "CONFIG", "GET", "appendonly") == [b"appendonly", b"no"]
        policy = ask(server.url, "CONFIG", "GET", "maxmemory-policy")
        assert policy == [b"maxmemory-policy", b"noeviction"]
        for path, mode in (("run", 0o700), ("valkey", 0o700), ("run/valkey.sock", 0o600)):
            assert stat.S_IMODE((home / path).stat().st_mode) == mode
        ask(server.url, "SET", "job", "1")
    assert [path.name for path in (home / "valkey").iterdir()] == []


def test_a_full_memory_refuses_new_jobs_and_drops_none(home: Path) -> None:
    with EmbeddedValkey(home) as server:
        ask(server.url, "SET", "job", "1")
        ask(server.url, "CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(ResponseError, match="used memory"):
            ask(server.url, "SET", "other", "1")
        assert ask(server.url, "GET", "job") == b"1"


def test_warm_start_takes_under_300_ms(home: Path) -> None:
    server = EmbeddedValkey(home)
    taken: list[float] = []
    for _ in range(4):
        before = time.perf_counter()
        server.start()
        taken.append(time.perf_counter() - before)
        assert server.stop_if_last()
    assert min(taken[1:]) < 0.3


def test_six_processes_start_at_once_and_the_last_stops_it(home: Path, peer: Peers) -> None:
    peers = [peer(kind="valkey") for _ in range(6)]
    for one in peers:
        one.say("start")
    answers = [one.answer() for one in peers]
    assert len({answer["pid"] for answer in answers}) == 1
    assert [one.ask("stop")["stopped"] for one in peers] == [False] * 5 + [True]
    assert EmbeddedValkey(home).status().state is ServerState.STOPPED


def test_a_killed_owner_leaves_its_server_to_the_next_which_stops_it(
    home: Path, peer: Peers
) -> None:
    owner = peer(kind="valkey")
    pid = owner.ask("start")["pid"]
    owner.kill()
    server = EmbeddedValkey(home)
    server.start()
    assert pid_of(server) == pid
    assert server.stop_if_last() is True


def test_a_killed_server_comes_back_even_as_a_zombie(home: Path, peer: Peers) -> None:
    owner = peer(kind="valkey")
    killed = owner.ask("start")["pid"]
    owner.stop_running()
    kill(killed)
    with EmbeddedValkey(home) as server:
        assert state(killed) == "Z"
        assert pid_of(server) != killed
        assert ask(server.url, "PING") is True


def test_a_pid_file_that_names_a_stranger_does_no_harm(home: Path) -> None:
    server = EmbeddedValkey(home)
    server.start()
    assert server.stop_if_last()
    (home / "valkey" / "valkey.pid").write_text(f"{os.getpid()}\n")
    assert server.status().state is ServerState.STOPPED
    with server:
        assert pid_of(server) != os.getpid()
        eventually(lambda: ask(server.url, "PING"))


def test_a_home_with_a_space_or_a_long_name_works(home: Path) -> None:
    for folder in (home / "Application Support", home / ("d" * 100)):
        with EmbeddedValkey(folder) as server:
            assert ask(server.url, "PING") is True
            sockets = Path(server.url.removeprefix("unix://")).parent
        if not sockets.is_relative_to(home):
            sockets.rmdir()
