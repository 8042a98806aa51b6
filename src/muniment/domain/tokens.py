"""The tokenizer: text to lexemes with positions, for documents and queries alike.

Postgres' own parser drops what this fleet writes most: `C++`, `task_tools`, `foo/bar.py:12`, and
a line of Chinese is one word to it. Here a code-like token is kept whole and split into its
atoms, which stand at consecutive positions; so a phrase of atoms finds a part of a longer token
(`bar.py` in `foo/bar.py:12`), and the whole finds it faster and ranks it higher. Scripts that
write no spaces become overlapping pairs of characters; the last character of a run stands alone
as well, so that a prefix of one character finds any place of it.

    document("Deploy bot", "note", "rm -rf") -> 'deploy':1A 'bot':2A 'note':4B 'rm':6 '-rf':7 'rf':7

Both sides share one expansion, which a bounded cache remembers. A change of what it gives raises
`TOKENIZER_VERSION`, and the documents of the former version are rebuilt.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from muniment.domain import limits

TOKENIZER_VERSION: Final = 1

LEXEME_BYTES: Final = 200
"""Postgres takes 2,046; nothing that a person types is longer than this."""
LAST_POSITION: Final = 16_383
"""The highest position that a tsvector can hold."""
POSITIONS_PER_LEXEME: Final = 255
TSVECTOR_BYTES: Final = 900_000
"""Lexemes and positions of one document; Postgres refuses 1 MB."""
QUERY_TERMS: Final = 64
"""Distinct terms of a query that take part; the answer says how many did not."""

_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Myanmar, Hangul, Khmer, kana, bopomofo and Han."""
_OTHER: Final = f"[^\x00-\x7f{_UNSPACED}]"
_WORD: Final = f"(?:[0-9A-Za-z_]|{_OTHER})"


def _chunks(word: str, run: str) -> re.Pattern[str]:
    joined = rf"{word}+(?:[-.:/@'+#&]{{1,3}}{word}+)*"
    return re.compile(rf"{run}(?:--?|[#.])?{joined}(?:\+\+|#)?")


