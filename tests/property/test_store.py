"""P3, P4 and P5 on a real Postgres: the same machine, through the writer and its batches."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar
from uuid import uuid4

import orjson
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, run_state_machine_as_test

from muniment.actions import Actions, WriterSettings, maintenance
from muniment.domain.commands import Command
from muniment.domain.errors import MunimentError
from muniment.domain.identity import Actor
from muniment.store.database import Database
from muniment.store.workspaces import ensure_workspace
from tests.property.machine import LogMachine, Result, Said


class StoreFloor:
    """A workspace of a database, written by `Actions` and read back as `verify --dump` does."""

    def __init__(
        self, runner: asyncio.Runner, database: Database, reobserve_after: timedelta
    ) -> None:
        self._runner = runner
        self._database = database
        made = runner.run(ensure_workspace(database, f"w{uuid4().hex}"))
        self._workspace_id = made.workspace_id
        self._actions = self._within(_actions(database, reobserve_after))

    def close(self) -> None:
        self._within(self._actions.close())

    def perform(self, commands: Sequence[tuple[Actor, Command]]) -> list[Result]:
        return self._within(self._all(commands))

    def claims(self) -> Said:
        lines = (orjson.loads(line) for line in self.dump())
        return {
            (row["object_id"], row["property"], row["source"], row["value_key"]): (
                row["value"],
                row["pos"],
            )
            for row in lines
            if row["table"] == "assertions"
        }

    def retracted_at(self, pos: int) -> int:
        payload = self._within(
            self._database.reader.fetchval(
                "SELECT payload FROM object_events WHERE workspace_id = $1 AND pos = $2",
                self._workspace_id,
                pos,
            )
        )
        return orjson.loads(payload)["of_pos"]

    def length(self) -> int:
        return self._verified().pos

    def dump(self) -> list[str]:
        return self._within(self._dump())

    def check(self) -> None:
        report = self._verified()
        assert report.ok, report.problems

    def _verified(self) -> maintenance.VerifyReport:
        return self._within(maintenance.verify(self._database, self._workspace_id))

    async def _dump(self) -> list[str]:
        return [line async for line in maintenance.dump(self._database, self._workspace_id)]

    async def _all(self, commands: Sequence[tuple[Actor, Command]]) -> list[Result]:
        """Submit all at once: the writer takes what queued as one batch."""
        waiting = [
            asyncio.ensure_future(self._actions.perform(self._here(who), command))
            for who, command in commands
        ]
        results = await asyncio.gather(*waiting, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, MunimentError):
                raise result
        return results  # pyright: ignore[reportReturnType]

    def _here(self, who: Actor) -> Actor:
        return replace(who, reader=replace(who.reader, workspace_id=self._workspace_id))

    def _within(self, work: Any) -> Any:
        return self._runner.run(work)


async def _actions(database: Database, reobserve_after: timedelta) -> Actions:
    return Actions(database, WriterSettings(reobserve_after=reobserve_after))


class InStore(LogMachine):
    """The machine on Postgres."""

    runner: ClassVar[asyncio.Runner]
    database: ClassVar[Database]

    @initialize(hours=st.sampled_from([0, 24]))
    def begin(self, hours: int) -> None:
        self.floor = StoreFloor(self.runner, self.database, timedelta(hours=hours))
        self.settle()

    def teardown(self) -> None:
        super().teardown()
        floor = getattr(self, "floor", None)
        if isinstance(floor, StoreFloor):
            floor.close()


@pytest.fixture
def store(dsn: str) -> Generator[type[InStore]]:
    """The machine, bound to an empty database on a loop of its own."""
    with asyncio.Runner() as runner:
        InStore.runner = runner
        InStore.database = runner.run(Database.connect(dsn))
        InStore.steps = 0
        yield InStore
        runner.run(InStore.database.close())


def _run(machine: type[InStore], examples: int, steps: int) -> None:
    run_state_machine_as_test(  # pyright: ignore[reportUnknownMemberType]
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much),
        ),
    )


@pytest.mark.promise("P3")
@pytest.mark.promise("P4")
@pytest.mark.promise("P5")
def test_projections_equal_the_fold_after_each_of_random_commands(store: type[InStore]) -> None:
    _run(store, 12, 30)
    assert store.steps > 50


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_projections_equal_the_fold_in_20000_steps(store: type[InStore]) -> None:
    while store.steps < 20_000:
        _run(store, 100, 60)
