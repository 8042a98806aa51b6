"""Cuts a text that is too long for one claim into pieces, so that none of it is lost.

The pieces joined are the text, to the character. A cut falls between paragraphs where it can,
else between lines, else between words, else between characters.
"""

from __future__ import annotations

import re
from typing import Final

PIECE_BYTES: Final = 64 * 1024
_BREAKS: Final = (re.compile(r"\n[ \t\r]*\n"), re.compile(r"\n"), re.compile(r"[ \t]"))


def pieces(text: str, limit: int = PIECE_BYTES) -> list[str]:
    """Return `text` in pieces of at most `limit` bytes of UTF-8 (at least 4); none for no text.

    The limit holds for the canonical JSON of a piece too, in which a control character takes up
    to six bytes, since that is what is stored.
    """
    found: list[str] = []
    start = 0
    while start < len(text):
        end = _end(text, start, limit)
        found.append(text[start:end])
        start = end
    return found


def _end(text: str, start: int, limit: int) -> int:
    window = text[start : start + limit]
    fitting = _fitting(window, limit)
    if start + fitting >= len(text):
        return len(text)
    head = window[:fitting]
    # A break in the first half would leave a piece so small that the text ends up in crumbs.
    for pattern in _BREAKS:
        breaks = list(pattern.finditer(head, fitting // 2))
        if breaks:
            return start + breaks[-1].end()
    return start + fitting


def _fitting(window: str, limit: int) -> int:
    if len(window) < limit and _stored_bytes(window) <= limit:
        return len(window)
    low, high = 1, len(window)
    while low < high:
        middle = (low + high + 1) // 2
        if _stored_bytes(window[:middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def _stored_bytes(text: str) -> int:
    escaped = sum(text.count(char) for char in '"\\\n\r\t')
    control = sum(1 for char in text if char < " " and char not in "\n\r\t") if _rare(text) else 0
    return len(text.encode()) + escaped + 5 * control


def _rare(text: str) -> bool:
    return _CONTROL.search(text) is not None


_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
