"""The reviewed catalog: which types, properties and links there are.

Types and links are closed: a misspelt one is refused and the nearest named. An operator adds a
type by an object of type `Type`. Properties are open, since a fleet learns things that no one
foresaw; the catalog says which of them hold many values at once (all others hold one value a
source) and which names to prefer.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from muniment.domain.errors import Malformed

TYPE_TYPE: Final = "Type"
_TYPE_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeDef:
    """A type of object. `name` in PascalCase, `description` one line."""

    name: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyDef:
    """A known property. `many`: one source may hold several values of it at once."""

    name: str
    description: str
    many: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDef:
    """A type of link. `inverse`: how the link reads from its target."""

    name: str
    inverse: str
    description: str


def _types(*rows: tuple[str, str]) -> dict[str, TypeDef]:
    return {name: TypeDef(name=name, description=text) for name, text in rows}


def _properties(many: bool, *rows: tuple[str, str]) -> dict[str, PropertyDef]:
    return {n: PropertyDef(name=n, description=d, many=many) for n, d in rows}


def _links(*rows: tuple[str, str, str]) -> dict[str, LinkDef]:
    return {n: LinkDef(name=n, inverse=i, description=d) for n, i, d in rows}


TYPES: Final = _types(
    ("Project", "A body of work with its own goal and members."),
    ("Person", "A human being."),
    ("Organization", "A company, team or other group of people."),
    ("Agent", "An AI agent that reads from or writes to this graph."),
    ("Service", "A running program that others depend on."),
    ("Repository", "A version-controlled tree of source."),
    ("Commit", "One recorded change of a repository."),
    ("File", "A file of a repository or a file system."),
    ("Document", "A text made to be read, or one section of it."),
    ("Concept", "An idea, term or technology."),
    ("Decision", "A choice that was made, with its reason."),
    ("Task", "A piece of work to be done."),
    ("Question", "Something that awaits an answer."),
    ("Message", "A note from one participant to others."),
    ("Handoff", "What one worker leaves for the next."),
    ("Practice", "A way of working that holds here."),
    ("Preference", "What somebody prefers."),
    ("Incident", "Something that went wrong, with its course."),
    ("Note", "Anything worth keeping that has no better type."),
    (TYPE_TYPE, "A type that the operator added to the catalog."),
)

PROPERTIES: Final = _properties(
    False,
    ("description", "What it is, in a sentence or two."),
    ("summary", "The short of it."),
    ("text", "The text itself."),
    ("title", "Its title."),
    ("status", "Where it stands, in its own words."),
    ("url", "Its address."),
    ("path", "Its path within its repository or root."),
    ("language", "The language it is written in."),
    ("version", "Its version."),
    ("email", "An address for mail."),
    ("owner", "Who answers for it."),
    ("role", "The part it plays."),
    ("reason", "Why."),
    ("sha", "The full hash of a commit."),
    ("authored_at", "When a change was authored."),
    ("committed_at", "When a change was recorded."),
    ("files_changed", "How many files a change touched."),
    ("insertions", "Lines that a change added."),
    ("deletions", "Lines that a change removed."),
    ("position", "Its place in its document, from 1."),
    ("heading_path", "The headings above a section, outermost first."),
    ("priority", "How soon it matters, 0 first."),
    ("deadline", "By when."),
    ("command", "The command that does it."),
    ("default_branch", "The branch that work lands on."),
    ("first_commit_at", "The date of a repository's first commit."),
    ("last_commit_at", "The date of the newest commit that was read."),
    ("commit_count", "How many commits were read."),
) | _properties(
    True,
    ("note", "Something observed about it."),
    ("alias", "Another name that people use for it."),
    ("tag", "A label."),
    ("capability", "Something it can do."),
    ("constraint", "A limit that it must keep."),
    ("example", "An example of it."),
)

LINKS: Final = _links(
    ("part_of", "has_part", "It is a part of the target."),
    ("depends_on", "needed_by", "It needs the target."),
    ("uses", "used_by", "It uses the target."),
    ("owns", "owned_by", "It answers for the target."),
    ("member_of", "has_member", "It belongs to the target."),
    ("works_on", "worked_on_by", "It works on the target."),
    ("authored", "authored_by", "It made the target."),
    ("changed", "changed_by", "It changed the target."),
    ("parent", "child_of", "The target is the change that this one follows."),
    ("about", "subject_of", "It is about the target."),
    ("mentions", "mentioned_in", "It names the target."),
    ("references", "referenced_by", "It points at the target."),
    ("supersedes", "superseded_by", "It takes the place of the target."),
    ("contradicts", "contradicted_by", "It and the target cannot both hold."),
    ("blocks", "blocked_by", "The target cannot go on before it."),
    ("causes", "caused_by", "It brought the target about."),
    ("implements", "implemented_by", "It carries the target out."),
    ("documents", "documented_by", "It describes the target."),
    ("next", "previous", "The target follows it in order."),
    ("reply_to", "answered_by", "It answers the target."),
    ("derived_from", "source_of", "It was made from the target."),
    ("renamed_to", "renamed_from", "It goes on under the target's path."),
    ("same_as", "same_as", "Both name one thing, in the claimant's view."),
    ("related_to", "related_to", "They have to do with each other."),
)


def is_many(name: str) -> bool:
    """Say whether one source may hold several values of the property at once."""
    known = PROPERTIES.get(name)
    return known is not None and known.many


def require_type_name(name: str) -> str:
    """Return the name of a type to be added.

    Raises:
        Malformed: not PascalCase.
    """
    if _TYPE_NAME.fullmatch(name):
        return name
    raise Malformed(
        f"{name!r} is not a name for a type.",
        code="bad_type_name",
        field="name",
        next_step="Use PascalCase of ASCII letters and digits, at most 64.",
    )


def require_type(name: str, added: Iterable[str] = (), field: str = "type") -> str:
    """Return the type in the catalog's spelling; letter case does not matter.

    Raises:
        Malformed: unknown; the error names the nearest.
    """
    if name in TYPES:
        return name
    return _spelling(name, [*TYPES, *added], field, "unknown_type")


def require_same_type(asked: str | None, actual: str, added: Iterable[str] = ()) -> None:
    """Refuse a type that was given along with an id and is not that of the object.

    Raises:
        Malformed: another type, or an unknown one.
    """
    if asked is None or require_type(asked, added) == actual:
        return
    raise Malformed(
        f"The object with that id is a {actual}.",
        code="type_mismatch",
        field="type",
        next_step="Leave the type out: the id says which object it is.",
    )


def require_link(name: str, field: str = "link") -> str:
    """Return the link type in the catalog's spelling.

    Raises:
        Malformed: unknown; the error names the nearest.
    """
    if name in LINKS:
        return name
    return _spelling(name, list(LINKS), field, "unknown_link")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `name`, if any is alike (difflib ratio of 0.6 or more)."""
    by_fold = {candidate.casefold(): candidate for candidate in known}
    found = difflib.get_close_matches(name[:200].casefold(), by_fold, n=1)
    return by_fold[found[0]] if found else None


def _spelling(name: str, known: list[str], field: str, code: str) -> str:
    by_fold = {candidate.casefold(): candidate for candidate in known}
    if name.casefold() in by_fold:
        return by_fold[name.casefold()]
    suggestion = nearest(name, known)
    shown = name[:80]
    raise Malformed(
        f"{field} {shown!r} is not in the catalog.",
        code=code,
        field=field,
        next_step=f"Did you mean {suggestion!r}?"
        if suggestion
        else f"Use one of: {', '.join(sorted(known))}.",
        details={"nearest": suggestion} if suggestion else None,
    )
