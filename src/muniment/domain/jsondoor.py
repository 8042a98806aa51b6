"""Strict JSON for every door: bytes in, a value that can be stored and hashed exactly out.

JSON as parsers commonly read it is wider than JSON as it can be trusted: the last of two equal
keys wins, `NaN` passes, `1e999` becomes infinite, a lone surrogate breaks the first encoder that
meets it. What one reader sees and the next does not is refused here, once, before anything else
looks at the body.
"""

from __future__ import annotations

import json
import math
import re
from typing import Final, NoReturn, cast

from muniment.domain import limits
from muniment.domain.canonical import Json
from muniment.domain.errors import Malformed, TooLarge

NUMBER_CHARS: Final = 64
"""The shortest round-trip form of a double has at most 24 characters; no honest number has 64."""
_INT_CHARS: Final = 20

_ODD_ESCAPE: Final = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


def loads_strict(data: bytes | str, *, limit: int = limits.BODY_BYTES) -> Json:
    """Return the JSON value that `data` holds, at most `limit` bytes of UTF-8.

    Raises:
        TooLarge: `body_too_large`, or `too_deep` past `limits.JSON_DEPTH`.
        Malformed: `invalid_json`, `invalid_utf8`, `duplicate_key`, `not_finite`,
            `integer_range`, `number_too_long`, `nul_character` or `lone_surrogate`.
    """
    text = _text(data, limit)
    try:
        value = cast("Json", _decoder.decode(text))
    except RecursionError:
        raise _too_deep() from None
    except json.JSONDecodeError as error:
        raise _invalid(error, text) from None
    # Only a text with that many brackets can be too deep, and only one with such an escape can
    # hold what its UTF-8 form could not: the others need no second look.
    brackets = text.count("{") + text.count("[")
    if brackets > limits.JSON_DEPTH or ("\\u" in text and _ODD_ESCAPE.search(text)):
        _inspect(value)
    return value


def _text(data: bytes | str, limit: int) -> str:
    if len(data) > limit:
        raise _too_large(limit)
    if isinstance(data, bytes):
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Malformed(
                f"The body is not UTF-8: byte {error.start} cannot be read.",
                code="invalid_utf8",
                field="body",
                next_step="Encode it as UTF-8.",
            ) from None
    if not data.isascii():
        try:
            size = len(data.encode("utf-8"))
        except UnicodeEncodeError:
            raise _lone_surrogate() from None
        if size > limit:
            raise _too_large(limit)
    return data


def _pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    twice = next(key for key, _ in pairs if key in seen or seen.add(key))
    raise Malformed(
        f"The key {twice[:80]!r} stands twice in one object.",
        code="duplicate_key",
        field=twice[:80],
        next_step="Send each key once.",
    )


def _integer(digits: str) -> int:
    # Refused by length before it is converted: the cost of a conversion grows with its square.
    if len(digits) <= _INT_CHARS:
        value = int(digits)
        if limits.INT_MIN <= value <= limits.INT_MAX:
            return value
    raise Malformed(
        "An integer is past 64 bit.",
        code="integer_range",
        field="body",
        limit=limits.INT_MAX,
        next_step="Send it as a string.",
    )


def _float(digits: str) -> float:
    if len(digits) > NUMBER_CHARS:
        raise Malformed(
            f"A number has more than {NUMBER_CHARS} characters.",
            code="number_too_long",
            field="body",
            limit=NUMBER_CHARS,
            next_step="Round it, or send it as a string.",
        )
    value = float(digits)
    return value if math.isfinite(value) else _constant(digits)


def _constant(name: str) -> NoReturn:
    raise Malformed(
        f"{name} is not a finite number.",
        code="not_finite",
        field="body",
        next_step="Send a finite number, a string or null.",
    )


_decoder: Final = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_integer, parse_float=_float, parse_constant=_constant
)


def _inspect(value: Json) -> None:
    """Look at every string and at the depth, without recursion."""
    level: list[Json] = [value]
    depth = 0
    while level:
        below: list[Json] = []
        for item in level:
            if isinstance(item, str):
                _inspect_string(item)
            elif isinstance(item, dict):
                below.extend(item)
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        # A level counts where it holds a container, as a reader of the text would count brackets.
        depth += any(isinstance(item, dict | list) for item in level)
        if depth > limits.JSON_DEPTH:
            raise _too_deep()
        level = below


def _inspect_string(text: str) -> None:
    if "\x00" in text:
        raise Malformed(
            "A string contains a NUL character.",
            code="nul_character",
            field="body",
            next_step="Remove U+0000 and send it again.",
        )
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise _lone_surrogate() from None


def _lone_surrogate() -> Malformed:
    return Malformed(
        "A string contains half of a surrogate pair.",
        code="lone_surrogate",
        field="body",
        next_step="Send whole characters: a surrogate must come as a pair.",
    )


def _too_deep() -> TooLarge:
    return TooLarge(
        f"The body is nested deeper than {limits.JSON_DEPTH} levels.",
        code="too_deep",
        field="body",
        limit=limits.JSON_DEPTH,
        next_step="Flatten it, or send the inner part as a string.",
    )


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"The body is over {limit} bytes.",
        code="body_too_large",
        field="body",
        limit=limit,
        next_step="Split it into several calls.",
    )


def _invalid(error: json.JSONDecodeError, text: str) -> Malformed:
    if "\x00" in text[error.pos : error.pos + 1]:
        return Malformed(
            "The body contains a NUL character.",
            code="nul_character",
            field="body",
            next_step="Remove U+0000 and send it again.",
        )
    return Malformed(
        f"The body is not JSON: {error.msg} at character {error.pos}.",
        code="invalid_json",
        field="body",
        next_step="Send one JSON value.",
    )