_ASCII_CHUNK: Final = _chunks("[0-9A-Za-z_]", "")
_ANY_CHUNK: Final = _chunks(_WORD, f"[{_UNSPACED}]+|")
_RUN: Final = re.compile(f"[{_UNSPACED}]+")
_WORDS: Final = re.compile(f"{_WORD}+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LETTERS_DIGITS: Final = re.compile(r"([^\W\d_]+)(\d+)|(\d+)([^\W\d_]+)")
_LINE: Final = re.compile(r"(?::\d+){1,2}\Z")
_QUOTED: Final = re.compile(r'"([^"]{1,500})"')
_CAMEL_PIECES: Final = 8
"""A word of more humps than this is a hash or base64, and its pieces mean nothing."""
_CACHE_ENTRIES: Final = 20_000
_CACHED_CHARS: Final = 40


class Document(NamedTuple):
    """A search document: `tsv` is tsvector input, `length` the number of positions in it."""

    tsv: str
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One term of a query.

    text: as it was typed, normalised; for coverage and snippets.
    query: tsquery input that a document with the term satisfies.
    lexemes: what a relaxed search looks for, the most telling first.
    prefix: the lexeme stands for all that begin with it (a single character of an unspaced
        script).
    """

    text: str
    query: str
    lexemes: tuple[str, ...]
    prefix: bool = False


class _Chunk(NamedTuple):
    """What one token gives: (quoted lexeme, offset) pairs and the number of positions it takes."""

    lexemes: tuple[tuple[str, int], ...]
    width: int


class _Separators(dict[int, str]):
    """The translation of single non-ASCII characters, found out once each.

    Letters, marks and digits stay; symbols and emoji stand alone; dashes and apostrophes become
    the ASCII ones; what cannot be seen vanishes; all else is a space.
    """

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = unicodedata.category(char)
        if code < 0x80 or kind[0] in "LNM" or kind == "Co":
            made = char
        elif kind in ("So", "Sc"):
            made = f" {char} "
        elif kind == "Cf":
            made = ""
        else:
            made = " "
        self[code] = made
        return made


_SEPARATORS: Final = _Separators(
    {ord(c): "'" for c in "\u2018\u2019\u02bc\u2032"}
    | {ord(c): "-" for c in "\u2010\u2011\u2212"}
    | {ord("\u200b"): " "}
    | dict.fromkeys(range(65024, 65040), "")
)
_cache: dict[str, _Chunk] = {}


def indexed_text(value: str) -> str:
    """Return the text that full text sees of a value's canonical JSON: a string without quotes."""
    if value[:1] != '"':
        return value
    if "\\" in value:
        text: str = json.loads(value)
        return text
    return value[1:-1]


def document(name: str, property_: str | None, text: str) -> Document:
    """Return the search document of one claim, or of an object's names (`property_` None).

    The first `limits.INDEXED_CHARS` characters of `text` take part.
    """
    entries: dict[str, str] = {}
    at = _add(entries, name, 1, "A")
    if property_ is not None:
        at = _add(entries, property_, at + 1, "B")
    at = _add(entries, text[: limits.INDEXED_CHARS], at + 1, "") if text else at
    return Document(_render(entries, len(text)), at - 1)


def object_document(names: Iterable[str]) -> Document:
    """Return the search document of an object: all names that lead to it."""
    entries: dict[str, str] = {}
    at = 1
    for name in names:
        at = _add(entries, name, at, "A") + 1
    return Document(_render(entries, 0), max(1, at - 2))


def query_terms(text: str) -> list[Term]:
    """Return the distinct terms of a query, in order. A span in double quotes is one phrase.

    More than `QUERY_TERMS` may come back: the caller cuts and says so.
    """
    terms: dict[str, Term] = {}
    rest: list[str] = []
    at = 0
    for quoted in _QUOTED.finditer(text):
        rest.append(text[at : quoted.start()])
        at = quoted.end()
        phrase = _phrase(quoted[1])
        if phrase is None:
            rest.append(quoted[1])
        else:
            terms.setdefault(phrase.text, phrase)
    rest.append(text[at:])
    for chunk in _split(" ".join(rest)):
        term = _term(chunk)
        if term is not None:
            terms.setdefault(term.text, term)
    return list(terms.values())


def quote(lexeme: str) -> str:
    """Return a lexeme as tsvector and tsquery input take it."""
    if "'" in lexeme:
        lexeme = lexeme.replace("'", "''")
    return f"'{lexeme}'"


def _split(text: str) -> list[str]:
    if "\\" in text:
        text = text.replace("\\", "/")
    if text.isascii():
        return _ASCII_CHUNK.findall(text)
    plain = unicodedata.normalize("NFKC", text)[: limits.INDEXED_CHARS].translate(_SEPARATORS)
    return _ANY_CHUNK.findall(plain)


def _add(entries: dict[str, str], text: str, at: int, weight: str) -> int:
    """Add a text's lexemes from position `at` on; return the position after the last."""
    cached = _cache.get
    for raw in _split(text):
        chunk = cached(raw) or _expand(raw)
        for lexeme, offset in chunk.lexemes:
            position = at + offset
            if position > LAST_POSITION:
                position = LAST_POSITION
            known = entries.get(lexeme)
            if known is None:
                entries[lexeme] = f"{lexeme}:{position}{weight}"
            elif len(known) < 256 or known.count(",") < POSITIONS_PER_LEXEME - 1:
                entries[lexeme] = f"{known},{position}{weight}"
        at += chunk.width
    return at


def _render(entries: dict[str, str], chars: int) -> str:
    if chars < LAST_POSITION:
        return " ".join(entries.values())
    kept: list[str] = []
    room = TSVECTOR_BYTES
    for lexeme, entry in entries.items():
        room -= len(lexeme.encode()) + 4 + 2 * (1 + entry.count(","))
        if room < 0:
            break
        kept.append(entry)
    return " ".join(kept)


def _expand(raw: str) -> _Chunk:
    if raw.isalpha() and raw.islower() and raw.isascii():
        made = _Chunk(((f"'{raw[:LEXEME_BYTES]}'", 0),), 1)
    elif _RUN.match(raw):
        made = _expand_run(_folded(raw))
    else:
        forms, width = _forms(raw)
        made = _Chunk(tuple((quote(form), offset) for form, offset in forms.items()), width)
    if len(raw) <= _CACHED_CHARS:
        if len(_cache) >= _CACHE_ENTRIES:
            _cache.clear()
        _cache[raw] = made
    return made


def _expand_run(run: str) -> _Chunk:
    pairs = [(quote(run[i : i + 2]), i) for i in range(len(run) - 1)]
    return _Chunk((*pairs, (quote(run[-1]), len(run) - 1)), len(run))


def _forms(raw: str) -> tuple[dict[str, int], int]:
    """Return each form of a spaced-script token with its offset, and how many atoms it has."""
    forms: dict[str, int] = {}
    core = raw.lstrip("-#.")
    if core != raw:
        _put(forms, raw, 0)
    bare = _bare(core)
    if bare != core:
        _put(forms, core, 0)
    _put(forms, bare, 0)
    unnumbered = _LINE.sub("", bare)
    if unnumbered != bare:
        _put(forms, unnumbered, 0)
    last = unnumbered.rfind("/") + 1
    width = 0
    for word in _WORDS.finditer(bare):
        if last and word.start() >= last:
            _put(forms, unnumbered[last:], width)
            last = 0
        _put(forms, word[0], width)
        for atom in _atoms(word[0]):
            _put(forms, atom, width)
            width += 1
    if core[-2:] in ("'s", "'S"):
        _put(forms, "s", max(0, width - 1))
    return forms, width


def _bare(core: str) -> str:
    """Take `++`, `#` and a possessive off the end of a token."""
    if core[-1] in "+#":
        return core.rstrip("+#")
    if core[-2:] in ("'s", "'S"):
        return core[:-2]
    return core


def _put(forms: dict[str, int], form: str, offset: int) -> None:
    lexeme = _folded(form)
    if len(lexeme) > LEXEME_BYTES // 4 and len(lexeme.encode()) > LEXEME_BYTES:
        lexeme = lexeme.encode()[:LEXEME_BYTES].decode(errors="ignore")
    if lexeme.strip("_"):
        forms.setdefault(lexeme, offset)


def _atoms(word: str) -> list[str]:
    """Split a word at underscores, at humps, and where letters meet digits once."""
    if word.isalpha() and (word.islower() or word[1:].islower() or not word.isascii()):
        return [word]
    atoms: list[str] = []
    for piece in word.split("_"):
        humps = [piece] if piece.islower() or piece.isupper() else _CAMEL.split(piece)
        for hump in humps if len(humps) <= _CAMEL_PIECES else [piece]:
            pair = _LETTERS_DIGITS.fullmatch(hump)
            atoms.extend(part for part in pair.groups() if part) if pair else atoms.append(hump)
    return [atom for atom in atoms if atom]


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text.casefold())


