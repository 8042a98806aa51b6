"""P3, P4 and P5 in memory: decide and evolve under random commands, replayed after each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, run_state_machine_as_test

from muniment.domain.commands import Command
from muniment.domain.errors import MunimentError
from muniment.domain.events import Retracted
from muniment.domain.identity import Actor
from muniment.domain.state import State
from tests.property.machine import LogMachine, Result, Said
from tests.unit.domain.desk import Desk, same_tables


class DeskFloor:
    """A log in memory."""

    def __init__(self, reobserve_after: timedelta) -> None:
        self._desk = Desk(reobserve_after=reobserve_after)

    def perform(self, commands: Sequence[tuple[Actor, Command]]) -> list[Result]:
        return [self._one(who, command) for who, command in commands]

    def claims(self) -> Said:
        return {
            (str(key.object_id), key.property, key.source, key.value_key): (
                claim.value or "",
                claim.pos,
            )
            for key, claim in self._desk.state.claims.items()
        }

    def retracted_at(self, pos: int) -> int:
        event = self._desk.log[pos - 1].event
        assert isinstance(event, Retracted)
        return event.of_pos

    def length(self) -> int:
        return len(self._desk.log)

    def dump(self) -> object:
        return _tables(self._desk.state)

    def check(self) -> None:
        same_tables(self._desk.state, self._desk.replayed())

    def _one(self, who: Actor, command: Command) -> Result:
        before = _tables(self._desk.state)
        try:
            return self._desk.perform(who, command)
        except MunimentError as error:
            assert _tables(self._desk.state) == before
            return error


class InMemory(LogMachine):
    """The machine on a log in memory."""

    @initialize(hours=st.sampled_from([0, 24]))
    def begin(self, hours: int) -> None:
        self.floor = DeskFloor(timedelta(hours=hours))
        self.settle()


def _tables(state: State) -> dict[str, dict[object, object]]:
    names = ("objects", "names", "claims", "links", "closed", "principals", "types")
    return {name: dict(getattr(state, name)) for name in names}


def _run(examples: int, steps: int) -> int:
    InMemory.steps = 0
    run_state_machine_as_test(  # pyright: ignore[reportUnknownMemberType]
        InMemory,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much),
        ),
    )
    return InMemory.steps


@pytest.mark.promise("P3")
@pytest.mark.promise("P4")
@pytest.mark.promise("P5")
def test_fold_equals_projection_after_each_of_random_commands() -> None:
    assert _run(60, 40) > 500


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_fold_equals_projection_in_20000_steps() -> None:
    steps = 0
    while steps < 20_000:
        steps += _run(300, 60)
