"""Merge and its reverse against the database: P5, and the cases of other systems that lost it."""

from __future__ import annotations

import asyncio

import pytest

from muniment.actions import Actions
from muniment.domain.errors import MunimentError, Refused
from muniment.store.database import Database
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal
from tests.conftest import MakeAgent
from tests.integration.core import calls
from tests.integration.core.calls import claim, create, link, merge, refusal, unmerge


@pytest.mark.promise("P5")
async def test_merge_then_unmerge_restores_a_byte_equal_dump(
    actions: Actions,
    database: Database,
    workspace: Workspace,
    operator: Principal,
    make_agent: MakeAgent,
) -> None:
    agent = (await make_agent("alice")).actor
    a = await create(actions, agent, "Person", "Ann Lee")
    b = await create(actions, agent, "Person", "A. Lee")
    c = await create(actions, agent, "Project", "Muniment")
    for command in (
        claim(a, "email", "ann@example.org"),
        claim(b, "email", "lee@example.org"),
        claim(b, "email", "a.lee@example.org"),
        claim(b, "note", "Works at night."),
        link(a, "works_on", c),
        link(b, "works_on", c),
        link(b, "works_on", c, class_="derived"),
        link(a, "same_as", b),
    ):
        await actions.perform(agent, command)
    before = await calls.dump_text(database, workspace.workspace_id)
    await actions.perform(operator.actor, merge(b, a))
    while_merged = await calls.dump_text(database, workspace.workspace_id)
    await calls.require_clean(database, workspace.workspace_id)
    await actions.perform(operator.actor, unmerge(b))
    assert while_merged != before
    assert await calls.dump_text(database, workspace.workspace_id) == before
    await calls.require_clean(database, workspace.workspace_id)


@pytest.mark.promise("P5")
async def test_chained_merge_blocks_the_unmerge_below_it_by_name(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    who = operator.actor
    a, b, c = [await create(actions, who, "Person", name) for name in "abc"]
    for each in (a, b, c):
        await actions.perform(who, claim(each, "email", each))
    before = await calls.dump_text(database, workspace.workspace_id)
    await actions.perform(who, merge(a, b))
    blocking = (await actions.perform(who, merge(b, c))).answer["pos"]
    error = await refusal(actions, who, unmerge(a))
    assert isinstance(error, Refused)
    assert error.code == "merge_rests_on_this"
    assert error.details == {"blocked_by": blocking, "object_id": b}
    await actions.perform(who, unmerge(b))
    await calls.require_clean(database, workspace.workspace_id)
    await actions.perform(who, unmerge(a))
    assert await calls.dump_text(database, workspace.workspace_id) == before


async def test_merges_of_two_into_each_other_at_once_leave_one_merge(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    who = operator.actor
    other = Actions(database)
    for round_ in range(5):
        a = await create(actions, who, "Person", f"a{round_}")
        b = await create(actions, who, "Person", f"b{round_}")
        results = await asyncio.gather(
            actions.perform(who, merge(a, b)),
            other.perform(who, merge(b, a)),
            return_exceptions=True,
        )
        errors = [result for result in results if isinstance(result, MunimentError)]
        assert [error.code for error in errors] == ["merge_merged"]
    await other.close()
    await calls.require_clean(database, workspace.workspace_id)


async def test_second_unmerge_answers_already_reversed_and_writes_nothing(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    who = operator.actor
    a, b = [await create(actions, who, "Person", name) for name in "ab"]
    await actions.perform(who, merge(a, b))
    await actions.perform(who, unmerge(a))
    answer = (await actions.perform(who, unmerge(a))).answer
    assert answer["outcome"] == "already_reversed"
    assert "pos" not in answer
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.pos == 4
