"""What a document says, as claims and links.

A document is an object, and so is each of its sections, so that a search leads to the paragraph
and not to the book. What is too long for one claim becomes several parts, linked in order.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from muniment.domain import limits
from muniment.domain.commands import Ref, Stated
from muniment.domain.evidence import EvidenceClass
from muniment.ingest.decision_records import DecisionRecord
from muniment.ingest.delivery import Item
from muniment.ingest.markdown_outline import Outline, heading_names
from muniment.ingest.names import Namer, bounded, visible
from muniment.ingest.sections import pieces
from muniment.ingest.statements import Speaker, claim, link, named

_TITLE_CHARS: Final = 300
_DECISION_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """One object's worth of a document. ref: the document's own where it is the opening."""

    ref: Ref
    title: str | None
    heading_path: str | None
    text: str


class MarkdownClaims:
    """Turns documents below one root into what is to be remembered of them."""

    def __init__(
        self,
        root: str,
        root_type: str,
        source: str,
        documents: dict[str, str],
        decisions: dict[str, str],
    ) -> None:
        """`documents`, `decisions`: names that the graph has, each with the path it is for."""
        self._root = root
        self._speaker = Speaker(source=source, evidence_class=EvidenceClass.DIRECT_OBSERVATION)
        self._documents = Namer(documents)
        self._decisions = Namer(decisions)
        self.about = named(root_type, root)

    def evidence(self, path: str) -> str:
        """Return the evidence under which all that `path` says stands."""
        return bounded(f"file:{self._root}/{visible(path)}", limit=limits.EVIDENCE_BYTES)

    def folder(self, location: str) -> list[Item]:
        """Return what is said of the root itself."""
        stated = self._speaker.stated(bounded(f"file:{self._root}"))
        return [
            claim(self.about, "title", self._root, stated),
            claim(self.about, "location", location, stated),
        ]

    def document(self, path: str, document: Outline) -> list[Item]:
        """Return what one document says."""
        stated = self._speaker.stated(self.evidence(path))
        about = self._document_ref(path)
        title = _short(document.title or posixpath.basename(visible(path)))
        items: list[Item] = [
            claim(about, "title", title, stated),
            claim(about, "path", visible(path), stated),
            link(about, "part_of", self.about, stated),
        ]
        before = about
        for position, piece in enumerate(self._pieces(path, about, document)):
            if piece.text.strip():
                items.append(claim(piece.ref, "text", piece.text, stated))
            if piece.ref is about:
                continue
            if piece.title:
                items.append(claim(piece.ref, "title", piece.title, stated))
            if piece.heading_path:
                items.append(claim(piece.ref, "heading_path", piece.heading_path, stated))
            items += [
                claim(piece.ref, "position", position, stated),
                link(piece.ref, "part_of", about, stated),
                link(before, "next", piece.ref, stated),
            ]
            before = piece.ref
        return items

    def decision(self, path: str, document: Outline, record: DecisionRecord) -> list[Item]:
        """Return what a decision record says of its decision."""
        about = self.decision_ref(path)
        stated = self._decided(path, record)
        title = _short(document.title or posixpath.basename(visible(path)))
        items: list[Item] = [
            claim(about, "title", title, stated),
            claim(about, "path", visible(path), stated),
            link(self._document_ref(path), "documents", about, stated),
        ]
        if record.status:
            items.append(claim(about, "status", record.status, stated))
        text = pieces("".join(section.text for section in document.sections), _DECISION_BYTES)
        if text and text[0].strip():
            items.append(claim(about, "text", text[0], stated))
        if len(text) > 1:
            # Not a note: a source may hold several of those, and this one must go with the text.
            more = f"The text is cut here; the whole is in the Document {visible(path)}."
            items.append(claim(about, "continues_in", more, stated))
        return items

    def supersession(self, path: str, record: DecisionRecord, known: set[str]) -> list[Item]:
        """Return which decisions take the place of which, among those that were found."""
        stated = self._speaker.stated(self.evidence(path))
        pairs = [(path, other) for other in record.supersedes]
        pairs += [(other, path) for other in record.superseded_by]
        return [
            link(self.decision_ref(later), "supersedes", self.decision_ref(earlier), stated)
            for later, earlier in pairs
            if later in known and earlier in known and later != earlier
        ]

    def decision_ref(self, path: str) -> Ref:
        """Return the Decision that the document at `path` records."""
        stem = posixpath.splitext(posixpath.basename(visible(path)))[0]
        return named("Decision", self._decisions.name(f"{self._root}: {stem}", visible(path)))

    def _decided(self, path: str, record: DecisionRecord) -> Stated:
        decided = record.decided
        if decided is not None and decided.earliest > datetime.now(UTC):
            decided = None
        return self._speaker.stated(self.evidence(path), decided)

    def _document_ref(self, path: str) -> Ref:
        shown = visible(path)
        return named("Document", self._documents.name(f"{self._root}/{shown}", shown))

    def _pieces(self, path: str, about: Ref, document: Outline) -> Iterator[_Piece]:
        """Yield the document's pieces in order, first of all the opening, which may be empty."""
        if not document.sections or document.sections[0].heading_path:
            yield _Piece(ref=about, title=None, heading_path=None, text="")
        names = heading_names(document.sections)
        base = about.name or path
        for section, name in zip(document.sections, names, strict=True):
            label = f"{base}# {name}" if name else base
            for number, text in enumerate(pieces(section.text), start=1):
                part = f" (part {number})" if number > 1 else ""
                opening = not name and number == 1
                yield _Piece(
                    ref=about if opening else named("Document", bounded(label, suffix=part)),
                    title=_short(section.title) + part if section.title else None,
                    heading_path=" > ".join(map(_short, section.heading_path)) or None,
                    text=text,
                )


def _short(title: str) -> str:
    return title if len(title) <= _TITLE_CHARS else f"{title[:_TITLE_CHARS]}…"
