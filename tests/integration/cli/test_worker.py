"""Owns the worker: its sign of life, and a queue that is away."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager

from tests.integration.cli.conftest import MUNIMENT, Cli, free_port


@contextmanager
def _worker(cli: Cli, **env: str) -> Generator[subprocess.Popen[str]]:
    worker = subprocess.Popen(
        [*MUNIMENT, "worker"],
        env=cli.environment(env),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield worker
    finally:
        worker.terminate()
        worker.communicate(timeout=60)


def _next_line(worker: subprocess.Popen[str], text: str) -> str:
    assert worker.stderr is not None
    return next(line for line in worker.stderr if text in line)


def test_a_worker_says_that_it_lives(cli: Cli) -> None:
    with _worker(cli, MUNIMENT_LOG_LEVEL="debug") as worker:
        _next_line(worker, "alive")
        found = cli.json("status")
        assert found["health"]["worker"]["state"] == "running"
        assert found["health"]["worker"]["heartbeat_age_seconds"] < 10
    assert worker.returncode == 0


def test_without_a_queue_the_worker_waits_and_nothing_else_does(cli: Cli) -> None:
    nobody = f"redis://127.0.0.1:{free_port()}"
    with _worker(cli, MUNIMENT_REDIS_URL=nobody) as worker:
        assert "trying again" in _next_line(worker, "no queue")
        env = {"MUNIMENT_REDIS_URL": nobody}
        made = cli.json("remember", "Queueless", "note", "still kept", "--type", "Note", env=env)
        assert made["results"][0]["outcome"] == "asserted"
        assert cli.json("search", "kept", env=env)["hits"]
        assert worker.poll() is None
        found = cli.json("status", env=env)
        assert found["health"]["worker"]["state"] == "unknown"
    assert worker.returncode == 0
