"""Tests the reading of git's stream, however it is cut and whatever stands in it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.ingest.git_log import Change, GitCommit, LogParser, moment_of, text_of

MARK = b"muniment-0123"
SHA = "a" * 40
PARENT = "b" * 40
ZEROS = b"0" * 40


def header(*, message: bytes = b"Title\n\nBody\n", parents: bytes = b"") -> bytes:
    fields = [SHA.encode(), parents, b"Ann", b"ann@example.org", b"1700000000", b"1700000060"]
    return b"\x00" + b"\x00".join([MARK, *fields, message, b"", b""])


def raw(status: bytes, *paths: bytes) -> bytes:
    return b":100644 100644 " + ZEROS + b" " + ZEROS + b" " + b"\x00".join([status, *paths, b""])


STREAM = (
    header()
    + b"\n"
    + raw(b"M", b"a\nb")
    + raw(b"R087", b"old", b"new")
    + raw(b"D", b"gone")
    + b"3\t1\ta\nb\x00"
    + b"2\t0\t\x00old\x00new\x00"
    + b"-\t-\tgone\x00"
    + header(message=b"", parents=PARENT.encode())
    + header(message=MARK + b"\n:not a change\n1\t2\tx")
)


def parse(stream: bytes, cuts: list[int], limit: int = 200) -> list[GitCommit]:
    parser = LogParser(MARK, limit)
    found: list[GitCommit] = []
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    for start, end in pairwise(edges):
        found += parser.feed(stream[start:end])
    return found + parser.finish()


@given(st.lists(st.integers(min_value=0), max_size=12))
def test_commits_are_the_same_however_the_stream_is_cut(cuts: list[int]) -> None:
    assert parse(STREAM, cuts) == parse(STREAM, [])


def test_changes_renames_and_counts_are_read() -> None:
    first, second, third = parse(STREAM, [])
    assert first.changes == (
        Change(path=b"a\nb", status="M"),
        Change(path=b"new", status="R", former=b"old"),
        Change(path=b"gone", status="D"),
    )
    assert (first.files_changed, first.insertions, first.deletions) == (3, 5, 1)
    assert first.message == "Title\n\nBody"
    assert first.committed == datetime(2023, 11, 14, 22, 14, 20, tzinfo=UTC)
    assert (second.message, second.parents, second.changes) == ("", (PARENT,), ())
    assert third.message.startswith(MARK.decode())
    assert third.files_changed == 0


def test_changes_past_the_limit_are_counted_but_not_kept() -> None:
    first = parse(STREAM, [], limit=1)[0]
    assert len(first.changes) == 1
    assert first.files_changed == 3


def test_a_path_that_looks_like_the_stream_is_a_path() -> None:
    stream = header() + b"\n" + raw(b"A", MARK) + raw(b"A", b":100644") + raw(b"A", b"1\t2\tx")
    stream += b"1\t0\t" + MARK + b"\x00" + header()
    first, _ = parse(stream, [])
    assert [change.path for change in first.changes] == [MARK, b":100644", b"1\t2\tx"]
    assert first.insertions == 1


def test_an_empty_stream_has_no_commits() -> None:
    assert parse(b"", []) == []


def test_text_that_is_no_utf8_is_read_as_latin1() -> None:
    assert text_of(b"caf\xe9") == "café"
    assert text_of("café".encode()) == "café"


@pytest.mark.parametrize("raw_seconds", [b"", b"x", b"99999999999999999999", b"-99999999999999"])
def test_a_date_that_no_calendar_holds_is_none(raw_seconds: bytes) -> None:
    assert moment_of(raw_seconds) is None
