"""Short ways to say a command, and to look at what came of it, for the tests of the core.

Commands are made by `domain.parse`, as every door makes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import pytest

from muniment.actions import Actions, maintenance
from muniment.domain import parse
from muniment.domain.canonical import Json
from muniment.domain.commands import Command, EnsureObject, Remember
from muniment.domain.errors import MunimentError
from muniment.domain.identity import Actor
from muniment.store.database import Database

Answer = Mapping[str, Json]


def claim(about: str, property: str, value: object, **stated: object) -> Remember:
    """One claim; `type` and `class_` are given as `type` and `class_`."""
    raw: dict[str, object] = {"about": about, "property": property, "value": value} | stated
    if "class_" in raw:
        raw["class"] = raw.pop("class_")
    return parse.parse_remember({"claims": [raw]})


def link(src: str, type: str, dst: str, **stated: object) -> Remember:
    """One link between things that exist, or whose types are given."""
    raw: dict[str, object] = {"from": src, "link": type, "to": dst} | stated
    if "class_" in raw:
        raw["class"] = raw.pop("class_")
    return parse.parse_relate(raw)


def ensure(type: str, name: str, **more: object) -> EnsureObject:
    """Find or create."""
    return parse.parse_ensure({"type": type, "name": name} | more)


def merge(loser: str, survivor: str) -> Command:
    return parse.parse_merge({"loser": loser, "survivor": survivor, "reason": "One thing."})


def unmerge(loser: str) -> Command:
    return parse.parse_unmerge({"loser": loser, "reason": "Two things after all."})


def set_status(about: str, status: str) -> Command:
    return parse.parse_set_status({"about": about, "status": status, "reason": "As it is."})


def rename(about: str, name: str) -> Command:
    return parse.parse_rename({"about": about, "name": name, "reason": "Its new name."})


def retract(about: str, property: str, **more: object) -> Command:
    raw: dict[str, object] = {"about": about, "property": property, "reason": "It was wrong."}
    return parse.parse_retract(raw | more)


def redact(*positions: int) -> Command:
    return parse.parse_redact({"positions": list(positions), "reason": "It must go."})


def result_of(answer: Answer, index: int = 0) -> dict[str, Json]:
    """One result of a remember."""
    results = answer["results"]
    assert isinstance(results, list)
    return dict(part(results[index]))


def part(of: object) -> Mapping[str, Json]:
    """A JSON object inside an answer."""
    assert isinstance(of, Mapping)
    return of  # pyright: ignore[reportUnknownVariableType]


def id_of(answer: Answer) -> str:
    """The id of the object that an answer is about."""
    return str(part(answer["object"])["id"])


def pos_of(answer: Answer) -> int:
    pos = answer["pos"]
    assert isinstance(pos, int)
    return pos


async def create(actions: Actions, actor: Actor, type: str, name: str, **more: object) -> str:
    """Create an object and return its id."""
    outcome = await actions.perform(actor, ensure(type, name, **more))
    assert outcome.answer["outcome"] == "created"
    return id_of(outcome.answer)


async def refusal(actions: Actions, actor: Actor, command: Command) -> MunimentError:
    """Perform what must be refused and return the error."""
    with pytest.raises(MunimentError) as caught:
        await actions.perform(actor, command)
    return caught.value


async def dump_text(database: Database, workspace_id: UUID) -> str:
    """All projections, as `verify --dump` writes them."""
    return "\n".join([line async for line in maintenance.dump(database, workspace_id)])


async def require_clean(database: Database, workspace_id: UUID) -> maintenance.VerifyReport:
    """Verify, and fail with what was found."""
    report = await maintenance.verify(database, workspace_id)
    assert report.ok, report.problems
    return report