def _term(raw: str) -> Term | None:
    folded = _folded(raw)
    if _RUN.match(raw):
        if len(folded) == 1:
            return Term(text=folded, query=f"{quote(folded)}:*", lexemes=(folded,), prefix=True)
        pairs = _pairs(folded)
        return Term(text=folded, query=_adjacent(pairs), lexemes=tuple(dict.fromkeys(pairs)))
    forms, width = _forms(raw)
    if not forms:
        return None
    lexemes = tuple(forms)
    core = raw.lstrip("-#.")
    decorated = raw[0] in "-#" or core[-1] in "+#"
    if decorated:
        query = quote(lexemes[0])
    elif width <= 1:
        query = quote((_query_atoms(raw) or lexemes)[-1])
    else:
        query = f"{quote(lexemes[0])} | {_adjacent(_query_atoms(raw))}"
    return Term(text=folded, query=query, lexemes=lexemes)


def _query_atoms(raw: str) -> list[str]:
    """Return the lexemes of a token's finest split, as they stand in a document."""
    atoms: list[str] = []
    for word in _WORDS.findall(_bare(raw.lstrip("-#."))):
        for atom in _atoms(word):
            forms: dict[str, int] = {}
            _put(forms, atom, 0)
            atoms.extend(forms)
    return atoms


def _phrase(text: str) -> Term | None:
    """Return a quoted span as one term, or None when it is a single token."""
    atoms: list[str] = []
    chunks = _split(text)
    for raw in chunks:
        folded = _folded(raw)
        atoms += (_pairs(folded) or [folded]) if _RUN.match(raw) else _query_atoms(raw)
    if len(chunks) < 2 or len(atoms) < 2:
        return None
    shown = " ".join(text.casefold().split())
    return Term(text=shown, query=_adjacent(atoms), lexemes=tuple(dict.fromkeys(atoms)))


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


def _adjacent(lexemes: list[str]) -> str:
    joined = " <-> ".join(quote(lexeme) for lexeme in lexemes)
    return joined if len(lexemes) == 1 else f"({joined})"
