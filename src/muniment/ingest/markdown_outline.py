"""A Markdown text as its sections, which joined are the text again, to the character.

markdown-it says where the headings are: in fences, HTML and quotes a `#` is none. Only its block
rules run; the inside of a heading alone is read for its plain text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from muniment.domain.text import canonical_name

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_FENCE: Final = re.compile(r"---[ \t]*(?:\r\n?|\n)")
_FENCE_END: Final = re.compile(r"(?:---|\.\.\.)[ \t]*(?:\r\n?|\n)?")
_FIELD: Final = re.compile(r"([A-Za-z][\w-]*)[ \t]*:[ \t]+(.+)")
_FRONT_LINES: Final = 200

_blocks: Final = MarkdownIt("commonmark").disable(["inline"])
_inline: Final = MarkdownIt("commonmark")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A stretch of the document from one heading to the next.

    heading_path: plain texts of the headings above it and its own, outermost first; empty for what
    stands before the first heading. text: its source, the heading's line included.
    """

    heading_path: tuple[str, ...]
    text: str

    @property
    def title(self) -> str | None:
        return self.heading_path[-1] if self.heading_path else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A document. title: its front matter's, else its first heading of the first level, else None.

    sections: in order; joined, their texts are the document. fields: simple `name: value` lines of
    the front matter, names in lower case.
    """

    title: str | None
    sections: tuple[Section, ...]
    fields: dict[str, str]


def outline(source: str) -> Outline:
    """Return the sections of a Markdown text."""
    lines = _LINE.findall(source)
    front = _front_matter(lines)
    # Blank lines keep the numbering, so that the closing fence makes no heading of a field.
    parsed = "\n" * front + "".join(lines[front:])
    starts: list[tuple[int, int, str]] = []
    tokens = _blocks.parse(parsed)
    for at, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map is not None:
            starts.append((token.map[0], int(token.tag[1:]), plain(tokens[at + 1].content)))
    sections: list[Section] = []
    if not starts or starts[0][0] > 0:
        before = "".join(lines[: starts[0][0] if starts else len(lines)])
        if starts and not before.strip():
            starts[0] = (0, *starts[0][1:])
        elif before:
            sections.append(Section(heading_path=(), text=before))
    above: list[tuple[int, str]] = []
    for at, (line, level, heading) in enumerate(starts):
        end = starts[at + 1][0] if at + 1 < len(starts) else len(lines)
        above = [entry for entry in above if entry[0] < level] + [(level, heading)]
        sections.append(
            Section(heading_path=tuple(text for _, text in above), text="".join(lines[line:end]))
        )
    fields = _fields(lines[:front])
    first = next((heading for _, level, heading in starts if level == 1 and heading), None)
    return Outline(title=fields.get("title") or first, sections=tuple(sections), fields=fields)


def plain(inline: str) -> str:
    """Return the words of a heading without its markup."""
    parsed = _inline.parseInline(inline)
    text = "".join(_words(token) for token in parsed[0].children or []) if parsed else inline
    return " ".join(text.split())


def heading_names(sections: tuple[Section, ...]) -> list[str]:
    """Return one distinct name a section: `Heading > Sub`, numbered where it occurs again.

    What stands before the first heading is named by the empty string.
    """
    taken: set[str] = set()
    counts: dict[str, int] = {}
    names: list[str] = []
    for section in sections:
        wanted = " > ".join(part or "(no heading)" for part in section.heading_path)
        # A document may repeat one heading ten thousand times: count on, not from the start.
        folded = canonical_name(wanted)
        count = counts.get(folded, 0) + 1
        name = wanted if count == 1 else f"{wanted} ({count})"
        while canonical_name(name) in taken:
            count += 1
            name = f"{wanted} ({count})"
        counts[folded] = count
        taken.add(canonical_name(name))
        names.append(name)
    return names


def _words(token: Token) -> str:
    if token.type in ("text", "code_inline"):
        return token.content
    if token.type in ("softbreak", "hardbreak"):
        return " "
    return "".join(_words(child) for child in token.children or [])


def _front_matter(lines: list[str]) -> int:
    """Return how many lines the front matter takes, fences included; 0 if there is none."""
    if not lines or not _FENCE.fullmatch(lines[0].removeprefix("\ufeff")):
        return 0
    for at, line in enumerate(lines[1:_FRONT_LINES], start=1):
        if _FENCE_END.fullmatch(line):
            return at + 1
    return 0


def _fields(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        match = _FIELD.fullmatch(line.rstrip())
        if match:
            found.setdefault(match[1].casefold(), match[2].strip().strip("\"'").strip())
    return found
