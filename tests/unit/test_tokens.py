"""The tokenizer, by what a person would expect to find; the database's side is in integration."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muniment.domain import limits, tokens
from muniment.domain.tokens import document, indexed_text, object_document, query_terms

_ENTRY = re.compile(r"'((?:[^']|'')+)':([0-9ABD,]+)")


def lexemes(tsv: str) -> dict[str, list[int]]:
    """Return what Postgres reads from tsvector input: lexeme to positions."""
    return {
        word.replace("''", "'"): [int(at.rstrip("AB")) for at in places.split(",")]
        for word, places in _ENTRY.findall(tsv)
    }


def satisfies(query: str, found: dict[str, list[int]]) -> bool:
    """Evaluate the tsquery forms that `query_terms` makes, by Postgres' rules."""
    return any(_phrase_holds(part.strip(" ()"), found) for part in query.split(" | "))


def _phrase_holds(phrase: str, found: dict[str, list[int]]) -> bool:
    words = [w[1:-1].replace("''", "'") for w in phrase.removesuffix(":*").split(" <-> ")]
    if phrase.endswith(":*"):
        return any(lexeme.startswith(words[0]) for lexeme in found)
    if any(word not in found for word in words):
        return False
    return any(
        all(start + i in found[word] for i, word in enumerate(words)) for start in found[words[0]]
    )


def finds(query: str, text: str) -> bool:
    """Say whether all terms of `query` are satisfied by the document of `text`."""
    found = lexemes(document("x", None, text).tsv)
    terms = query_terms(query)
    return bool(terms) and all(satisfies(term.query, found) for term in terms)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("written in C++ and C#", "C++"),
        ("written in C++ and C#", "c#"),
        ("never run rm -rf / here", "rm -rf"),
        ("the model gpt-4o answers", "gpt-4o"),
        ("the model gpt-4o answers", "4o"),
        ("see task_tools for this", "task_tools"),
        ("see task_tools for this", "tools"),
        ("see task_tools for this", "taskTools"),
        ("a camelCaseName here", "camel case"),
        ("getHTTPResponse fails", "http response"),
        ("fails at foo/bar.py:12 with", "foo/bar.py:12"),
        ("fails at foo/bar.py:12 with", "bar.py"),
        ("fails at foo/bar.py:12 with", "foo/bar.py"),
        ("fails at src\\foo\\bar.py", "foo/bar.py"),
        ("start with crew:run now", "crew:run"),
        ("the bot's messages are lost", "bot's messages"),
        ("the bot’s messages are lost", "bot's"),
        ("即适者生存，不适者淘汰", "适者生存"),
        ("注意健康与休息", "健康"),
        ("注意健康与休息", "康"),
        ("注意健康与休息", "息"),
        ("重跑gen-itgc后再看", "itgc"),
        ("重跑gen-itgc后再看", "重跑gen-itgc后"),
        ("東京都の機械学習入門", "機械学習"),
        ("Мы храним ДОКУМЕНТЫ здесь", "документы"),
        ("यह हिन्दी में है", "हिन्दी"),
        ("ภาษาไทยไม่มีช่องว่าง", "ไทย"),
        ("ship it 🚀 today", "🚀"),
        ("a CAFÉ here", "cafe\u0301"),
        ("Ｃ＋＋ in full width", "c++"),
        ("stores .env in the image", ".env"),
        ("closes #4711 at last", "#4711"),
        ("hello big world", '"big world"'),
        ("version 1.2.3 of it", "1.2.3"),
        ("mail to ann@example.org please", "ann@example.org"),
    ],
)
def test_text_is_found_by_what_a_person_would_type(text: str, query: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("written in C", "C++"),
        ("written in C++", "C#"),
        ("rf is radio frequency", "-rf"),
        ("健胃康体", "健康"),
        ("world big hello", '"big world"'),
        ("tools of the task", "task_tools"),
    ],
)
def test_what_only_looks_alike_is_not_found(text: str, query: str) -> None:
    assert not finds(query, text)


