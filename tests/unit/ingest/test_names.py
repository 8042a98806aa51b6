"""Tests that a name made of anything is legal, bounded and one object's alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.domain import limits
from muniment.domain.text import canonical_name, display_name
from muniment.ingest.names import Namer, bounded, visible

ANY_TEXT = st.text(max_size=700)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain.py", "plain.py"),
        ("two\nlines", "two\\nlines"),
        ("tab\there", "tab\\there"),
        (b"caf\xe9".decode("utf-8", "surrogateescape"), "caf\\xe9"),
        ("right\u202eleft", "right\\u202eleft"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("Ä 健康 🚀", "Ä 健康 🚀"),
    ],
)
def test_what_cannot_be_seen_is_written_as_an_escape(raw: str, shown: str) -> None:
    assert visible(raw) == shown


@given(ANY_TEXT)
def test_a_bounded_name_is_one_that_the_door_takes_unchanged(raw: str) -> None:
    name = bounded(raw)
    assert display_name(name) == name
    assert len(name.encode()) <= limits.NAME_BYTES


@given(st.text(min_size=600, max_size=700), st.text(min_size=600, max_size=700))
def test_names_that_are_cut_stay_different(one: str, other: str) -> None:
    shared = "x" * 600
    if one != other:
        assert bounded(shared + one) != bounded(shared + other)


def test_a_suffix_stays_whole_when_the_name_is_cut() -> None:
    name = bounded("x" * 600, suffix=" (part 2)")
    assert name.endswith(" (part 2)")
    assert len(name.encode()) == limits.NAME_BYTES


def test_two_keys_whose_names_fold_alike_get_two_names() -> None:
    namer = Namer()
    first = namer.name("repo/Makefile", "Makefile")
    second = namer.name("repo/makefile", "makefile")
    assert first == "repo/Makefile"
    assert canonical_name(first) != canonical_name(second)
    assert namer.name("repo/Makefile", "Makefile") == first


def test_who_came_first_is_taken_from_the_graph() -> None:
    first = Namer()
    names = {key: first.name(f"repo/{key}", key) for key in ("makefile", "Makefile")}
    again = Namer({name: key for key, name in names.items()})
    assert {key: again.name(f"repo/{key}", key) for key in ("Makefile", "makefile")} == names
