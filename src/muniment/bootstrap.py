"""The composition root: from settings to a service whose parts are open.

Everything that must be closed is closed in the reverse order, also when opening fails half way or
the process is interrupted. Heavy libraries are imported when a service is opened, not before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muniment.actions import Actions
    from muniment.config import Settings
    from muniment.embedded.supervisor import Supervisor
    from muniment.reads import Reads
    from muniment.store.database import Database
    from muniment.store.workspaces import Workspace

_log = logging.getLogger("muniment.service")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """An open service. `workspace`: the one that local commands act in; tokens carry their own."""

    settings: Settings
    database: Database
    actions: Actions
    reads: Reads
    workspace: Workspace


@asynccontextmanager
async def open_service(settings: Settings, *, keep: bool = False) -> AsyncGenerator[Service]:
    """Open everything that a door needs.

    keep: bring the private Postgres back when it dies, for processes that live long.

    Raises:
        EmbeddedError: the private Postgres cannot run.
        Unavailable: the database does not answer.
    """
    async with open_database(settings, keep=keep) as database:
        from muniment.actions import Actions, WriterSettings
        from muniment.actions.collector import settle_collector
        from muniment.reads import Reads
        from muniment.store.workspaces import ensure_workspace

        workspace = await ensure_workspace(database, settings.workspace)
        actions = Actions(
            database,
            WriterSettings(
                queue_limit=settings.queue_limit,
                batch_limit=settings.batch_limit,
                reobserve_after=settings.reobservation_interval,
            ),
        )
        if keep:
            settle_collector()
        try:
            yield Service(
                settings=settings,
                database=database,
                actions=actions,
                reads=Reads(database),
                workspace=workspace,
            )
        finally:
            await asyncio.shield(actions.close())


@asynccontextmanager
async def open_database(settings: Settings, *, keep: bool = False) -> AsyncGenerator[Database]:
    """Open the database alone, migrated.

    Raises:
        EmbeddedError: the private Postgres cannot run.
        Unavailable: the database does not answer.
    """
    from muniment.store.database import Database
    from muniment.store.migrate import migrate

    async with open_postgres(settings, keep=keep) as dsn:
        await asyncio.to_thread(migrate, dsn)
        database = await Database.connect(dsn)
        try:
            yield database
        finally:
            await database.close()


@asynccontextmanager
async def open_postgres(settings: Settings, *, keep: bool = False) -> AsyncGenerator[str]:
    """Yield how the owner connects; start the private Postgres when none is configured.

    Raises:
        EmbeddedError: it cannot run.
    """
    if settings.database_url is not None:
        yield settings.database_url
        return
    from muniment.embedded import EmbeddedPostgres

    postgres = EmbeddedPostgres(settings.home, settings.embedded_shared_buffers)
    async with _used(postgres, keep=keep):
        yield postgres.dsn


@asynccontextmanager
async def open_queue(settings: Settings) -> AsyncGenerator[str]:
    """Yield the address of the worker's queue; start the private Valkey when none is configured.

    Raises:
        EmbeddedError: it cannot run.
    """
    if settings.redis_url is not None:
        yield settings.redis_url
        return
    from muniment.embedded import EmbeddedValkey

    valkey = EmbeddedValkey(settings.home)
    async with _used(valkey, keep=True):
        yield valkey.url


@asynccontextmanager
async def _used(server: Supervisor, *, keep: bool) -> AsyncGenerator[None]:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(server)
        if keep:
            watching = asyncio.create_task(_watch(server))

            async def leave() -> None:
                watching.cancel()
                with suppress(asyncio.CancelledError):
                    await watching

            stack.push_async_callback(leave)
        yield


async def _watch(server: Supervisor) -> None:
    """Keep a server alive; a failure to bring it back is said once a minute and tried again."""
    from muniment.domain.errors import EmbeddedError

    while True:
        try:
            await server.watch()
        except EmbeddedError as error:
            _log.error("%s %s", error.message, error.next_step or "")
            await asyncio.sleep(60)
