"""Recognises decision records, in the forms that people use: Nygard's, MADR, front matter."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Final

from muniment.domain.dates import WorldDate, parse_world_date
from muniment.domain.errors import Malformed
from muniment.ingest.markdown_outline import Outline, Section

_FOLDERS: Final = frozenset(
    {"adr", "adrs", "decision", "decisions", "decision-records", "decision_records"}
)
_NUMBERED: Final = re.compile(r"(?:adr[-_ ]?)?\d{1,5}[-_ .].+", re.IGNORECASE)
_FIELD: Final = re.compile(
    r"^[ \t>*_-]*(status|date)[*_ \t]*:[*_ \t]*(\S.*?)[ \t*_]*$", re.IGNORECASE | re.MULTILINE
)
_DAY: Final = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?", re.ASCII)
_RELATION: Final = re.compile(
    r"\b(superseded|replaced|supersedes|replaces)\b(?:[ \t]+by)?[^\n(]*\(([^)\s#]+\.md)[^)]*\)",
    re.IGNORECASE,
)
_STATUS_CHARS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """What a document says of the decision that it records.

    status: in the record's own words, one line. decided: the record's date.
    supersedes, superseded_by: paths of other records, relative to the root.
    """

    status: str | None
    decided: WorldDate | None
    supersedes: tuple[str, ...]
    superseded_by: tuple[str, ...]


def decision_record(path: str, document: Outline) -> DecisionRecord | None:
    """Return the decision that the document at `path` records, or None if it records none.

    A record is a numbered file in a folder for decisions, or any file there that has a status.
    """
    folder, name = posixpath.split(path)
    if not _FOLDERS & set(folder.casefold().split("/")):
        return None
    status = _status(document)
    if not (_NUMBERED.fullmatch(name) or status):
        return None
    if name.casefold() in ("readme.md", "index.md", "template.md"):
        return None
    said = "\n".join(section.text for section in _status_sections(document)) or _opening(document)
    later: list[str] = []
    earlier: list[str] = []
    for match in _RELATION.finditer(said):
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        by = match[1].casefold() in ("superseded", "replaced")
        (later if by else earlier).append(target)
    return DecisionRecord(
        status=status,
        decided=_date(document),
        supersedes=tuple(earlier),
        superseded_by=tuple(later),
    )


def _status(document: Outline) -> str | None:
    found = document.fields.get("status") or _field(document, "status")
    if found is None:
        for section in _status_sections(document):
            body = section.text.splitlines()[1:]
            found = next((line.strip() for line in body if line.strip(" \t-=*")), None)
    return found.strip("*_ ")[:_STATUS_CHARS] if found else None


def _date(document: Outline) -> WorldDate | None:
    raw = document.fields.get("date") or _field(document, "date") or ""
    match = _DAY.match(raw)
    if match is None:
        return None
    try:
        return parse_world_date(match[0], "date")
    except Malformed:
        return None


def _field(document: Outline, name: str) -> str | None:
    for match in _FIELD.finditer(_opening(document)):
        if match[1].casefold() == name:
            return match[2]
    return None


def _opening(document: Outline) -> str:
    """Return what stands before the second heading, where a record keeps its fields."""
    texts: list[str] = []
    for section in document.sections:
        if len(section.heading_path) > 1:
            break
        texts.append(section.text[:8_000])
    return "\n".join(texts[:2])


def _status_sections(document: Outline) -> list[Section]:
    return [
        section
        for section in document.sections
        if section.title is not None and section.title.casefold() == "status"
    ]
