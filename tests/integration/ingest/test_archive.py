"""Tests that an archive carries the log to another workspace and back, to the byte."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from muniment.actions import Actions
from muniment.actions.maintenance import verify
from muniment.domain import codec
from muniment.domain.archive import ArchiveHeader, ArchiveRow
from muniment.domain.commands import Redact
from muniment.domain.errors import CapabilityDenied, Malformed, NotFound, Refused
from muniment.domain.identity import Via
from muniment.domain.parse import parse_merge, parse_remember, parse_retract
from muniment.ingest.archive import export_archive, import_archive
from muniment.store.database import Database
from muniment.store.workspaces import ensure_workspace
from muniment.surfaces.principal import Principal, local_operator

MakeAgent = Callable[..., Awaitable[Principal]]


@pytest.fixture
async def other(database: Database) -> Principal:
    """The operator of a second, empty workspace."""
    made = await ensure_workspace(database, "other")
    return local_operator(made.workspace_id, Via.IMPORT)


async def remember(actions: Actions, principal: Principal, name: str, value: object) -> int:
    claim = {"about": name, "type": "Note", "property": "text", "value": value}
    outcome = await actions.perform(principal.actor, parse_remember({"claims": [claim]}))
    pos = outcome.answer["pos"]
    assert isinstance(pos, int)
    return pos


async def fill(actions: Actions, operator: Principal) -> None:
    for at, value in enumerate(["one", -0.0, 1e300, {"a": [None, "\u0001é🚀"]}, 'quo"te\\']):
        await remember(actions, operator, f"note {at}", value)
    merge = {"loser": "note 0", "survivor": "note 1", "reason": "One thing."}
    await actions.perform(operator.actor, parse_merge(merge))
    retract = {"about": "note 2", "property": "text", "reason": "Wrong."}
    await actions.perform(operator.actor, parse_retract(retract))


async def test_export_import_export_gives_the_same_bytes(
    tmp_path: Path,
    database: Database,
    actions: Actions,
    operator: Principal,
    other: Principal,
    make_agent: MakeAgent,
) -> None:
    await fill(actions, operator)
    await remember(actions, await make_agent("alice", audience="private"), "secret", "hers")
    seen: list[tuple[int, int]] = []
    first = await export_archive(
        database,
        operator.actor,
        tmp_path / "a",
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (first.events, first.events)
    assert first.outcome == "exported"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    report = await import_archive(
        database,
        other.actor,
        tmp_path / "a",
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (first.events, first.events)
    assert (report.outcome, report.events) == ("imported", first.events)
    await export_archive(database, other.actor, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (await verify(database, other.actor.workspace_id)).ok
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


async def test_an_empty_log_can_be_carried_too(
    tmp_path: Path, database: Database, operator: Principal, other: Principal
) -> None:
    await export_archive(database, operator.actor, tmp_path / "a")
    await import_archive(database, other.actor, tmp_path / "a")
    await export_archive(database, other.actor, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


async def test_an_older_archive_is_already_there_and_a_newer_one_extends(
    tmp_path: Path, database: Database, actions: Actions, operator: Principal, other: Principal
) -> None:
    await fill(actions, operator)
    older = await export_archive(database, operator.actor, tmp_path / "old")
    await remember(actions, operator, "late", "news")
    newer = await export_archive(database, operator.actor, tmp_path / "new")
    assert (await import_archive(database, operator.actor, tmp_path / "old")).as_json() == {
        "outcome": "already_there",
        "events": 0,
        "head": {"pos": older.head.pos, "hash": older.head.hash.hex()},
    }
    await import_archive(database, other.actor, tmp_path / "old")
    report = await import_archive(database, other.actor, tmp_path / "new")
    assert (report.outcome, report.events) == ("extended", newer.events - older.events)
    again = await import_archive(database, other.actor, tmp_path / "new")
    assert again.outcome == "already_there"
    assert (await verify(database, other.actor.workspace_id)).ok


async def test_writing_goes_on_after_an_import(
    tmp_path: Path, database: Database, actions: Actions, operator: Principal, other: Principal
) -> None:
    await fill(actions, operator)
    head = (await export_archive(database, operator.actor, tmp_path / "a")).head
    await import_archive(database, other.actor, tmp_path / "a")
    console = local_operator(other.actor.workspace_id)
    assert await remember(actions, console, "next", "x") > head.pos
    assert (await verify(database, other.actor.workspace_id)).ok


async def test_histories_that_part_are_refused_and_nothing_is_written(
    tmp_path: Path, database: Database, actions: Actions, operator: Principal, other: Principal
) -> None:
    await fill(actions, operator)
    await export_archive(database, operator.actor, tmp_path / "shared")
    await import_archive(database, other.actor, tmp_path / "shared")
    await remember(actions, operator, "here", "one way")
    await remember(actions, local_operator(other.actor.workspace_id), "there", "another way")
    await export_archive(database, operator.actor, tmp_path / "a")
    await export_archive(database, other.actor, tmp_path / "before")
    with pytest.raises(Refused) as caught:
        await import_archive(database, other.actor, tmp_path / "a")
    assert caught.value.code == "archive_diverges"
    assert caught.value.next_step
    await export_archive(database, other.actor, tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


async def test_an_archive_of_another_log_is_refused(
    tmp_path: Path, database: Database, actions: Actions, operator: Principal, other: Principal
) -> None:
    await fill(actions, operator)
    await fill(actions, local_operator(other.actor.workspace_id))
    await export_archive(database, operator.actor, tmp_path / "a")
    with pytest.raises(Refused) as caught:
        await import_archive(database, other.actor, tmp_path / "a")
    assert caught.value.code == "archive_diverges"


@pytest.mark.parametrize("fault", ["value", "order", "missing", "end", "hash", "line"])
async def test_a_damaged_archive_is_refused_whole(
    fault: str,
    tmp_path: Path,
    database: Database,
    actions: Actions,
    operator: Principal,
    other: Principal,
) -> None:
    await fill(actions, operator)
    await export_archive(database, operator.actor, tmp_path / "a")
    lines = (tmp_path / "a").read_text().split("\n")[:-1]
    match fault:
        case "value":
            at = next(n for n, line in enumerate(lines) if '\\"one\\"' in line)
            lines[at] = lines[at].replace('\\"one\\"', '\\"two\\"')
        case "order":
            lines[3], lines[4] = lines[4], lines[3]
        case "missing":
            del lines[3]
        case "end":
            del lines[-1]
        case "hash":
            fields = json.loads(lines[3])
            fields["hash"] = "00" * 32
            lines[3] = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        case _:
            lines[3] = "{"
    (tmp_path / "a").write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(Malformed) as caught:
        await import_archive(database, other.actor, tmp_path / "a")
    assert "line" in caught.value.message.casefold()
    empty = await export_archive(database, other.actor, tmp_path / "b")
    assert empty.events == 0


async def test_a_redaction_travels_and_takes_its_content_along(
    tmp_path: Path, database: Database, actions: Actions, operator: Principal, other: Principal
) -> None:
    pos = await remember(actions, operator, "leak", "the password is swordfish")
    await export_archive(database, operator.actor, tmp_path / "before")
    await import_archive(database, other.actor, tmp_path / "before")
    await actions.perform(operator.actor, Redact(positions=(pos,), reason="A secret."))
    await export_archive(database, operator.actor, tmp_path / "after")
    assert b"swordfish" not in (tmp_path / "after").read_bytes()
    await import_archive(database, other.actor, tmp_path / "after")
    await export_archive(database, other.actor, tmp_path / "there")
    assert (tmp_path / "there").read_bytes() == (tmp_path / "after").read_bytes()
    assert (await verify(database, other.actor.workspace_id)).ok
    again = await import_archive(database, operator.actor, tmp_path / "before")
    assert again.outcome == "already_there"
    await export_archive(database, operator.actor, tmp_path / "still")
    assert (tmp_path / "still").read_bytes() == (tmp_path / "after").read_bytes()


async def test_only_an_operator_carries_archives(
    tmp_path: Path, database: Database, make_agent: MakeAgent
) -> None:
    agent = await make_agent("alice")
    with pytest.raises(CapabilityDenied):
        await export_archive(database, agent.actor, tmp_path / "a")
    with pytest.raises(CapabilityDenied):
        await import_archive(database, agent.actor, tmp_path / "a")


async def test_what_is_no_ordinary_file_is_not_replaced(
    tmp_path: Path, database: Database, operator: Principal
) -> None:
    with pytest.raises(Refused) as caught:
        await export_archive(database, operator.actor, tmp_path)
    assert caught.value.code == "not_a_file"
    with pytest.raises(NotFound):
        await export_archive(database, operator.actor, tmp_path / "none" / "a")


async def test_a_log_of_many_pages_is_carried_whole(
    tmp_path: Path, database: Database, actions: Actions, operator: Principal, other: Principal
) -> None:
    commands = [
        parse_remember(
            {"claims": [{"about": f"n{at}", "type": "Note", "property": "text", "value": at}]}
        )
        for at in range(700)
    ]
    await actions.perform_many(operator.actor, [(command, None) for command in commands])
    await export_archive(database, operator.actor, tmp_path / "a")
    await import_archive(database, other.actor, tmp_path / "a")
    await export_archive(database, other.actor, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


async def test_events_that_do_not_fold_are_refused(
    tmp_path: Path, database: Database, other: Principal
) -> None:
    genesis = b"g" * 32
    payload = '{"reason":"x","salt":"00"}'
    row = ArchiveRow(
        pos=1,
        event_id=UUID(int=5),
        kind="merged",
        object_id=UUID(int=6),
        related_id=UUID(int=7),
        actor_id=UUID(int=1),
        via="console",
        audience="fleet",
        receipt_id=None,
        recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
        payload=payload,
        payload_hash=codec.payload_digest(payload),
        hash=b"",
    )
    header = codec.header_bytes(
        pos=1,
        event_id=row.event_id,
        kind=row.kind,
        object_id=row.object_id,
        related_id=UUID(int=7),
        actor_id=row.actor_id,
        via=row.via,
        audience=row.audience,
        receipt_id=None,
        recorded_micros=codec.micros(row.recorded_at),
    )
    row = replace(row, hash=codec.link_hash(genesis, header, row.payload_hash))
    head = ArchiveHeader(genesis=genesis, pos=1, hash=row.hash)
    (tmp_path / "a").write_text(f"{head.to_line()}\n{row.to_line()}\n")
    with pytest.raises(Malformed) as caught:
        await import_archive(database, other.actor, tmp_path / "a")
    assert caught.value.code == "archive_damaged"
    assert (await export_archive(database, other.actor, tmp_path / "b")).events == 0
