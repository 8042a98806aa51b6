"""The worker's life: open the service, take jobs, and outlive a queue that comes and goes."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

import orjson
from arq.connections import RedisSettings
from arq.worker import Worker
from redis.exceptions import RedisError

from muniment.bootstrap import Service, open_queue, open_service
from muniment.config import Settings
from muniment.domain.errors import EmbeddedError
from muniment.workers import beats
from muniment.workers.schedule import every

QUEUE: Final = "muniment:queue"
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0
LONG_LIFE: Final = 60.0

_log = logging.getLogger("muniment.worker")


async def run(settings: Settings) -> None:
    """Do housekeeping until cancelled.

    Raises:
        Unavailable, EmbeddedError: the database cannot be reached at the start.
    """
    async with open_service(settings, keep=True) as service:
        pause = FIRST_PAUSE
        while True:
            begun = time.monotonic()
            try:
                async with open_queue(settings) as url:
                    await _work(service, url)
            except (RedisError, OSError, EmbeddedError) as error:
                if time.monotonic() - begun > LONG_LIFE:
                    pause = FIRST_PAUSE
                if pause == FIRST_PAUSE:
                    _log.warning("no queue, trying again until there is one: %s", error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)


async def _work(service: Service, url: str) -> None:
    """Take jobs until the queue is lost."""
    settings = service.settings
    worker = Worker(
        queue_name=QUEUE,
        redis_settings=_redis(url),
        cron_jobs=[
            every(settings.heartbeat_interval, beats.live, timeout=timedelta(seconds=30)),
            every(settings.verify_interval, beats.verify, timeout=timedelta(minutes=10)),
            every(settings.expiry_interval, beats.expire, timeout=timedelta(minutes=5)),
        ],
        ctx={"service": service},
        on_startup=_started,
        handle_signals=False,
        max_jobs=4,
        # arq's own pickles would let whoever writes to the queue run code here.
        job_serializer=_dumps,
        job_deserializer=orjson.loads,
    )
    try:
        await worker.async_run()
    finally:
        with suppress(RedisError, OSError, asyncio.CancelledError):
            await worker.close()


async def _started(ctx: dict[Any, Any]) -> None:
    del ctx
    _log.info("at work")


def _redis(url: str) -> RedisSettings:
    found = RedisSettings.from_dsn(url)
    found.conn_retries = 0
    found.conn_timeout = 5
    return found


def _dumps(job: dict[str, Any]) -> bytes:
    return orjson.dumps(job, default=str)
