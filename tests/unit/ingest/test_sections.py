"""Tests that a long text is cut into pieces that fit and lose nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muniment.domain.canonical import canonical_json
from muniment.ingest.sections import PIECE_BYTES, pieces

TEXT = st.text(alphabet=st.sampled_from('ab \n\t"\\\u0001é健🚀'), max_size=400)


@given(TEXT, st.integers(min_value=8, max_value=60))
def test_pieces_joined_are_the_text_and_each_fits(text: str, limit: int) -> None:
    found = pieces(text, limit)
    assert "".join(found) == text
    assert all(found)
    assert all(len(canonical_json(piece).encode()) <= limit + 2 for piece in found)


def test_a_cut_falls_between_paragraphs() -> None:
    text = "one two three.\n\nfour five six.\n\nseven eight."
    assert pieces(text, 36) == ["one two three.\n\nfour five six.\n\n", "seven eight."]


def test_a_text_without_any_break_is_cut_between_characters() -> None:
    assert pieces("健" * 10, 10) == ["健健健", "健健健", "健健健", "健"]


def test_three_megabytes_become_pieces_of_64_kib() -> None:
    text = ("A sentence of some length, as documents have them. " * 20 + "\n\n") * 3_000
    found = pieces(text)
    assert "".join(found) == text
    assert len(text) > 3_000_000
    assert all(len(piece.encode()) <= PIECE_BYTES for piece in found)
    assert len(found) < len(text) / (PIECE_BYTES / 2) + 1


def test_no_text_has_no_pieces() -> None:
    assert pieces("") == []
