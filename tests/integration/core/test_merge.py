"""Merge and its reverse against the database: P5, and the cases of other systems that lost it."""

from __future__ import annotations

import pytest

from muniment.actions import Actions
from muniment.store.database import Database
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal
from tests.conftest import MakeAgent
from tests.integration.core import calls
from tests.integration.core.calls import claim, create, link, merge, unmerge


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
