"""Owns the proof that a JSON edit changes one value and no other byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.surfaces.cli.connect import jsonc
from muniment.surfaces.cli.connect.jsonc import Json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(codec="utf-8"), max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), JSON, max_size=5)
INDENTS = st.sampled_from([None, 1, 2, 4, "\t"])


@given(OBJECTS, INDENTS)
def test_parse_reads_what_json_writes(value: dict[str, Json], indent: int | str | None) -> None:
    assert jsonc.parse(json.dumps(value, indent=indent)).value == value


@given(OBJECTS, INDENTS, st.lists(st.text("abc", min_size=1), min_size=1, max_size=3), JSON)
def test_put_is_assignment(
    value: dict[str, Json], indent: int | str | None, path: list[str], new: Json
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    at: Json = value
    for key in path[:-1]:
        at = at.get(key, {}) if isinstance(at, dict) else None
    if not isinstance(at, dict):
        with pytest.raises(jsonc.NotJson):
            jsonc.put(text, tuple(path), new)
        return
    expected = json.loads(text)
    below = expected
    for key in path[:-1]:
        below = below.setdefault(key, {})
    below[path[-1]] = new
    changed = jsonc.put(text, tuple(path), new)
    assert jsonc.parse(changed).value == expected
    assert json.loads(changed) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", '{\n  "k": 1\n}'),
        ("{ // why\n}", '{\n  // why\n  "k": 1\n}'),
        ('{"a": 1}', '{"a": 1, "k": 1}'),
        ('{\n  "a": 1, // x\n  // y\n}', '{\n  "a": 1, // x\n  // y\n  "k": 1\n}'),
        ('{\n  "a": 1 /*,*/\n}', '{\n  "a": 1, /*,*/\n  "k": 1\n}'),
        ('{\n\t"a": "//",\n}\n', '{\n\t"a": "//",\n\t"k": 1\n}\n'),
    ],
)
def test_put_adds_a_member_and_leaves_the_rest(text: str, expected: str) -> None:
    assert jsonc.put(text, ("k",), 1) == expected


@pytest.mark.parametrize(
    "text", ["{", '{"a" 1}', '{"a": }', "{,}", '{"a": 01}', '{"a": "\n"}', "[" * 500, "nul"]
)
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(jsonc.NotJson):
        jsonc.parse(text)


def test_a_slash_in_quotes_is_no_comment() -> None:
    text = '{"a": "http://x/*y*/"}'
    assert not jsonc.has_comment(text, jsonc.parse(text))
    commented = '{"a": 1 // x\n}'
    assert jsonc.has_comment(commented, jsonc.parse(commented))
