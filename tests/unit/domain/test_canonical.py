"""Canonical JSON: one text for one value, exact in both directions, and what is no JSON refused."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.domain import limits
from muniment.domain.canonical import (
    Json,
    canonical_json,
    check_value,
    digest,
    value_key,
    value_text,
)
from muniment.domain.errors import Malformed, TooLarge

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(limits.INT_MIN, limits.INT_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(JSON)
def test_canonical_text_reads_back_as_the_value(value: Json) -> None:
    text = value_text(value)
    assert json.loads(text) == value
    assert value_text(json.loads(text)) == text
    text.encode()


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs", "Cc"])), SCALARS))
def test_order_of_keys_does_not_matter(value: dict[str, Json]) -> None:
    backwards = dict(reversed(list(value.items())))
    assert value_text(value) == value_text(backwards)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-0.0, "0.0"),
        (1e16, "1e+16"),
        (0.1, "0.1"),
        (1.0, "1.0"),
        (1, "1"),
        (True, "true"),
        (None, "null"),
        ("é\u2028\n", '"é\u2028\\n"'),
        ({"b": [1, {"d": 2, "c": 3}], "a": ""}, '{"a":"","b":[1,{"c":3,"d":2}]}'),
    ],
)
def test_value_has_one_text(value: Json, text: str) -> None:
    assert value_text(value) == text


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (math.nan, "not_finite"),
        (math.inf, "not_finite"),
        ([1, -math.inf], "not_finite"),
        (2**63, "integer_range"),
        (-(2**63) - 1, "integer_range"),
        ({"a": 10**1000}, "integer_range"),
        ("a\x00", "nul_character"),
        ({"a\x00": 1}, "nul_character"),
        ("\udfff", "lone_surrogate"),
        (["\ud800"], "lone_surrogate"),
        ({1: 2}, "not_json"),
        ((1, 2), "not_json"),
        (b"bytes", "not_json"),
        ({1, 2}, "not_json"),
        (object(), "not_json"),
    ],
)
def test_what_is_no_json_is_refused_with_its_code(value: object, code: str) -> None:
    with pytest.raises(Malformed) as caught:
        check_value(value, "value")
    assert (caught.value.code, caught.value.field) == (code, "value")
    assert caught.value.next_step


def test_limits_of_64_bit_are_taken() -> None:
    assert value_text(2**63 - 1) == "9223372036854775807"
    assert value_text(-(2**63)) == "-9223372036854775808"


def _nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


def test_value_is_nested_at_most_64_deep() -> None:
    assert value_text(_nested(64)) == "[" * 64 + "1" + "]" * 64
    for deep in (65, 5_000):
        with pytest.raises(TooLarge) as caught:
            check_value(_nested(deep))
        assert (caught.value.code, caught.value.limit) == ("too_deep", limits.JSON_DEPTH)
        assert caught.value.next_step


def test_value_of_256_kib_is_taken_and_a_larger_one_refused() -> None:
    assert len(value_text("x" * (limits.VALUE_BYTES - 2))) == limits.VALUE_BYTES
    for large in ("x" * (limits.VALUE_BYTES - 1), "é" * (limits.VALUE_BYTES // 2)):
        with pytest.raises(TooLarge) as caught:
            value_text(large, "claims[0].value")
        assert caught.value.field == "claims[0].value"
        assert caught.value.limit == limits.VALUE_BYTES
        assert "ingest" in (caught.value.next_step or "")


def test_digests_tell_values_apart() -> None:
    assert digest("1") != digest('"1"')
    assert len(digest("x")) == 32
    assert value_key("x") == digest("x").hex()[:32]
    assert canonical_json("a") == '"a"'
