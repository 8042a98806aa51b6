"""Tests that an archive's lines are exact both ways and that any change of one is named."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.domain.archive import ArchiveHeader, ArchiveRow
from muniment.domain.codec import payload_digest
from muniment.domain.errors import Malformed, NotFound
from muniment.ingest.archive_file import ArchiveReader

MADE = '{"name":"x","type":"Note"}'
GENESIS = b"g" * 32
START = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))


def event(pos: int, payload: str, kind: str = "object_created") -> ArchiveRow:
    return ArchiveRow(
        pos=pos,
        event_id=UUID(int=pos),
        kind=kind,
        object_id=UUID(int=7) if kind != "redacted" else None,
        related_id=None,
        actor_id=UUID(int=1),
        via="console",
        audience="fleet",
        receipt_id=None,
        recorded_at=START + timedelta(microseconds=pos),
        payload=payload,
        payload_hash=payload_digest(payload),
        hash=b"h" * 32,
    )


def changed(row: ArchiveRow, **parts: Any) -> ArchiveRow:
    return replace(row, **parts)


def log(*payloads: str) -> list[ArchiveRow]:
    return [
        event(pos, payload, "redacted" if '"targets"' in payload else "object_created")
        for pos, payload in enumerate(payloads, start=1)
    ]


def written(path: Path, rows: list[ArchiveRow], header: ArchiveHeader | None = None) -> Path:
    head = header or ArchiveHeader(genesis=GENESIS, pos=len(rows), hash=rows[-1].hash)
    path.write_text("".join(f"{part.to_line()}\n" for part in [head, *rows]), encoding="utf-8")
    return path


def read(path: Path) -> list[ArchiveRow]:
    with ArchiveReader(path) as archive:
        return list(archive.rows())


def refused_line(path: Path) -> object:
    with pytest.raises(Malformed) as caught:
        read(path)
    assert caught.value.code == "archive_line"
    return caught.value.details["line"]


@given(TEXT, st.integers(min_value=0, max_value=2**50))
def test_a_row_comes_back_from_its_line(payload: str, ticks: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks)
    row = changed(event(1, payload), recorded_at=moment, payload=payload)
    assert ArchiveRow.from_line(row.to_line(), 2) == row


def test_absent_parts_are_left_out() -> None:
    row = changed(event(1, "{}"), audience=None, payload=None)
    assert json.loads(row.to_line()).keys().isdisjoint({"audience", "payload", "receipt_id"})
    assert ArchiveRow.from_line(row.to_line(), 2) == row


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        "null",
        "{",
        '{"pos":1}',
        "9" * 5_000,
        "[" * 100_000,
    ],
)
def test_a_line_that_is_no_row_is_refused(line: str) -> None:
    with pytest.raises(Malformed) as caught:
        ArchiveRow.from_line(line, 9)
    assert caught.value.details == {"line": 9}


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("pos", "1"),
        ("pos", True),
        ("pos", -1),
        ("event_id", "x"),
        ("event_id", "00000000-0000-0000-0000-00000000000A"),
        ("hash", "00"),
        ("hash", "zz"),
        ("payload", "\ud800"),
        ("payload", None),
        ("recorded_at", 2**62),
        ("extra", 1),
    ],
)
def test_a_row_with_a_foreign_part_is_refused(part: str, value: object) -> None:
    fields = json.loads(event(1, "{}").to_line())
    line = json.dumps(fields | {part: value}, sort_keys=True, separators=(",", ":"))
    with pytest.raises(Malformed):
        ArchiveRow.from_line(line, 2)


def test_an_archive_is_read_to_its_end(tmp_path: Path) -> None:
    rows = log(MADE, MADE, MADE)
    assert read(written(tmp_path / "a", rows)) == rows


def test_an_empty_log_is_an_archive(tmp_path: Path) -> None:
    head = ArchiveHeader(genesis=GENESIS, pos=0, hash=GENESIS)
    assert read(written(tmp_path / "a", [], head)) == []


def test_a_redacted_row_needs_the_redaction_that_names_it(tmp_path: Path) -> None:
    rows = log(MADE, MADE, '{"skeletons":["{}"],"targets":[2]}')
    emptied = [rows[0], changed(rows[1], payload=None), rows[2]]
    assert read(written(tmp_path / "a", emptied)) == emptied
    assert refused_line(written(tmp_path / "b", rows)) == 3
    unnamed = [changed(rows[0], payload=None), *emptied[1:]]
    assert refused_line(written(tmp_path / "c", unnamed)) == 2


@pytest.mark.parametrize(
    "parts",
    [
        {"kind": "exploded"},
        {"via": "window"},
        {"audience": "everyone"},
        {"payload": "[]"},
        {"payload": "{"},
        {"payload": '{"name":"x"}'},
        {"payload": MADE + "\x00"},
        {"object_id": None},
    ],
)
def test_a_line_that_holds_no_event_is_named(tmp_path: Path, parts: dict[str, Any]) -> None:
    rows = log(MADE, MADE)
    assert refused_line(written(tmp_path / "a", [rows[0], changed(rows[1], **parts)])) == 3


def test_a_file_cut_within_a_line_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a", log(MADE, MADE))
    path.write_bytes(path.read_bytes()[:-1])
    assert refused_line(path) == 3


@pytest.mark.parametrize("content", [b"", b"\n", b"hello\n", b"\xff\xfe\n", b'{"muniment":"x"}\n'])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    assert refused_line(path) == 1


def test_a_later_version_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text('{"muniment":"archive","version":2}\n')
    with pytest.raises(Malformed, match="known here: 1") as caught:
        ArchiveReader(path)
    assert caught.value.code == "archive_version"


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        ArchiveReader(tmp_path / "none")
