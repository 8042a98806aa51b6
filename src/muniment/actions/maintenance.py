"""Keeping the store true: verify, rebuild, dump, restore, and the expiry of kept answers."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from muniment.actions.rebuild import RebuildReport, RestoreReport, append_archive, rebuild
from muniment.actions.verify import VerifyReport, dump, verify, verify_sample
from muniment.store.database import Database, reachable
from muniment.store.write.append import expire_retries

__all__ = [
    "RebuildReport",
    "RestoreReport",
    "VerifyReport",
    "append_archive",
    "dump",
    "expire_idempotency",
    "rebuild",
    "verify",
    "verify_sample",
]


@reachable()
async def expire_idempotency(database: Database, workspace_id: UUID, retention: timedelta) -> int:
    """Forget answers to idempotency keys that are older than `retention`; return how many."""
    async with database.writer.acquire() as connection:
        return await expire_retries(connection, workspace_id, retention)
