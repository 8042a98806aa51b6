"""`up`: everything that a fleet needs, in one terminal or in the background, and its end.

Order matters: the port is bound before anything is started, so that a busy one costs nothing; the
database is the last to go, after the requests under way and the writer's queue.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from muniment import __version__
from muniment.domain.errors import EmbeddedError, Unavailable
from muniment.surfaces.cli.output import say
from muniment.surfaces.cli.seat import POLL_SECONDS, Running, Seat
from muniment.surfaces.cli.serving import (
    address_of,
    first_of,
    listening,
    served,
    stop_requested,
)
from muniment.surfaces.cli.worker_process import worker_kept

if TYPE_CHECKING:
    from muniment.config import Settings

LOG_BYTES: Final = 10 * 1024 * 1024
LOG_TAIL_BYTES: Final = 4_000
START_SECONDS: Final = 600.0

Announce = Callable[[Running], None]


async def run(settings: Settings, announce: Announce) -> None:
    """Run everything until SIGINT or SIGTERM.

    Raises:
        Refused: another `up` runs on this home (`already_up`).
        Unavailable: the port is taken, or a part cannot start.
    """
    from muniment.bootstrap import open_service

    seat = Seat(settings.home)
    with (
        seat.taken(),
        listening(settings.host, settings.port) as listener,
        stop_requested() as stop,
    ):
        async with (
            open_service(settings, keep=True) as service,
            _queue(settings),
            served(service, listener) as serving,
            worker_kept(),
        ):
            running = Running(
                pid=os.getpid(),
                url=address_of(listener),
                started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            )
            if not stop.is_set():
                seat.publish(running)
                announce(running)
            await first_of(stop, serving)


def detach(settings: Settings, options: list[str]) -> tuple[Running, bool]:
    """Run `up` in the background; return where it answers, and whether it was there before.

    Raises:
        Unavailable: it did not come up (`up_failed`); the message holds the end of its log.
    """
    seat = Seat(settings.home)
    if (found := seat.look()) and found.url:
        return found, True
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o711 if os.geteuid() == 0 else 0o700)
    path = settings.home / "muniment.log"
    _cut(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    log = os.open(path, flags, 0o600)
    before = os.fstat(log).st_size
    with os.fdopen(log, "a") as file:
        child = subprocess.Popen(
            [sys.executable, "-m", "muniment", "up", *options],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd="/",
            start_new_session=True,
        )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if (found := seat.look()) and found.url:
            return found, found.pid != child.pid
        if child.poll() is not None and not seat.is_taken():
            break
        time.sleep(POLL_SECONDS)
    raise Unavailable(
        f"muniment did not come up: {_tail(path, before)}",
        code="up_failed",
        next_step=f"Read {path}, or run `muniment up` in a terminal.",
    )


def down(settings: Settings) -> dict[str, Any]:
    """End the `up` of this home, and private servers that a killed one left behind."""
    from muniment.embedded import EmbeddedPostgres, EmbeddedValkey, ServerState

    stopped = ["muniment"] if Seat(settings.home).stop() else []
    for server in (EmbeddedValkey(settings.home), EmbeddedPostgres(settings.home)):
        if server.status().state is ServerState.RUNNING:
            server.start()
            if server.stop_if_last():
                stopped.append(server.name)
    return {"home": str(settings.home), "stopped": stopped}


def as_document(settings: Settings, running: Running) -> dict[str, Any]:
    """Return what `up --json` says."""
    return {
        "url": running.url,
        "home": str(settings.home),
        "pid": running.pid,
        "version": __version__,
        "started_at": running.started_at,
    }


def greet(settings: Settings, running: Running, *, attached: bool) -> None:
    """Say where muniment answers and how a harness is connected to it."""
    block = {
        "mcpServers": {
            "muniment": {
                "type": "http",
                "url": running.url,
                "headers": {"Authorization": "Bearer TOKEN"},
            }
        }
    }
    say(f"muniment {__version__} is up at {running.url}")
    say(f"home {settings.home}")
    say()
    say("Connect a harness (claude, codex, opencode, gemini, cursor, vscode):")
    say("  muniment connect claude")
    say(
        "or paste this, with the TOKEN that `muniment token create --role agent --name NAME` shows:"
    )
    say("  " + json.dumps(block))
    say()
    say("Ctrl-C stops it." if attached else "`muniment down` stops it.")
    sys.stdout.flush()


@asynccontextmanager
async def _queue(settings: Settings) -> AsyncGenerator[None]:
    """Hold the private Valkey, so that it stays while the worker is started again.

    Without one there is no housekeeping, which is no reason not to serve.
    """
    import logging

    from muniment.bootstrap import open_queue

    opened = open_queue(settings)
    try:
        await opened.__aenter__()
    except EmbeddedError as error:
        logging.getLogger("muniment.service").warning("no queue: %s", error.message)
        yield
        return
    try:
        yield
    finally:
        await opened.__aexit__(None, None, None)


def _cut(path: Path) -> None:
    """Move a log that has grown past its limit aside, keeping one older file."""
    if path.exists() and path.lstat().st_size > LOG_BYTES:
        os.replace(path, path.with_name(path.name + ".1"))


def _tail(path: Path, before: int) -> str:
    with path.open("rb") as log:
        size = log.seek(0, os.SEEK_END)
        log.seek(max(before, size - LOG_TAIL_BYTES))
        return log.read().decode(errors="replace").strip()
