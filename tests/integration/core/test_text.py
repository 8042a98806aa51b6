"""Text that means something to SQL, JSON, arrays, LIKE or tsquery is kept to the letter."""

from __future__ import annotations

from datetime import UTC, datetime

import orjson
import pytest

from muniment.actions import Actions, maintenance
from muniment.domain import limits, parse
from muniment.domain.canonical import Json
from muniment.domain.commands import Command
from muniment.domain.errors import Malformed, MunimentError
from muniment.domain.identity import Role
from muniment.reads import Reads
from muniment.store.database import Database
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal
from tests.conftest import MakeAgent
from tests.integration.core import calls
from tests.integration.core.calls import claim, create, ensure

NASTY = [
    "'; DROP TABLE objects; --",
    '"; TRUNCATE object_events; --',
    "100%_\\%",
    "{a,b,NULL}",
    '{"a"}',
    "$1 $$ $x$ %s {} %(x)s",
    "a & b | !c:* <-> 'd'",
    "E'\\x41'",
    "\\N",
    "NULL",
    "back\\slash\\",
    ',"value":"forged"}',
    "C++",
    "rm -rf",
    "foo/bar.py:12",
    "即适者生存",
    "Ωμέγα Ȁ ﷺ",
    "👩\u200d💻",
    "\u0390" * 216 + "\ufdfa" * 26,
    "x" * limits.NAME_BYTES,
]


async def test_nasty_text_comes_back_as_it_went_in(
    actions: Actions, database: Database, workspace: Workspace, make_agent: MakeAgent
) -> None:
    ci = await make_agent("ci", role=Role.INGESTOR, owned_sources=tuple(NASTY[:12]))
    commands: list[tuple[Command, str | None]] = []
    for number, text in enumerate(NASTY):
        line = text[: limits.KEY_BYTES // 4]
        stated: dict[str, object] = {"evidence": line}
        if text in NASTY[:12]:
            stated["source"] = text
        commands.append((ensure("Note", text), line))
        commands.append((claim(text, "text", text, **stated), f"{number}"))
        commands.append((claim(text, "note", {text: [text, None, number]}), None))
    results = await actions.perform_many(ci.actor, commands)
    assert not [result for result in results if isinstance(result, MunimentError)]
    rows = await database.reader.fetch(
        "SELECT o.name, a.value, a.evidence FROM assertions a JOIN objects o USING (object_id) "
        "WHERE a.property = 'text'"
    )
    assert {row["name"]: orjson.loads(row["value"]) for row in rows} == {t: t for t in NASTY}
    before = await calls.dump_text(database, workspace.workspace_id)
    await calls.require_clean(database, workspace.workspace_id)
    await maintenance.rebuild(database, workspace.workspace_id)
    assert await calls.dump_text(database, workspace.workspace_id) == before
    reads = Reads(database)
    for text in NASTY:
        shown = await reads.open(ci.reader, parse.parse_ref(text))
        assert orjson.dumps(text).decode() in orjson.dumps(shown).decode()


async def test_values_at_their_limits_are_kept_and_verified(
    actions: Actions, database: Database, workspace: Workspace, operator: Principal
) -> None:
    values: list[Json] = [
        "x" * (limits.VALUE_BYTES - 2),
        "word " * 50_000,
        "é" * 100_000,
        [[]],
        {},
        -0.0,
        5e-324,
        1.7976931348623157e308,
        1e16,
        0.1,
        limits.INT_MAX,
        limits.INT_MIN,
        True,
        None,
    ]
    note = await create(actions, operator.actor, "Note", "Limits")
    for number, value in enumerate(values):
        await actions.perform(operator.actor, claim(note, f"p{number}", value))
    rows = await database.reader.fetch("SELECT value FROM assertions ORDER BY pos")
    assert [orjson.loads(row["value"]) for row in rows] == values
    await calls.require_clean(database, workspace.workspace_id)


async def test_nothing_is_known_to_hold_before_it_was_first_observed(
    actions: Actions, database: Database, operator: Principal
) -> None:
    note = await create(actions, operator.actor, "Note", "Young")
    await actions.perform(operator.actor, claim(note, "text", "open since no one knows when"))
    await actions.perform(operator.actor, claim(note, "summary", "old", valid_from="1850"))
    early = await Reads(database).open(
        operator.reader, parse.parse_ref(note), as_of=datetime(1900, 1, 1, tzinfo=UTC)
    )
    assert "open since" not in str(early)
    assert "old" in str(early)


async def test_type_given_along_with_an_id_is_not_ignored_by_a_read(
    actions: Actions, database: Database, operator: Principal
) -> None:
    note = await create(actions, operator.actor, "Note", "Known")
    await create(actions, operator.actor, "Type", "Vessel")
    reads = Reads(database)
    for right in ("Note", "NOTE", None):
        shown = await reads.open(operator.reader, parse.parse_ref(note, right))
        assert "Known" in str(shown)
    for wrong, code in (("Task", "type_mismatch"), ("Vessel", "type_mismatch"), ("X", None)):
        with pytest.raises(Malformed) as caught:
            await reads.open(operator.reader, parse.parse_ref(note, wrong))
        assert caught.value.code == (code or "unknown_type")
        assert caught.value.field == "type"
