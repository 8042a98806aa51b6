"""Owns the agreement of the tokenizer with Postgres: what it writes can be read, and is found."""

from __future__ import annotations

import psycopg
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.domain import limits
from muniment.domain.tokens import document, query_terms

_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=300)


def test_any_text_casts_to_a_tsvector_that_its_own_terms_match(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:

        @settings(max_examples=300, deadline=None)
        @given(_TEXT)
        def agrees(text: str) -> None:
            made = document("A name", "note", text)
            connection.execute("SELECT %s::tsvector", (made.tsv,))
            for term in query_terms(text.replace('"', " ")):
                row = connection.execute(
                    "SELECT %s::tsvector @@ %s::tsquery", (made.tsv, term.query)
                ).fetchone()
                assert row == (True,), term

        agrees()


def test_longest_documents_cast_to_a_tsvector(dsn: str) -> None:
    texts = (
        "\ufdfa" * limits.INDEXED_CHARS,
        "a/b_c." * 11_000,
        "".join(chr(0x10330 + i % 26) + ("_" if i % 7 == 0 else "") for i in range(65_000)),
        "".join(chr(0x20000 + i) for i in range(42_000)),
        "".join(chr(0x4E00 + i % 20_000) for i in range(65_536)),
        "word " * 100_000,
        " ".join(f"w{i}" for i in range(20_000)),
        "x" * 300_000,
    )
    with psycopg.connect(dsn, autocommit=True) as connection:
        for text in texts:
            made = document("A name", "note", text)
            row = connection.execute("SELECT length(%s::tsvector)", (made.tsv,)).fetchone()
            assert row is not None
            assert row[0] > 0
