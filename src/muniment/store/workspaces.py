"""Tenants: made, found, listed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from uuid import UUID, uuid4

from muniment.domain.catalog import TYPES
from muniment.store.database import Database, Executor
from muniment.store.statements import load

_SQL = load("workspaces.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A tenant. `genesis`: what the first event's hash continues. `secret`: signs its cursors."""

    workspace_id: UUID
    name: str
    genesis: bytes
    secret: bytes


async def find_workspace(executor: Executor, name: str) -> Workspace | None:
    """Return the workspace of that name, if there is one."""
    row = await executor.fetchrow(_SQL["find"], name)
    return None if row is None else Workspace(**dict(row))


async def get_workspace(executor: Executor, workspace_id: UUID) -> Workspace | None:
    """Return the workspace of that id, if there is one."""
    row = await executor.fetchrow(_SQL["get"], workspace_id)
    return None if row is None else Workspace(**dict(row))


async def list_workspaces(executor: Executor) -> list[Workspace]:
    """Return all workspaces by name."""
    return [Workspace(**dict(row)) for row in await executor.fetch(_SQL["all"])]


async def ensure_workspace(
    database: Database, name: str, *, genesis: bytes | None = None
) -> Workspace:
    """Return the workspace of that name; make it, with an empty log, if it is not there.

    Safe when several processes ask at once. genesis: of an archive that is being restored.
    """
    async with database.writer.acquire() as connection, connection.transaction():
        made = uuid4()
        await connection.execute(
            _SQL["make"], made, name, genesis or os.urandom(32), os.urandom(32)
        )
        row = await connection.fetchrow(_SQL["find"], name)
        assert row is not None
        workspace = Workspace(**dict(row))
        if workspace.workspace_id == made:
            await connection.execute(_SQL["make_head"], made, workspace.genesis)
        names = list(TYPES)
        texts = [TYPES[type_name].description for type_name in names]
        await connection.execute(_SQL["put_types"], workspace.workspace_id, names, texts)
    return workspace
