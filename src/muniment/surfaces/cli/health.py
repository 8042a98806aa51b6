"""What `status` and `doctor` look at, each part by itself: nothing is started, nothing changed."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from muniment.domain.errors import MunimentError, Unavailable

if TYPE_CHECKING:
    from muniment.config import Settings
    from muniment.store.database import Database

PROBE_SECONDS: Final = 3.0

Part = dict[str, Any]


def service_health(url: str) -> Part:
    """Ask a service whether it is ready. `url`: of its MCP endpoint."""
    parts = urlsplit(url)
    probe = urlunsplit((parts.scheme, parts.netloc, "/healthz", "", ""))
    try:
        # Proxies of the environment are not meant for a probe of our own service.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(probe, timeout=PROBE_SECONDS) as found:
            return {"state": "running", "url": url} | _said(found.read(65536))
    except urllib.error.HTTPError as error:
        return {"state": "failing", "url": url, "http_status": error.code} | _said(
            error.read(65536)
        )
    except (OSError, ValueError) as error:
        return {"state": "stopped", "url": url, "why": str(getattr(error, "reason", error))}


def postgres_health(settings: Settings) -> Part:
    """Look at the database server."""
    if settings.database_url is not None:
        return {"kind": "external", "url": without_password(settings.database_url)}
    from muniment.embedded import EmbeddedPostgres

    found = EmbeddedPostgres(settings.home).status()
    return {
        "kind": "embedded",
        "state": found.state.value,
        "data": str(found.data),
        "log": str(found.log),
        **({"pid": found.pid} if found.pid else {}),
        **({"major": found.version} if found.version else {}),
    }


@contextmanager
def queue_health(settings: Settings) -> Generator[tuple[Part, str | None]]:
    """Look at the queue server; yield its address too, where there is one."""
    if settings.redis_url is not None:
        url = settings.redis_url
        yield {"kind": "external", "url": without_password(url)}, url
        return
    from muniment.embedded import EmbeddedValkey, ServerState

    valkey = EmbeddedValkey(settings.home)
    found = valkey.status()
    running = found.state is ServerState.RUNNING
    part: Part = {
        "kind": "embedded",
        "state": found.state.value,
        **({"pid": found.pid} if found.pid else {}),
    }
    try:
        yield part, valkey.start() if running else None
    finally:
        # Looking must not be what stops a server.
        valkey.leave()


@asynccontextmanager
async def running_database(settings: Settings) -> AsyncGenerator[Database]:
    """Open the database if it runs already.

    Raises:
        Unavailable: it does not, or is not migrated.
    """
    from muniment.embedded import EmbeddedPostgres, ServerState
    from muniment.store.database import Database

    postgres = EmbeddedPostgres(settings.home)
    if settings.database_url is None and postgres.status().state is not ServerState.RUNNING:
        raise Unavailable(
            "The private Postgres does not run.",
            code="not_running",
            next_step="Start it with `muniment up`.",
        )
    try:
        dsn = settings.database_url or postgres.start()
        database = await Database.connect(dsn, writers=1, readers=1)
        try:
            yield database
        finally:
            await database.close()
    finally:
        postgres.leave()


async def counts(settings: Settings) -> Part:
    """Count events and objects of the workspace.

    Raises:
        Unavailable: the database does not answer.
    """
    from muniment.store.overview import count
    from muniment.store.workspaces import find_workspace

    async with running_database(settings) as database:
        workspace = await find_workspace(database.writer, settings.workspace)
        if workspace is None:
            return {"events": 0, "objects": 0}
        found = await count(database, workspace.workspace_id)
        return {"events": found.events, "objects": found.objects}


async def worker_health(settings: Settings, queue: str | None, *, expected: bool) -> Part:
    """Say how long ago the worker gave its last sign of life, and whether that is fine.

    expected: an `up` runs, so that a worker without a sign of life is on its way.
    """
    from muniment.surfaces.cli.doors import doors

    if queue is None:
        return {"state": "stopped"}
    try:
        age = await doors().heartbeat_age(queue)
    except MunimentError as error:
        return {"state": "unknown", "why": error.message}
    if age is None:
        return {"state": "starting" if expected else "stopped"}
    late = age > 3 * settings.heartbeat_interval.total_seconds() + 5
    return {"state": "late" if late else "running", "heartbeat_age_seconds": round(age, 1)}


def without_password(url: str) -> str:
    """Return a URL without the secret in it."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    netloc = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{parts.username or ''}@{netloc}"))


def _said(body: bytes) -> Part:
    with suppress(ValueError):
        found: object = json.loads(body)
        if isinstance(found, dict):
            return {"said": found}
    return {}
