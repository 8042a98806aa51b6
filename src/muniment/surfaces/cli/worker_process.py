"""The worker as a child of `up`: it may die without harm, and is started again.

Its stdin is a pipe that we hold: when we are gone, however that came about, it reads the end of it
and ends too.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
LONG_LIFE: Final = 60.0
STOP_SECONDS: Final = 20.0
ORPHAN_SECONDS: Final = 0.1
"""How long a new worker looks whether the end of its stdin has come already."""

_log = logging.getLogger("muniment.service")


@asynccontextmanager
async def worker_kept() -> AsyncGenerator[None]:
    """Keep a worker running until the block is left."""
    task = asyncio.create_task(_keep())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def end_of_stdin() -> None:
    """Wait until whoever holds the other end of stdin is gone."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(1024):
        pass


async def _keep() -> None:
    pause = FIRST_PAUSE
    while True:
        started = time.monotonic()
        code = await _run_once()
        if time.monotonic() - started > LONG_LIFE:
            pause = FIRST_PAUSE
        _log.warning("the worker ended (exit code %d); starting it again in %.0f s", code, pause)
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


async def _run_once() -> int:
    # A session of its own: Ctrl-C in the terminal is for us, who then end the worker in order.
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "muniment", "worker", "--attached"),
        stdin=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        return await process.wait()
    except asyncio.CancelledError:
        await asyncio.shield(_end(process))
        raise


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
