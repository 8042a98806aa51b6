"""What grows: thousands of scopes, and a rebuild of fifteen thousand objects that loses none."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest

from muniment.actions import Actions, maintenance
from muniment.domain.commands import Command
from muniment.domain.errors import MunimentError
from muniment.store.database import Database
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal
from tests.integration.core import calls
from tests.integration.core.calls import claim, ensure


async def _all(actions: Actions, who: Principal, commands: Sequence[Command]) -> list[str]:
    results = await actions.perform_many(who.actor, [(command, None) for command in commands])
    errors = [result for result in results if isinstance(result, MunimentError)]
    assert not errors
    return [
        calls.id_of(result.answer)
        for result in results
        if not isinstance(result, MunimentError) and "object" in result.answer
    ]


async def test_five_thousand_project_scopes_still_take_writes(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    scopes = [f"project:{UUID(int=n)}" for n in range(5_000)]
    notes = [ensure("Note", "Plan", audience=scope) for scope in scopes]
    assert len(set(await _all(actions, operator, notes))) == 5_000
    last = await actions.perform(
        operator.actor, claim("Last", "text", "x", type="Note", audience=scopes[0])
    )
    assert calls.result_of(last.answer)["outcome"] == "asserted"
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.rows["object_aliases"] == 5_001


@pytest.mark.promise("P3")
async def test_rebuild_of_fifteen_thousand_objects_keeps_every_one(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    await _all(
        actions,
        operator,
        [
            claim(f"n{n}", "text", f"Text of {n}.", type="Note")
            if n % 5 == 0
            else ensure("Note", f"n{n}")
            for n in range(15_000)
        ],
    )
    rebuilt = await maintenance.rebuild(database, workspace.workspace_id)
    assert rebuilt.events == 18_000
    assert rebuilt.rows["objects"] == 15_000
    assert rebuilt.rows["assertions"] == 3_000
    count = await database.reader.fetchval("SELECT count(*) FROM objects")
    assert count == 15_000
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.rows == rebuilt.rows
