"""Names for what comes from outside: always legal, always within bounds, never two for one name.

A path or a heading may hold anything: line feeds, bytes that are no text, half a kilobyte. Its
exact form is kept as a claim; the name is what a person reads. What cannot be seen is written as
an escape, and what is cut or would meet another name carries a digest of the whole.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from muniment.domain import limits
from muniment.domain.text import cannot_be_seen, canonical_name

UNNAMED: Final = "(unnamed)"
_SPACES: Final = re.compile(r"\s+")
_DIGEST_CHARS: Final = 12


def visible(raw: str) -> str:
    """Return `raw` with each character that cannot be seen written as an escape.

    Bytes that were no UTF-8, decoded with `surrogateescape`, become `\\xNN` again.
    """
    if raw.isascii() and raw.isprintable():
        return raw
    return "".join(_escape(char) if cannot_be_seen(char) else char for char in raw)


def bounded(raw: str, *, suffix: str = "", limit: int = limits.NAME_BYTES) -> str:
    """Return a legal name for `raw` followed by `suffix`, in at most `limit` bytes of UTF-8.

    A name that had to be cut ends in a digest of the whole, before the suffix.
    """
    name = _SPACES.sub(" ", unicodedata.normalize("NFC", visible(raw))).strip() or UNNAMED
    room = limit - len(suffix.encode())
    encoded = name.encode()
    if len(encoded) > room:
        kept = encoded[: room - _DIGEST_CHARS - 2].decode("utf-8", "ignore").rstrip()
        name = f"{kept} ~{short_digest(raw)}"
    return name + suffix


def short_digest(raw: str) -> str:
    """Return 12 hex digits of the SHA-256 of `raw`."""
    encoded = raw.encode("utf-8", "surrogateescape" if _escaped(raw) else "surrogatepass")
    return hashlib.sha256(encoded).hexdigest()[:_DIGEST_CHARS]


class Namer:
    """Gives each key one name of its own, for one type of object.

    Lookups fold letter case and width, so `Makefile` and `makefile` would be one object: the
    second comer's name gets a digest. Which one came first is taken from the graph (`known`), so
    that a later run gives the same names.
    """

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        """Start from the names that the graph has: `known` maps a name to the key it is for."""
        self._keys = {canonical_name(name): key for name, key in (known or {}).items()}
        self._names: dict[str, str] = {key: name for name, key in (known or {}).items()}

    def name(self, raw: str, key: str) -> str:
        """Return the name for `key`, which is `raw` unless another key has that name."""
        given = self._names.get(key)
        if given is None:
            given = bounded(raw)
            if self._keys.setdefault(canonical_name(given), key) != key:
                given = bounded(raw, suffix=f" ~{short_digest(key)}")
                self._keys[canonical_name(given)] = key
            self._names[key] = given
        return given


def _escape(char: str) -> str:
    point = ord(char)
    if 0xDC80 <= point <= 0xDCFF:
        return f"\\x{point - 0xDC00:02x}"
    if char == "\n":
        return "\\n"
    if char == "\t":
        return "\\t"
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def _escaped(raw: str) -> bool:
    return all(not 0xD800 <= ord(char) <= 0xDFFF or 0xDC80 <= ord(char) <= 0xDCFF for char in raw)
