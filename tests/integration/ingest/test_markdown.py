"""Tests `ingest markdown` from real folders into a real database."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from muniment.actions import Actions
from muniment.domain.errors import NotFound, Refused
from muniment.ingest.markdown import ingest_markdown, markdown_source
from muniment.ingest.report import Report
from muniment.store.database import Database
from muniment.store.sources import SourceSlot, source_claims, source_slots
from muniment.store.workspaces import Workspace
from muniment.surfaces.principal import local_ingestor

Ingest = Callable[..., Awaitable[Report]]
Claims = Callable[..., Awaitable[dict[str, dict[str, object]]]]
Slots = Callable[[], Awaitable[list[SourceSlot]]]


@pytest.fixture
def ingest(actions: Actions, database: Database, workspace: Workspace) -> Ingest:
    """Ingest what is at a path: `await ingest(path, name=..., moved=...)`."""

    async def run(path: Path, *, name: str | None = None, moved: bool = False) -> Report:
        documents = markdown_source(path, name)
        actor = local_ingestor(workspace.workspace_id, documents.source).actor
        return await ingest_markdown(actions, database, actor, documents, moved=moved)

    return run


@pytest.fixture
def claims(database: Database, workspace: Workspace) -> Claims:
    """Ask what `file:notes` claims of one type: {name: {property: value}}."""

    async def ask(type_: str, *properties: str) -> dict[str, dict[str, object]]:
        reader = local_ingestor(workspace.workspace_id, "file:notes").actor.reader
        rows = await source_claims(database.reader, reader, "file:notes", type_, properties)
        found: dict[str, dict[str, object]] = {}
        for row in rows:
            found.setdefault(row.name, {})[row.property] = json.loads(row.value)
        return found

    return ask


@pytest.fixture
def slots(database: Database, workspace: Workspace) -> Slots:
    """List where claims and links of `file:notes` stand."""

    async def ask() -> list[SourceSlot]:
        reader = local_ingestor(workspace.workspace_id, "file:notes").actor.reader
        types = ("Document", "Decision")
        return await source_slots(database.reader, reader, "file:notes", types)

    return ask


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder named `notes`."""
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def put(root: Path, path: str, content: str | bytes) -> Path:
    full = root / path
    full.parent.mkdir(parents=True, exist_ok=True)
    full.write_bytes(content.encode() if isinstance(content, str) else content)
    return full


GUIDE = "Intro.\n\n# Guide\n\n## Setup\n\nRun it.\n\n## Use\n\nUse it.\n\n## Setup\n\nAgain.\n"


async def test_documents_and_sections_come_to_be(
    notes: Path, ingest: Ingest, claims: Claims, slots: Slots
) -> None:
    put(notes, "docs/guide.md", GUIDE)
    put(notes, "AGENTS.md", "# Rules\n\nBe kind.\n")
    put(notes, "image.png", b"\x00")
    report = await ingest(notes)
    assert report.source == "file:notes"
    assert report.read == {"documents": 2, "sections": 6, "decisions": 0}
    assert (report.tally.refused, report.tally.skipped) == (0, [])
    found = await claims("Document", "title", "text", "heading_path", "position", "path")
    assert found["notes/docs/guide.md"] == {
        "title": "Guide",
        "text": "Intro.\n\n",
        "path": "docs/guide.md",
    }
    assert found["notes/docs/guide.md# Guide > Setup"] == {
        "title": "Setup",
        "heading_path": "Guide > Setup",
        "position": 2,
        "text": "## Setup\n\nRun it.\n\n",
    }
    assert found["notes/docs/guide.md# Guide > Setup (2)"]["position"] == 4
    pieces = [part for name, part in found.items() if name.startswith("notes/docs/guide.md")]
    ordered = sorted(pieces, key=lambda part: int(str(part.get("position", 0))))
    assert "".join(str(part["text"]) for part in ordered) == GUIDE
    chain = [slot for slot in await slots() if slot.key == "next"]
    assert len(chain) == 5


async def test_ingesting_again_writes_nothing(notes: Path, ingest: Ingest) -> None:
    put(notes, "guide.md", GUIDE)
    put(notes, "adr/0001-x.md", "# X\n\nDate: 2024-01-01\n\n## Status\n\nAccepted\n")
    await ingest(notes)
    again = await ingest(notes)
    tally = again.tally
    assert (tally.asserted, tally.linked, tally.superseded, tally.retracted) == (0, 0, 0, 0)
    assert tally.unchanged > 0


