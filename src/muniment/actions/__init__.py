"""The only door to writing: commands in, durable answers out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

from muniment.actions.batch import Pending
from muniment.actions.writer import Writer, WriterSettings
from muniment.domain.commands import Command
from muniment.domain.errors import Busy, MunimentError
from muniment.domain.identity import Actor
from muniment.domain.outcomes import Outcome
from muniment.store.database import Database

__all__ = ["Actions", "WriterSettings"]


class Actions:
    """Carries out commands. One per process; it keeps a writer for each workspace in use."""

    def __init__(self, database: Database, settings: WriterSettings | None = None) -> None:
        self.database = database
        self._settings = settings or WriterSettings()
        self._writers: dict[UUID, Writer] = {}
        self._closed = False

    async def perform(self, actor: Actor, command: Command, *, key: str | None = None) -> Outcome:
        """Carry out one command and return its answer once it is durable.

        key: makes the command repeatable: the same key and command have one effect and one answer.
        A caller that is cancelled while waiting does not know the outcome; its key tells.

        Raises:
            MunimentError: refused, and nothing was written; or, for `Unavailable`, not known.
        """
        pending = await self._submit(actor, command, key)
        return await pending.future

    async def perform_many(
        self, actor: Actor, commands: Sequence[tuple[Command, str | None]]
    ) -> list[Outcome | MunimentError]:
        """Carry out many commands in order, each on its own; return what each came to, in order.

        Raises:
            Exception: a fault that is no `MunimentError`.
        """
        results: list[Outcome | MunimentError] = []
        width = self._settings.batch_limit
        for start in range(0, len(commands), width):
            waiting = [
                await self._submit_patiently(actor, command, key)
                for command, key in commands[start : start + width]
            ]
            for pending in waiting:
                try:
                    results.append(await pending.future)
                except MunimentError as error:
                    results.append(error)
        return results

    async def close(self) -> None:
        """Finish what is queued and take nothing more."""
        self._closed = True
        await asyncio.gather(*(writer.close() for writer in self._writers.values()))
        self._writers.clear()

    async def _submit(self, actor: Actor, command: Command, key: str | None) -> Pending:
        if self._closed:
            raise RuntimeError("the actions are closed")
        writer = self._writers.get(actor.workspace_id)
        if writer is None:
            writer = Writer(self.database, actor.workspace_id, self._settings)
            self._writers[actor.workspace_id] = writer
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        pending = Pending(actor=actor, command=command, key=key, future=future)
        await writer.submit(pending)
        return pending

    async def _submit_patiently(self, actor: Actor, command: Command, key: str | None) -> Pending:
        """Queue as part of a bulk: it waits for room as long as the queue moves."""
        while True:
            try:
                return await self._submit(actor, command, key)
            except Busy:
                continue
