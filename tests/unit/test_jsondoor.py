"""What the strict JSON door lets through and what it refuses, with which code."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.domain import limits
from muniment.domain.errors import Malformed, TooLarge
from muniment.domain.jsondoor import NUMBER_CHARS, loads_strict

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(limits.INT_MIN, limits.INT_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
)


def _refusal(data: bytes | str) -> Malformed:
    with pytest.raises(Malformed) as caught:
        loads_strict(data)
    assert caught.value.next_step
    return caught.value


@given(JSON)
def test_reads_what_the_standard_library_wrote(value: object) -> None:
    text = json.dumps(value)
    if "\\u0000" in text:
        assert _refusal(text).code == "nul_character"
        return
    assert loads_strict(text) == value
    assert loads_strict(json.dumps(value, ensure_ascii=False).encode()) == value


@given(st.binary(max_size=200))
def test_any_bytes_give_a_value_or_a_typed_refusal(data: bytes) -> None:
    with suppress(Malformed):
        loads_strict(data)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b"{} {}", "invalid_json"),
        (b"[1,]", "invalid_json"),
        (b"{'a':1}", "invalid_json"),
        (b"\xef\xbb\xbf{}", "invalid_json"),
        (b'"\x01"', "invalid_json"),
        (b'{"a":1,"a":2}', "duplicate_key"),
        (b'{"x":{"b":1,"c":2,"b":1}}', "duplicate_key"),
        (b'{"a":1,"\\u0061":2}', "duplicate_key"),
        (b"NaN", "not_finite"),
        (b"[-Infinity]", "not_finite"),
        (b"1e999", "not_finite"),
        (b"-1e400", "not_finite"),
        (b"9223372036854775808", "integer_range"),
        (b"-9223372036854775809", "integer_range"),
        (b"1" * 1000, "integer_range"),
        (b"0." + b"1" * 1000, "number_too_long"),
        (b"1" * 1000 + b".5", "number_too_long"),
        (b'"\x00"', "nul_character"),
        (b'"a\\u0000"', "nul_character"),
        (b'{"\\u0000":1}', "nul_character"),
        (b'"\\ud800"', "lone_surrogate"),
        (b'"\\udc00\\ud800"', "lone_surrogate"),
        (b'{"\\uDFFF":1}', "lone_surrogate"),
        (b'"\xff"', "invalid_utf8"),
        (b'"\xed\xa0\x80"', "invalid_utf8"),
        (b'"\xc0\x80"', "invalid_utf8"),
        ('"\ud800"', "lone_surrogate"),
        (b"[" * 65 + b"]" * 65, "too_deep"),
        (b"[" * 500_000, "too_deep"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "too_deep"),
        (b" " * (limits.BODY_BYTES + 1), "body_too_large"),
        ("\u00e9" * (limits.BODY_BYTES // 2 + 1), "body_too_large"),
    ],
    ids=lambda part: repr(part[:24]) if isinstance(part, bytes) else None,
)
def test_refuses(body: bytes | str, code: str) -> None:
    assert _refusal(body).code == code


def test_limits_are_stated_in_the_refusal() -> None:
    assert _refusal(b"[" * 65 + b"]" * 65).limit == limits.JSON_DEPTH
    with pytest.raises(TooLarge) as caught:
        loads_strict(b"[1234567890]", limit=10)
    assert caught.value.limit == 10


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"[" * 64 + b"]" * 64, None),
        (b'"\\ud83d\\ude00 \\u0041"', "\U0001f600 A"),
        (b'"\\\\ud800"', "\\ud800"),
        (b"-9223372036854775808", limits.INT_MIN),
        (b"9223372036854775807", limits.INT_MAX),
        (b"-0.0", 0.0),
        (b"1" * (NUMBER_CHARS - 2) + b".5", float("1" * (NUMBER_CHARS - 2))),
        (b'["[[[[' + b"[" * 100 + b'"]', None),
        (b" \n{ }\t", {}),
    ],
)
def test_lets_through(body: bytes, value: object) -> None:
    read = loads_strict(body)
    assert value is None or read == value


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert loads_strict(json.dumps([[{}] for _ in range(500)])) == [[{}] for _ in range(500)]