async def test_what_is_gone_is_retracted_and_what_changed_is_superseded(
    notes: Path, ingest: Ingest, claims: Claims, slots: Slots
) -> None:
    guide = put(notes, "guide.md", GUIDE)
    other = put(notes, "other.md", "# Other\n\nText.\n")
    await ingest(notes)
    other.unlink()
    guide.write_text("Intro.\n\n# Guide\n\n## Setup\n\nRun it twice.\n")
    report = await ingest(notes)
    assert report.tally.superseded == 1
    assert report.tally.retracted > 0
    assert report.tally.refused == 0
    assert set(await claims("Document", "title", "text")) == {
        "notes",
        "notes/guide.md",
        "notes/guide.md# Guide",
        "notes/guide.md# Guide > Setup",
    }
    assert not [slot for slot in await slots() if "other" in (slot.evidence or "")]
    other.write_text("# Other\n\nText.\n")
    assert (await ingest(notes)).tally.asserted > 0


async def test_reasons_of_retractions_say_what_is_gone(
    notes: Path, ingest: Ingest, database: Database
) -> None:
    other = put(notes, "other.md", "text\n")
    await ingest(notes)
    other.unlink()
    await ingest(notes)
    rows = await database.reader.fetch(
        "SELECT DISTINCT payload::jsonb ->> 'reason' FROM object_events WHERE kind = 'retracted'"
    )
    assert [row[0] for row in rows] == ["The file other.md is no longer there."]


async def test_a_file_that_cannot_be_read_is_reported_and_keeps_its_claims(
    notes: Path, ingest: Ingest, claims: Claims
) -> None:
    put(notes, "good.md", "# Good\n")
    bad = put(notes, "bad.md", "# Bad\n")
    await ingest(notes)
    bad.write_bytes(b"# B\xe4d\n")
    put(notes, "binary.md", b"a\x00b")
    put(notes, "bom.md", "\ufeff# Marked\n")
    report = await ingest(notes)
    assert {(entry.what, entry.code) for entry in report.tally.skipped} == {
        ("bad.md", "not_utf8"),
        ("binary.md", "binary"),
    }
    assert report.tally.retracted == 0
    titles = await claims("Document", "title")
    assert titles["notes/bad.md"] == {"title": "Bad"}
    assert titles["notes/bom.md"] == {"title": "Marked"}


async def test_links_are_not_followed_out_of_the_root(
    tmp_path: Path, notes: Path, ingest: Ingest, claims: Claims
) -> None:
    put(tmp_path, "secret.md", "# Secret\n")
    put(notes, "AGENTS.md", "# Rules\n")
    (notes / "CLAUDE.md").symlink_to("AGENTS.md")
    (notes / "out.md").symlink_to(tmp_path / "secret.md")
    (notes / "loop").symlink_to(notes)
    (notes / "broken.md").symlink_to("nowhere.md")
    os.mkfifo(notes / "pipe.md")
    put(notes, "node_modules/x/README.md", "# X\n")
    report = await ingest(notes)
    assert {(entry.what, entry.code) for entry in report.tally.skipped} == {
        ("out.md", "outside_root"),
        ("loop", "linked_folder"),
        ("broken.md", "unreadable"),
        ("pipe.md", "not_a_file"),
        ("node_modules", "left_out"),
    }
    assert not any(entry.what == ".git" for entry in report.tally.skipped)
    paths = await claims("Document", "path")
    assert set(paths) == {"notes/AGENTS.md", "notes/CLAUDE.md"}


async def test_three_megabytes_are_stored_in_sections(
    notes: Path, ingest: Ingest, claims: Claims
) -> None:
    text = "# Big\n\n" + ("A sentence of some length, said again. " * 25 + "\n\n") * 3_100
    assert len(text) > 3_000_000
    put(notes, "big.md", text)
    report = await ingest(notes)
    assert (report.tally.refused, report.tally.skipped) == (0, [])
    found = await claims("Document", "text", "position")
    ordered = sorted(found.values(), key=lambda part: int(str(part.get("position", 0))))
    assert "".join(str(part.get("text", "")) for part in ordered) == text
    assert all(len(str(part.get("text", "")).encode()) <= 65_536 for part in ordered)


async def test_headings_of_any_kind_have_legal_names(
    notes: Path, ingest: Ingest, claims: Claims
) -> None:
    long = "x" * 600
    put(notes, "odd.md", f"# {long}a\n\n# {long}b\n\n# \u202eleft\n\n# \n\n# tab\there\n\n#\n")
    put(notes, "Readme.md", "# One\n")
    put(notes, "readme.md", "# Two\n")
    report = await ingest(notes)
    assert (report.tally.refused, report.tally.skipped) == (0, [])
    found = await claims("Document", "title", "path", "position")
    assert len([part for part in found.values() if "position" in part]) == 8
    assert len([part for part in found.values() if "path" in part]) == 3
    again = await ingest(notes)
    assert (again.tally.asserted, again.tally.superseded) == (0, 0)


