"""Commands that one transaction carries: each sees those before it, and the rows come out the same.

Every test sends its commands twice to two workspaces, one after the other and as one batch: but
for ids and times the projections are equal, and both verify.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import orjson
import pytest

from muniment.actions import Actions, WriterSettings, maintenance
from muniment.domain import parse
from muniment.domain.commands import ChangePrincipal, Command, IssueToken, RevokeToken
from muniment.domain.errors import MunimentError
from muniment.domain.identity import Role
from muniment.store.database import Database
from muniment.store.workspaces import ensure_workspace
from muniment.surfaces.principal import local_operator
from tests.integration.core import calls
from tests.integration.core.calls import claim, ensure, link, merge, redact, rename, set_status

TOKEN = UUID(int=31)


def unrelate(src: str, type: str, dst: str) -> Command:
    return parse.parse_retract({"from": src, "link": type, "to": dst, "reason": "It was wrong."})


def change(name: str, *owned: str) -> ChangePrincipal:
    return ChangePrincipal(
        name=name,
        role=Role.INGESTOR,
        audiences=None,
        owned_sources=owned,
        default_audience=None,
        reason="It is needed.",
    )


def issue(expires_at: str | None) -> IssueToken:
    return IssueToken(
        name="ci", token_id=TOKEN, token_hash=b"h" * 32, expires_at=expires_at, reason="It starts."
    )


BEFORE: list[Command] = [
    ensure("Person", "Ann"),
    ensure("Person", "Bob"),
    ensure("Person", "Carol"),
    claim("Ann", "email", "old@example.org"),
    claim("Ann", "note", "Said before."),
    link("Ann", "related_to", "Bob"),
    rename("Carol", "Caroline"),
    claim("Bob", "summary", "secret"),
]
BATCHES: dict[str, list[Command]] = {
    "made, corrected and withdrawn": [
        claim("Ann", "summary", "one"),
        claim("Ann", "summary", "two"),
        calls.retract("Ann", "summary"),
        claim("Ann", "summary", "three", valid_from="2020", valid_to="2030"),
    ],
    "seen again, then corrected": [
        claim("Ann", "email", "old@example.org"),
        claim("Ann", "email", "old@example.org"),
        claim("Ann", "email", "new@example.org"),
        claim("Ann", "email", "newer@example.org"),
    ],
    "seen again, then withdrawn": [
        claim("Ann", "note", "Said before."),
        calls.retract("Ann", "note", value="Said before."),
    ],
    "link made, restated and withdrawn": [
        link("Bob", "works_on", "Caroline"),
        link("Bob", "works_on", "Caroline", class_="derived"),
        unrelate("Bob", "works_on", "Caroline"),
    ],
    "link seen again, restated and withdrawn": [
        link("Ann", "related_to", "Bob"),
        link("Ann", "related_to", "Bob", class_="derived", valid_from="2021-05"),
        unrelate("Ann", "related_to", "Bob"),
        link("Ann", "related_to", "Bob"),
    ],
    "link withdrawn and made again": [
        unrelate("Ann", "related_to", "Bob"),
        link("Ann", "related_to", "Bob"),
        link("Ann", "related_to", "Bob"),
    ],
    "object made, named anew, merged and archived": [
        ensure("Person", "Dora"),
        claim("Dora", "email", "dora@example.org"),
        rename("Dora", "Theodora"),
        merge("Theodora", "Ann"),
        claim("Theodora", "note", "Lands on Ann."),
        set_status("Ann", "archived"),
    ],
    "merged and unmerged, in a chain": [
        merge("Ann", "Bob"),
        merge("Bob", "Caroline"),
        claim("Ann", "tag", "x"),
        calls.unmerge("Bob"),
        calls.unmerge("Ann"),
        claim("Ann", "tag", "y"),
    ],
    "merged with a claim of the head in the same breath": [
        claim("Bob", "email", "bob@example.org"),
        merge("Ann", "Bob"),
        link("Ann", "related_to", "Caroline"),
        set_status("Bob", "retired"),
    ],
    "restored and written to": [
        set_status("Ann", "historical"),
        claim("Ann", "email", "refused"),
        set_status("Ann", "active"),
        claim("Ann", "email", "taken"),
    ],
    "redacted and said again": [
        redact(4, 8),
        claim("Ann", "email", "after"),
        claim("Bob", "summary", "after"),
        redact(3),
        redact(6),
        link("Ann", "related_to", "Bob"),
    ],
    "named to and fro": [
        rename("Ann", "Anna"),
        rename("Anna", "ANN"),
        rename("ann", "Ann"),
        claim("anna", "note", "Of a former name."),
    ],
    "type added and used": [ensure("Type", "Vessel"), ensure("Vessel", "Argo")],
    "principal made, given a token, and changed": [
        change("ci", "git:*"),
        issue("2030"),
        change("ci", "git:x", "weird,{}\"\\ NULL"),
    ],
    "token issued and revoked": [
        change("ci"),
        issue(None),
        RevokeToken(name="ci", token_id=TOKEN, reason="It leaked."),
    ],
}  # fmt: skip


async def _shape(database: Database, workspace_id: UUID) -> list[str]:
    """Return the projections without what differs by chance: ids are numbered as they come."""
    names: dict[str, str] = {}
    shapes: list[str] = []
    rows = [orjson.loads(line) async for line in maintenance.dump(database, workspace_id)]
    for row in rows:
        if row["table"] == "objects":
            names[row["object_id"]] = f"object {row['created_pos']}"
        if row["table"] == "principals":
            names[row["principal_id"]] = row["name"]
    for row in rows:
        for key in ("event_id", "created_at", "first_observed", "last_observed"):
            row.pop(key, None)
        if not row.get("valid_from"):
            row.pop("valid_since", None)
        text = orjson.dumps(row).decode()
        for each, name in names.items():
            text = text.replace(each, name)
        shapes.append(text)
    return sorted(shapes)


async def _send(
    database: Database, name: str, commands: Sequence[Command], *, together: bool, documents: bool
) -> list[str]:
    workspace = await ensure_workspace(database, name)
    who = local_operator(workspace.workspace_id).actor
    settings = WriterSettings(reobserve_after=timedelta(0), documents=documents)
    actions = Actions(database, settings)
    for command in BEFORE:
        await actions.perform(who, command)
    if together:
        results = await actions.perform_many(who, [(command, None) for command in commands])
    else:
        results = [await _alone(actions, who, command) for command in commands]
    await actions.close()
    for result in results:
        if isinstance(result, MunimentError):
            assert result.code in ("object_historical",), result.as_dict()
    report = await maintenance.verify(database, workspace.workspace_id, documents=documents)
    assert report.ok, report.problems
    return await _shape(database, workspace.workspace_id)


async def _alone(actions: Actions, who: object, command: Command) -> object:
    try:
        return await actions.perform(who, command)  # pyright: ignore[reportArgumentType]
    except MunimentError as error:
        return error


@pytest.mark.promise("P3")
async def test_batch_leaves_the_rows_that_its_commands_leave_one_by_one(
    database: Database,
) -> None:
    for name, commands in BATCHES.items():
        # Token hashes are unique: the second workspace would issue the same token.
        await database.writer.execute("DELETE FROM credentials")
        singly = await _send(database, f"{name} 1", commands, together=False, documents=True)
        await database.writer.execute("DELETE FROM credentials")
        at_once = await _send(database, f"{name} 2", commands, together=True, documents=True)
        assert at_once == singly, name


async def test_writer_without_documents_leaves_them_to_a_rebuild(database: Database) -> None:
    commands = [command for batch in BATCHES.values() for command in batch[:3]]
    commands = [command for command in commands if not isinstance(command, IssueToken)]
    workspace = await ensure_workspace(database, "bare")
    actions = Actions(database, WriterSettings(documents=False))
    who = local_operator(workspace.workspace_id).actor
    await actions.perform_many(who, [(command, None) for command in [*BEFORE, *commands]])
    await actions.close()
    assert not await database.reader.fetchval("SELECT count(*) FROM search_documents")
    bare = await maintenance.verify(database, workspace.workspace_id, documents=False)
    assert bare.ok, bare.problems
    assert not (await maintenance.verify(database, workspace.workspace_id)).ok
    await maintenance.rebuild(database, workspace.workspace_id)
    await calls.require_clean(database, workspace.workspace_id)


async def test_fault_of_ours_in_one_command_leaves_its_neighbours_alone(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    workspace = await ensure_workspace(database, "fault")
    who = local_operator(workspace.workspace_id).actor
    actions = Actions(database)
    broken = replace(ensure("Note", "x"), ref=replace(ensure("Note", "x").ref, name=None))
    results = await asyncio.gather(
        actions.perform(who, ensure("Note", "a")),
        actions.perform(who, broken),
        actions.perform(who, ensure("Note", "b")),
        return_exceptions=True,
    )
    await actions.close()
    assert isinstance(results[1], MunimentError)
    assert results[1].code == "internal"
    assert "deciding EnsureObject failed" in caplog.text
    report = await calls.require_clean(database, workspace.workspace_id)
    assert report.rows["objects"] == 2
