"""Canonical JSON and digests: one byte string for one value, so that equality and hashes agree.

Canonical JSON here is: keys sorted by code point, no white space, no escapes but those that JSON
demands, numbers as Python's shortest round-trip form, negative zero as zero. Integers stay within
64 bit and floats finite, so that any JSON reader gets back what was written.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, cast

from muniment.domain import limits
from muniment.domain.errors import Malformed, TooLarge
from muniment.domain.text import require_encodable

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"

_encoder: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), check_circular=False
)
encode_string: Final = json.encoder.encode_basestring
"""Encode one string as JSON text, with its quotes."""


def canonical_json(value: Json) -> str:
    """Return the canonical text of a value that `check_value` has let through."""
    if isinstance(value, str):
        return encode_string(value)
    return _encoder.encode(value)


def check_value(value: object, field: str = "value") -> Json:
    """Return `value` as JSON that can be stored exactly, or refuse it.

    Raises:
        Malformed: not JSON, NaN or infinite, an integer past 64 bit, NUL, a lone surrogate.
        TooLarge: deeper than `limits.JSON_DEPTH`.
    """
    return _check(value, field, 1)


def value_text(value: object, field: str = "value") -> str:
    """Return the canonical text of `value`.

    Raises:
        Malformed, TooLarge: as `check_value`, and over `limits.VALUE_BYTES` of canonical text.
    """
    text = canonical_json(check_value(value, field))
    if len(text) > limits.VALUE_BYTES or len(text.encode()) > limits.VALUE_BYTES:
        raise TooLarge(
            f"{field} is over {limits.VALUE_BYTES} bytes of canonical JSON.",
            field=field,
            limit=limits.VALUE_BYTES,
            next_step="Split it into several claims, or ingest it as a document in sections.",
        )
    return text


def digest(text: str) -> bytes:
    """Return the SHA-256 of a text's UTF-8 form (32 bytes)."""
    return hashlib.sha256(text.encode()).digest()


def value_key(text: str) -> str:
    """Return the short digest that tells two values of a multi-valued property apart (32 hex)."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _check(value: object, field: str, depth: int) -> Json:
    if isinstance(value, str):
        return require_encodable(value, field)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if limits.INT_MIN <= value <= limits.INT_MAX:
            return value
        raise Malformed(
            f"{field} holds an integer past 64 bit.",
            code="integer_range",
            field=field,
            limit=limits.INT_MAX,
            next_step="Send it as a string.",
        )
    if isinstance(value, float):
        if math.isfinite(value):
            return value + 0.0 if value else 0.0
        raise Malformed(
            f"{field} holds NaN or an infinity, which JSON does not have.",
            code="not_finite",
            field=field,
            next_step="Send a finite number, a string or null.",
        )
    return _check_container(value, field, depth)


def _check_container(value: object, field: str, depth: int) -> Json:
    if depth > limits.JSON_DEPTH:
        raise TooLarge(
            f"{field} is nested deeper than {limits.JSON_DEPTH} levels.",
            code="too_deep",
            field=field,
            limit=limits.JSON_DEPTH,
            next_step="Flatten it, or send the inner part as a string.",
        )
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [_check(item, field, depth + 1) for item in items]
    if isinstance(value, dict):
        checked: dict[str, Json] = {}
        pairs = cast("dict[object, object]", value)
        for key, item in pairs.items():
            if not isinstance(key, str):
                break
            checked[require_encodable(key, field)] = _check(item, field, depth + 1)
        else:
            return checked
    raise Malformed(
        f"{field} holds {type(cast('object', value)).__name__}, which is not JSON.",
        code="not_json",
        field=field,
        next_step="Send strings, numbers, booleans, null, arrays and objects with string keys.",
    )