async def test_decision_records_become_decisions(
    notes: Path, ingest: Ingest, claims: Claims, slots: Slots
) -> None:
    put(
        notes,
        "docs/adr/0001-files.md",
        "# 1. Use files\n\nDate: 2023-01-02\n\n## Status\n\nSuperseded by [2](0002-log.md)\n",
    )
    put(notes, "docs/adr/0002-log.md", "# 2. Use a log\n\nStatus: Accepted\n\nText.\n")
    report = await ingest(notes)
    assert report.read["decisions"] == 2
    found = await claims("Decision", "title", "status", "text")
    assert found["notes: 0002-log"] == {
        "title": "2. Use a log",
        "status": "Accepted",
        "text": "# 2. Use a log\n\nStatus: Accepted\n\nText.\n",
    }
    ids = {slot.object_id: slot.name for slot in await slots()}
    supersedes = [slot for slot in await slots() if slot.key == "supersedes"]
    assert [(slot.name, slot.dst_id and ids[slot.dst_id]) for slot in supersedes] == [
        ("notes: 0002-log", "notes: 0001-files")
    ]


async def test_one_file_can_be_ingested_and_leaves_the_others_alone(
    notes: Path, ingest: Ingest, claims: Claims
) -> None:
    guide = put(notes, "guide.md", GUIDE)
    other = put(notes, "other.md", "# Other\n")
    await ingest(notes)
    guide.write_text("# New\n")
    other.unlink()
    report = await ingest(guide)
    assert report.read["documents"] == 1
    found = await claims("Document", "title")
    assert found["notes/guide.md"] == {"title": "New"}
    assert "notes/other.md" in found
    assert "notes/guide.md# Guide" not in found


async def test_another_folder_of_the_same_name_is_refused(
    tmp_path: Path, notes: Path, ingest: Ingest
) -> None:
    put(notes, "a.md", "# A\n")
    await ingest(notes)
    put(tmp_path, "elsewhere/notes/b.md", "# B\n")
    with pytest.raises(Refused) as caught:
        await ingest(tmp_path / "elsewhere" / "notes")
    assert caught.value.code == "source_taken"
    report = await ingest(tmp_path / "elsewhere" / "notes", moved=True)
    assert report.tally.retracted > 0


async def test_the_folder_of_a_repository_belongs_to_that_repository(
    notes: Path, ingest: Ingest, claims: Claims
) -> None:
    (notes / ".git").mkdir()
    put(notes, "README", "Plain text.\n")
    await ingest(notes)
    assert set(await claims("Repository", "title")) == {"notes"}
    assert (await claims("Document", "text"))["notes/README"] == {"text": "Plain text.\n"}


async def test_an_empty_folder_and_an_empty_file_are_no_failure(
    notes: Path, ingest: Ingest
) -> None:
    assert (await ingest(notes)).read["documents"] == 0
    put(notes, "empty.md", "")
    assert (await ingest(notes)).read == {"documents": 1, "sections": 0, "decisions": 0}


async def test_a_path_to_nothing_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        markdown_source(tmp_path / "none.md")


async def test_a_long_decision_says_where_the_rest_is(
    notes: Path, ingest: Ingest, claims: Claims
) -> None:
    put(notes, "adr/0001-x.md", "# X\n\nStatus: Accepted\nDate: 9000\n\n" + "word " * 20_000)
    await ingest(notes)
    found = (await claims("Decision", "text", "continues_in"))["notes: 0001-x"]
    assert len(str(found["text"]).encode()) <= 65_536
    assert "0001-x.md" in str(found["continues_in"])
    put(notes, "adr/0001-x.md", "# X\n\nStatus: Accepted\n")
    report = await ingest(notes)
    assert report.tally.refused == 0
    assert "continues_in" not in (await claims("Decision", "continues_in"))


async def test_progress_is_told_and_sources_of_others_are_refused(
    notes: Path, actions: Actions, database: Database, workspace: Workspace
) -> None:
    put(notes, "a.md", "# A\n")
    put(notes, ".git/README.md", "# No\n")
    documents = markdown_source(notes)
    seen: list[tuple[int, int]] = []
    actor = local_ingestor(workspace.workspace_id, documents.source).actor
    await ingest_markdown(
        *(actions, database, actor, documents),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(0, 1), (1, 1)]
    other = local_ingestor(workspace.workspace_id, "file:other").actor
    with pytest.raises(Refused) as caught:
        await ingest_markdown(actions, database, other, documents)
    assert caught.value.code == "source_not_owned"
