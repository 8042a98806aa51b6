"""Tests `import server-memory` from real files into a real database."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from muniment.actions import Actions
from muniment.domain.commands import Ref, SetStatus
from muniment.domain.errors import NotFound, TooLarge
from muniment.domain.identity import Via
from muniment.domain.model import Status
from muniment.ingest import server_memory
from muniment.ingest.report import Report
from muniment.ingest.server_memory import SOURCE, import_server_memory
from muniment.store.database import Database
from muniment.store.sources import source_claims, source_slots
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import Principal, local_ingestor

Import = Callable[[Path], Awaitable[Report]]
Known = Callable[[], Awaitable[dict[tuple[str, str], set[str]]]]
Links = Callable[[], Awaitable[set[tuple[str, str, str]]]]
TYPES = ("Person", "Organization", "Service", "Concept", "Preference", "Project")


@pytest.fixture
def importer(workspace: Workspace) -> Principal:
    """The operator at the import door."""
    return local_ingestor(workspace.workspace_id, SOURCE, Via.IMPORT)


@pytest.fixture
def run(actions: Actions, importer: Principal) -> Import:
    """Import a file."""

    async def take(path: Path) -> Report:
        return await import_server_memory(actions, importer.actor, path)

    return take


@pytest.fixture
def known(database: Database, importer: Principal) -> Known:
    """Ask what was imported: {(type, name): {"property=value", ...}}."""

    async def ask() -> dict[tuple[str, str], set[str]]:
        found: dict[tuple[str, str], set[str]] = {}
        for type_ in TYPES:
            rows = await source_claims(
                database.reader, importer.actor.reader, SOURCE, type_, ["note", "tag"]
            )
            for row in rows:
                said = f"{row.property}={json.loads(row.value)}"
                found.setdefault((type_, row.name), set()).add(said)
        return found

    return ask


@pytest.fixture
def links(database: Database, importer: Principal) -> Links:
    """Ask which links were imported: {(from, link, to)}."""

    async def ask() -> set[tuple[str, str, str]]:
        slots = await source_slots(database.reader, importer.actor.reader, SOURCE, TYPES)
        ids = {slot.object_id: slot.name for slot in slots}
        return {
            (slot.name, slot.key, ids.get(slot.dst_id, "?"))
            for slot in slots
            if slot.dst_id is not None
        }

    return ask


def entity(name: str, type_: str, *observations: object) -> dict[str, object]:
    return {
        "type": "entity",
        "name": name,
        "entityType": type_,
        "observations": list(observations),
    }


def relation(src: str, kind: str, dst: str) -> dict[str, object]:
    return {"type": "relation", "from": src, "to": dst, "relationType": kind}


def lines(path: Path, *records: object) -> Path:
    raw = [
        record if isinstance(record, bytes) else json.dumps(record).encode() for record in records
    ]
    path.write_bytes(b"\n".join(raw))
    return path


SAMPLE = (
    entity("Ada", "person", "writes Python", "likes tea"),
    entity("Acme", "company"),
    entity("billing", "service", "runs at night"),
    entity("即适者生存", "quux", "健康"),
    relation("Ada", "works_at", "Acme"),
    relation("billing", "depends on", "即适者生存"),
    relation("Acme", "has_part", "billing"),
    relation("Ada", "is fond of", "billing"),
)


async def test_entities_observations_and_relations_come_in(
    tmp_path: Path, run: Import, known: Known, links: Links, database: Database
) -> None:
    report = await run(lines(tmp_path / "memory.jsonl", *SAMPLE))
    assert report.read == {"entities": 4, "relations": 4}
    assert report.tally.objects_created == 4
    assert (report.tally.refused, report.tally.skipped) == (0, [])
    assert await known() == {
        ("Person", "Ada"): {"note=writes Python", "note=likes tea", "note=is fond of: billing"},
        ("Organization", "Acme"): {"tag=company"},
        ("Service", "billing"): {"note=runs at night"},
        ("Concept", "即适者生存"): {"tag=quux", "note=健康"},
    }
    assert await links() == {
        ("Ada", "member_of", "Acme"),
        ("billing", "depends_on", "即适者生存"),
        ("billing", "part_of", "Acme"),
        ("Ada", "related_to", "billing"),
    }
    bands = await database.reader.fetch("SELECT DISTINCT band FROM assertions")
    assert [row[0] for row in bands] == [0]


async def test_the_same_file_again_writes_nothing(tmp_path: Path, run: Import) -> None:
    path = lines(tmp_path / "memory.jsonl", *SAMPLE)
    await run(path)
    tally = (await run(path)).tally
    assert (tally.asserted, tally.linked, tally.superseded, tally.objects_created) == (0, 0, 0, 0)
    assert tally.refused == 0


async def test_the_one_object_form_is_read_too(
    tmp_path: Path, run: Import, known: Known, links: Links
) -> None:
    whole = {
        "entities": [{"name": "Ada", "entityType": "person", "observations": ["x"]}, 5],
        "relations": [{"from": "Ada", "to": "Ada", "relationType": "knows"}],
    }
    path = tmp_path / "memory.json"
    path.write_text("\ufeff" + json.dumps(whole, indent=2), encoding="utf-8")
    report = await run(path)
    assert report.read == {"entities": 1, "relations": 1}
    assert [entry.what for entry in report.tally.skipped] == ["entities[1]"]
    assert ("Person", "Ada") in await known()
    assert await links() == {("Ada", "related_to", "Ada")}


async def test_a_relation_may_stand_before_its_entities(
    tmp_path: Path, run: Import, links: Links
) -> None:
    await run(
        lines(
            tmp_path / "m",
            relation("Ada", "uses", "billing"),
            entity("Ada", "person", "x"),
            entity("billing", "service", "y"),
        )
    )
    assert await links() == {("Ada", "uses", "billing")}


async def test_each_bad_line_is_named_and_the_others_are_taken(
    tmp_path: Path, run: Import, known: Known
) -> None:
    deep = '{"type":"entity","name":"x","entityType":"y","observations":' + "[" * 100 + "]" * 100
    bad: list[object] = [
        b"{not json",
        b"[1]",
        b'{"type":"entity","name":"B\xff","entityType":"person","observations":[]}',
        b'{"type":"entity","name":"B","name":"C","entityType":"person","observations":[]}',
        deep.encode() + b"}",
        {"type": "other"},
        entity("", "person"),
        entity("x" * 600, "person"),
        entity("bad\u202ename", "person"),
        entity("half", "person", "fine", "\ud800"),
        entity("big", "person", "fine", "x" * 300_000),
        {"type": "entity", "name": "none", "entityType": "person", "observations": "text"},
        {"type": "entity", "name": "none", "observations": []},
        relation("Ada", "uses", "nobody at all"),
        relation("Ada", "", "Ada"),
    ]
    path = lines(
        tmp_path / "m", entity("Ada", "person", "x"), *bad, b"", entity("Zoe", "person", "y")
    )
    report = await run(path)
    assert [entry.line for entry in report.tally.skipped if entry.line is not None] == sorted(
        entry.line for entry in report.tally.skipped if entry.line is not None
    )
    assert {entry.line for entry in report.tally.skipped} == set(range(2, 2 + len(bad)))
    assert all(entry.reason for entry in report.tally.skipped)
    assert set(await known()) == {("Person", "Ada"), ("Person", "Zoe")}


async def test_a_retired_object_stays_retired_and_is_reported(
    tmp_path: Path,
    run: Import,
    actions: Actions,
    operator: Principal,
    known: Known,
    database: Database,
) -> None:
    path = lines(tmp_path / "m", entity("Ada", "person", "x"), entity("Bob", "person", "y"))
    await run(path)
    about = Ref(type="Person", name="Ada", canonical="ada")
    await actions.perform(
        operator.actor, SetStatus(about=about, status=Status.RETIRED, reason="Left.")
    )
    before = await known()
    more = [
        entity("Ada", "person", *(f"new {at}" for at in range(150))),
        entity("Cy", "person", "z"),
    ]
    report = await run(lines(tmp_path / "m", *more, relation("Cy", "uses", "Ada")))
    assert {entry.line for entry in report.tally.skipped} == {1, 3}
    assert all("retired" in entry.reason for entry in report.tally.skipped)
    assert report.tally.refused == len(report.tally.skipped)
    after = await known()
    assert after.pop(("Person", "Cy")) == {"note=z"}
    assert after == before
    status = await database.reader.fetchval("SELECT status FROM objects WHERE name = 'Ada'")
    assert status == "retired"


async def test_many_observations_are_all_taken(tmp_path: Path, run: Import, known: Known) -> None:
    notes = [f"observation {at}" for at in range(350)]
    await run(lines(tmp_path / "m", entity("Ada", "person", *notes)))
    assert (await known())["Person", "Ada"] == {f"note={note}" for note in notes}


async def test_fields_of_other_programs_are_named_as_left_out(tmp_path: Path, run: Import) -> None:
    record = entity("Ada", "person", "x") | {"createdAt": "2026", "version": 2}
    report = await run(lines(tmp_path / "m", record))
    assert report.notes == (
        "Fields with no meaning here were left out: createdAt (1), version (1).",
    )


async def test_a_name_that_looks_like_an_id_is_a_name(
    tmp_path: Path, run: Import, links: Links
) -> None:
    name = "00000000-0000-4000-8000-000000000001"
    await run(
        lines(
            tmp_path / "m",
            entity(name, "person", "x"),
            entity("Ada", "person", "y"),
            relation("Ada", "mentions", name),
        )
    )
    assert await links() == {("Ada", "mentions", name)}


async def test_a_missing_or_oversized_file_is_refused(
    tmp_path: Path, run: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotFound):
        await run(tmp_path / "none")
    monkeypatch.setattr(server_memory, "FILE_BYTES", 10)
    with pytest.raises(TooLarge):
        await run(lines(tmp_path / "m", *SAMPLE))
