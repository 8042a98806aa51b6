"""Words of other stores in ours: which type and which link is meant by a free text."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Final

from muniment.domain.catalog import LINKS, TYPE_TYPE, TYPES

FALLBACK_TYPE: Final = "Concept"
FALLBACK_LINK: Final = "related_to"
_ALIKE: Final = 0.85
"""Ratio from which a misspelling is taken for the word: `Organisation` is, `Event` is no Agent."""

_TYPE_WORDS: Final = {
    "bot": "Agent",
    "bug": "Incident",
    "company": "Organization",
    "component": "Service",
    "developer": "Person",
    "doc": "Document",
    "guideline": "Practice",
    "human": "Person",
    "outage": "Incident",
    "repo": "Repository",
    "team": "Organization",
    "technology": "Concept",
    "todo": "Task",
    "tool": "Concept",
    "user": "Person",
}
_LINK_WORDS: Final = {
    "author_of": "authored",
    "belongs_to": "part_of",
    "created": "authored",
    "describes": "documents",
    "is_part_of": "part_of",
    "member": "member_of",
    "replaces": "supersedes",
    "requires": "depends_on",
    "works_at": "member_of",
    "works_for": "member_of",
    "wrote": "authored",
}
_TURNED_WORDS: Final = {
    "contains": "part_of",
    "created_by": "authored",
    "employs": "member_of",
    "includes": "part_of",
    "replaced_by": "supersedes",
    "required_by": "depends_on",
    "written_by": "authored",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLink:
    """A link of the catalog for a relation's name.

    turned: it reads from the other end. exact: the catalog has the name itself.
    """

    link: str
    turned: bool
    exact: bool


def nearest_type(original: str) -> str:
    """Return the catalog's type for a free text; `Concept` when none fits."""
    word = re.sub(r"[\W_]+", "", original.casefold())
    known = {name.casefold(): name for name in TYPES if name != TYPE_TYPE}
    for form in (word, word.removesuffix("s"), re.sub("ies$", "y", word)):
        if form in known:
            return known[form]
        if form in _TYPE_WORDS:
            return _TYPE_WORDS[form]
    close = difflib.get_close_matches(word[:64], known, n=1, cutoff=_ALIKE)
    return known[close[0]] if close else FALLBACK_TYPE


def nearest_link(original: str) -> FoundLink:
    """Return the catalog's link for a relation's name; `related_to` when none fits."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", original.strip())
    word = re.sub(r"[\W_]+", "_", spaced.casefold()).strip("_")
    if word in LINKS:
        return FoundLink(link=word, turned=False, exact=True)
    inverses = {known.inverse: name for name, known in LINKS.items()}
    if word in inverses:
        return FoundLink(link=inverses[word], turned=True, exact=True)
    if word in _LINK_WORDS:
        return FoundLink(link=_LINK_WORDS[word], turned=False, exact=False)
    if word in _TURNED_WORDS:
        return FoundLink(link=_TURNED_WORDS[word], turned=True, exact=False)
    return FoundLink(link=FALLBACK_LINK, turned=False, exact=False)
