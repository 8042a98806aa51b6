"""When a beat is due: at multiples of its interval since 1970, the same moments in every worker.

arq names a due job after its moment and takes each name once, so however many workers there are,
one of them runs a beat. Its own calendar rules cannot say "every 45 s"; this can.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from arq.cron import CronJob
from arq.typing import WorkerCoroutine

Beat = Callable[[dict[Any, Any]], Awaitable[None]]


@dataclass
class Every(CronJob):
    """A job that is due every `interval`."""

    interval: timedelta = timedelta(minutes=1)

    def calculate_next(self, prev_run: datetime) -> None:
        """Set the first moment after `prev_run`."""
        self.next_run = next_moment(prev_run, self.interval)


def every(interval: timedelta, beat: Beat, *, timeout: timedelta) -> CronJob:
    """Return the job of a beat, which is also due once when a worker starts."""
    name = getattr(beat, "__name__", "beat")
    return Every(
        name=f"beat:{name}",
        coroutine=cast("WorkerCoroutine", beat),
        month=None,
        day=None,
        weekday=None,
        hour=None,
        minute=None,
        second=None,
        microsecond=0,
        run_at_startup=True,
        unique=True,
        job_id=None,
        timeout_s=timeout.total_seconds(),
        # The name is taken for as long as the result is kept.
        keep_result_s=60,
        keep_result_forever=False,
        max_tries=1,
        interval=interval,
    )


def next_moment(after: datetime, interval: timedelta) -> datetime:
    """Return the first multiple of `interval` since 1970 that lies after `after`."""
    length = interval.total_seconds()
    return datetime.fromtimestamp((after.timestamp() // length + 1) * length, tz=after.tzinfo)
