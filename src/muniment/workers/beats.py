"""The heartbeats: each one small function, run by one worker at a time.

    live      says that workers take and finish jobs
    verify    checks a stretch of the log
    expire    drops idempotency keys past their retention

A beat that fails is logged and due again; none is retried in between.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, TypeAlias, cast

from redis.asyncio import Redis

from muniment.actions import maintenance
from muniment.bootstrap import Service
from muniment.domain.errors import MunimentError
from muniment.store.workspaces import list_workspaces
from muniment.workers import pulse

Context: TypeAlias = dict[Any, Any]
"""What arq hands to each job: `redis` is its own, `service` was put there at start."""

_log = logging.getLogger("muniment.worker")


def _logged(
    beat: Callable[[Context], Coroutine[Any, Any, None]],
) -> Callable[[Context], Coroutine[Any, Any, None]]:
    """Turn what muniment raises on purpose into a line of the log."""

    @wraps(beat)
    async def run(context: Context) -> None:
        try:
            await beat(context)
        except MunimentError as error:
            _log.warning("%s: %s", getattr(beat, "__name__", "beat"), error.message)

    return run


@_logged
async def live(context: Context) -> None:
    """Say that workers take and finish jobs."""
    await pulse.beat(cast("Redis", context["redis"]))
    _log.debug("alive")


@_logged
async def verify(context: Context) -> None:
    """Check a stretch of each workspace's log that chance picks."""
    database = cast("Service", context["service"]).database
    for workspace in await list_workspaces(database.reader):
        report = await maintenance.verify_sample(database, workspace.workspace_id)
        for problem in report.problems:
            _log.error("verify: workspace %s: %s", workspace.name, problem)


@_logged
async def expire(context: Context) -> None:
    """Drop idempotency keys past their retention."""
    service = cast("Service", context["service"])
    retention = service.settings.idempotency_retention
    for workspace in await list_workspaces(service.database.reader):
        dropped = await maintenance.expire_idempotency(
            service.database, workspace.workspace_id, retention
        )
        if dropped:
            _log.info("%d idempotency keys expired in workspace %s", dropped, workspace.name)
