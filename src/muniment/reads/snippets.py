"""The part of a value that shows why it was found, cut out to the letter."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from muniment.domain.canonical import Json
from muniment.domain.tokens import Term

WHOLE_CHARS: Final = 300
"""Values up to this length are shown whole."""
_AROUND: Final = 100
_ESCAPE_CHARS: Final = 6


def text_of(value: str) -> str:
    """Return what a person reads of a value's canonical JSON, which may be cut off anywhere."""
    if value[:1] != '"':
        return value
    if "\\" not in value:
        return value[1:].removesuffix('"')
    for cut in range(_ESCAPE_CHARS + 1):
        body = value[: len(value) - cut]
        for closed in (body, f'{body}"'):
            try:
                text: str = json.loads(closed)
            except ValueError:
                continue
            return text
    return value[1:]


def whole(value: str) -> Json:
    """Return the value of its canonical JSON."""
    parsed: Json = json.loads(value)
    return parsed


def pattern_of(terms: Sequence[Term]) -> re.Pattern[str] | None:
    """Return what to look for in a text; None when the query has no words."""
    words = {term.text for term in terms} | {
        lexeme for term in terms for lexeme in term.lexemes if len(lexeme) > 1 or term.prefix
    }
    if not words:
        return None
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return re.compile("|".join(re.escape(word) for word in longest_first), re.IGNORECASE)


def snippet(text: str, found: re.Match[str] | None) -> str:
    """Return a piece of `text` around what was found, or its beginning, on word boundaries."""
    middle = found.start() if found else 0
    start = max(0, middle - _AROUND)
    end = min(len(text), start + WHOLE_CHARS)
    if start:
        space = text.find(" ", start, middle)
        start = space + 1 if space >= 0 else start
    if end < len(text):
        space = text.rfind(" ", (found.end() if found else start) or start, end)
        end = space if space > start else end
    return text[start:end]
