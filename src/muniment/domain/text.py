"""Text at the door: what a name, a reason or an identifier may hold, and how names compare.

A name is kept for show in NFC and looked up by its canonical form (NFKC, casefolded, white space
collapsed), so that `Tianda` and `tianda` are one object. Characters that a reader cannot see
(control, zero-width, bidirectional overrides, tags) are refused in names: two names that look the
same must be the same.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from muniment.domain import limits
from muniment.domain.errors import Malformed, TooLarge

_PROPERTY: Final = re.compile(r"[a-z][a-z0-9_]*")
_SPACES: Final = re.compile("[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
"""Spaces of any width (category Zs). A tab or a line end is a control character."""
_INVISIBLE_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANKS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Fillers and blanks that Unicode counts as letters, marks or symbols, and that show nothing."""
_JOINERS: Final = frozenset({"\u200c", "\u200d"})
"""Zero-width (non-)joiners carry meaning inside Indic and Persian words and emoji, nowhere else."""
_SELECTORS: Final = dict.fromkeys(
    [*map(ord, _JOINERS), *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]
)
"""Joiners and variation selectors choose how a character is drawn: names do not differ by them."""


def require_encodable(text: str, field: str) -> str:
    """Return `text` unchanged, or refuse what no UTF-8 database can hold.

    Raises:
        Malformed: `text` has a NUL or a lone surrogate.
    """
    if "\x00" in text:
        raise Malformed(
            f"{field} contains a NUL character.",
            code="nul_character",
            field=field,
            next_step="Remove U+0000 and send it again.",
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Malformed(
            f"{field} contains half of a surrogate pair.",
            code="lone_surrogate",
            field=field,
            next_step="Send whole characters: a surrogate must come as a pair.",
        ) from None
    return text


def require_size(text: str, field: str, limit: int) -> str:
    """Return `text` unchanged if its UTF-8 form has at most `limit` bytes.

    Raises:
        TooLarge: it has more.
    """
    if len(text) > limit or len(text.encode("utf-8")) > limit:
        raise TooLarge(
            f"{field} is over {limit} bytes.",
            field=field,
            limit=limit,
            next_step=f"Shorten it to {limit} bytes of UTF-8 or less.",
        )
    return text


def display_name(raw: str, field: str = "name") -> str:
    """Return the form of a name that is shown: NFC, outer white space off, inner collapsed.

    Raises:
        Malformed: empty, or holding a character that cannot be seen.
        TooLarge: over `limits.NAME_BYTES`.
    """
    require_encodable(raw, field)
    require_size(raw, field, limits.NAME_BYTES)
    if raw.isascii() and raw.isprintable():
        name = _SPACES.sub(" ", raw).strip(" ")
    else:
        name = _SPACES.sub(" ", unicodedata.normalize("NFC", raw)).strip(" ")
        _refuse_invisible(name, field)
    if not name.translate(_SELECTORS):
        raise Malformed(
            f"{field} is empty.",
            code="empty",
            field=field,
            next_step="Give a name of visible text.",
        )
    return require_size(name, field, limits.NAME_BYTES)


def canonical_name(name: str) -> str:
    """Return the form of a name that is looked up: NFKC, casefolded, white space collapsed.

    Casefolding may leave a form that NFKC would change again, so it is normalised on both sides.
    The result can be many times longer than the name. An index row must stay below the btree limit
    of 2,704 bytes: a form over 1,024 bytes gives way to a plainer one, at last to the name itself.
    """
    if name.isascii():
        return name.casefold()
    plain = name.translate(_SELECTORS)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", plain).casefold())
    forms = (_SPACES.sub(" ", folded).strip(" "), plain.casefold())
    return next((form for form in forms if len(form.encode()) <= 2 * limits.NAME_BYTES), name)


def cannot_be_seen(char: str) -> bool:
    """Say whether a reader would not see the character `char`."""
    return unicodedata.category(char) in _INVISIBLE_CATEGORIES or char in _BLANKS


def property_name(raw: str, field: str = "property") -> str:
    """Return a property's name, which is lower snake case.

    Raises:
        Malformed: any other spelling; the error suggests the nearest legal one.
    """
    if len(raw) <= limits.PROPERTY_CHARS and _PROPERTY.fullmatch(raw):
        return raw
    require_encodable(raw, field)
    suggestion = re.sub(r"[^a-z0-9]+", "_", raw.casefold()).strip("_")[: limits.PROPERTY_CHARS]
    raise Malformed(
        f"{field} must be lower snake case, 1 to {limits.PROPERTY_CHARS} characters.",
        code="bad_property",
        field=field,
        limit=limits.PROPERTY_CHARS,
        next_step=f"Use {suggestion!r}." if suggestion[:1].isalpha() else "Use a-z, 0-9 and _.",
    )


def reason_text(raw: str, field: str = "reason") -> str:
    """Return a required reason.

    Raises:
        Malformed: empty.
        TooLarge: over `limits.REASON_BYTES`.
    """
    reason = require_encodable(raw, field).strip()
    if not reason:
        raise Malformed(
            f"{field} is required.",
            code="reason_required",
            field=field,
            next_step="Say in a sentence why; it is kept in the log.",
        )
    return require_size(reason, field, limits.REASON_BYTES)


def plain_line(raw: str, field: str, limit: int) -> str:
    """Return one line of visible text, such as a source, a key or an evidence address.

    Raises:
        Malformed: empty, or holding a character that cannot be seen.
        TooLarge: over `limit` bytes.
    """
    require_encodable(raw, field)
    require_size(raw, field, limit)
    if not raw or raw != raw.strip():
        raise Malformed(
            f"{field} is empty or has white space around it.",
            code="empty",
            field=field,
            next_step="Give it without surrounding white space.",
        )
    if not (raw.isascii() and raw.isprintable()):
        _refuse_invisible(raw, field)
    return raw


def _refuse_invisible(text: str, field: str) -> None:
    for at, char in enumerate(text):
        if not cannot_be_seen(char) or _joins(text, at):
            continue
        raise Malformed(
            f"{field} contains U+{ord(char):04X}, which cannot be seen.",
            code="invisible_character",
            field=field,
            next_step="Remove control, zero-width and bidirectional characters.",
        )


def _joins(text: str, at: int) -> bool:
    if text[at] not in _JOINERS or at == 0 or at + 1 >= len(text):
        return False
    return not (text[at - 1].isascii() or text[at + 1].isascii())