def test_names_properties_and_values_carry_their_weight() -> None:
    made = document("Deploy bot", "note", "rm -rf")
    assert made.tsv == "'deploy':1A 'bot':2A 'note':4B 'rm':6 '-rf':7 'rf':7"
    assert made.length == 7
    assert object_document(["Deploy bot", "bot2"]).tsv.count("A") == 5


def test_a_phrase_does_not_cross_from_the_name_into_the_value() -> None:
    found = lexemes(document("big", None, "world").tsv)
    assert not any(satisfies(term.query, found) for term in query_terms('"big world"'))


def test_no_position_or_lexeme_passes_what_postgres_holds() -> None:
    made = lexemes(document("x" * 400, None, "a " * 20_000 + "b" * 4_000 + " last").tsv)
    assert max(max(places) for places in made.values()) == tokens.LAST_POSITION
    assert max(len(places) for places in made.values()) <= tokens.POSITIONS_PER_LEXEME
    assert max(len(word.encode()) for word in made) <= tokens.LEXEME_BYTES
    assert "last" in made


def test_a_document_past_the_index_limit_keeps_its_beginning() -> None:
    text = "first " + "filler " * limits.INDEXED_CHARS + "unreached"
    found = lexemes(document("x", None, text).tsv)
    assert "first" in found
    assert "unreached" not in found


def test_the_index_of_the_longest_compound_document_stays_below_a_megabyte() -> None:
    letters = "".join(chr(0x10330 + i % 26) + ("_" if i % 7 == 0 else "") for i in range(60_000))
    for text in (letters, "\ufdfa" * limits.INDEXED_CHARS, "a/b_c." * 11_000):
        assert len(document("x", None, text).tsv.encode()) < 1_800_000
        sizes = [
            len(word.encode()) + 4 + 2 * len(places)
            for word, places in lexemes(document("x", None, text).tsv).items()
        ]
        assert sum(sizes) < 1_000_000


@pytest.mark.parametrize(
    ("value", "text"),
    [('"plain"', "plain"), ('"a\\nb\\"c"', 'a\nb"c'), ("12.5", "12.5"), ('["a"]', '["a"]')],
)
def test_the_indexed_text_of_a_string_is_the_string(value: str, text: str) -> None:
    assert indexed_text(value) == text


def test_a_query_of_symbols_alone_has_no_terms() -> None:
    assert query_terms("' \" % _ \\ & | ! ( ) :* <-> --  \u200b") == []


@given(st.text(st.characters(max_codepoint=127, exclude_characters="\x00"), max_size=200))
@example("a-b_cD9x/Y.z:12")
@example("C++x #y's")
def test_each_word_of_an_ascii_text_is_found(text: str) -> None:
    for word in re.findall(r"[A-Za-z0-9]+", text):
        assert finds(word, text), word


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
@example("\ufe0f\u200d\u0e33\u1abc'")
def test_any_text_gives_entries_that_read_back_whole(text: str) -> None:
    made = document("name", "note", text)
    assert " ".join(f"'{w}':{p}" for w, p in _ENTRY.findall(made.tsv)) == made.tsv
    assert "\x00" not in made.tsv
    for term in query_terms(text):
        assert term.lexemes


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80))
def test_a_text_is_found_by_itself(text: str) -> None:
    text = text.replace('"', " ")
    if query_terms(text):
        assert finds(text, text)


def test_a_short_document_takes_microseconds() -> None:
    text = "the deploy script moves the build to production after tests pass on main"
    document("Deploy bot", "description", text)
    best = min(_seconds(lambda: document("Deploy bot", "description", text)) for _ in range(5))
    assert best < 0.000_2


def _seconds(call: object) -> float:
    assert callable(call)
    start = time.perf_counter()
    for _ in range(200):
        call()
    return (time.perf_counter() - start) / 200
