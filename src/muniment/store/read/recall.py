"""The statements of search: names, how common each lexeme is, and the best documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from muniment.domain.identity import Reader
from muniment.store.database import Executor
from muniment.store.read.eyes import eyes_of
from muniment.store.statements import load

STATEMENTS = load("read/recall.sql")


class Moment(NamedTuple):
    """What a read is as of. as_of: in the world, None for now. known: a pos, None for the head."""

    as_of: datetime | None
    known: int | None


class NamedHit(NamedTuple):
    """An object that the query names.

    how: 4 by id, 3 by a name to the letter, 2 by its beginning, 1 nearly. likeness: 0 to 1.
    """

    object_id: UUID
    name: str
    type: str
    how: int
    likeness: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NameQuery:
    """What to look names up by.

    canonical: the query in the form of names. object_id: when it has the form of an id.
    prefix, fuzzy: whether to look for beginnings, and for what is nearly the same.
    limit: how many of each of those.
    """

    canonical: str
    object_id: UUID | None
    prefix: bool
    fuzzy: bool
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What narrows a search; None for no narrowing.

    lowest, highest: bands of claims that are let in. objects: documents of objects take part.
    names_only: nothing else does. closed: claims that are no longer current do as well.
    """

    type: str | None = None
    property: str | None = None
    source: str | None = None
    evidence_class: str | None = None
    head_id: UUID | None = None
    audience: str | None = None
    lowest: int = 1
    highest: int = 2
    objects: bool = True
    names_only: bool = False
    closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """The numbers of the ranking; `reads/ranking.py` owns them.

    budget: how many documents a route may bring in. classes, class_weights: a factor for each
    evidence class. object_weight: the same for documents of objects. length: of an average
    document. routes: what a full score on text, strict match and name adds.
    """

    budget: int
    classes: Sequence[str]
    class_weights: Sequence[float]
    object_weight: float
    length: float
    routes: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which part of the ranking is wanted.

    newest: no document past this pos takes part. highest: the best text score, where it is known.
    after: leave out all down to this (score, pos). until: leave out all below it.
    """

    size: int
    newest: int | None = None
    highest: float | None = None
    after: tuple[float, int] | None = None
    until: tuple[float, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankQuery:
    """What to rank.

    routes: (name, tsquery) of each text route. lexemes: (tsquery, weight). terms: tsquery of each
    term of the query. named: (object, likeness) from the names. preview: characters of a value.
    """

    routes: Sequence[tuple[str, str]]
    lexemes: Sequence[tuple[str, float]]
    terms: Sequence[str]
    named: Sequence[tuple[UUID, float]]
    filters: Filters
    scoring: Scoring
    window: Window
    preview: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRow:
    """One document with the claim behind it; of an object's own document the claim's part is None.

    highest: the best text score of the search; newest: its highest pos.
    roots: independent origins that agree with the claim; disagree: there are some that do not.
    next_*: the claim that superseded it, or that its source made later on what was merged since.
    covers: for each term, whether it occurs.
    capped: a route brought in as much as its budget allowed.
    """

    doc_pos: int
    score: float
    highest: float
    newest: int
    weight: float
    likeness: float
    strict: bool
    textual: bool
    object_id: UUID
    head_id: UUID
    type: str
    name: str
    via_name: str | None
    property: str | None
    value: str | None
    value_bytes: int | None
    event_id: UUID | None
    source: str | None
    evidence_class: str | None
    band: int | None
    root: str | None
    evidence: str | None
    first_observed: datetime | None
    last_observed: datetime | None
    times: int | None
    valid_from: str | None
    valid_to: str | None
    closed_pos: int | None
    closing: str | None
    next_id: UUID | None
    next_pos: int | None
    next_value: str | None
    roots: int
    disagree: bool
    covers: Sequence[bool]
    capped: bool


async def find_names(
    executor: Executor, reader: Reader, moment: Moment, query: NameQuery, *, seconds: float
) -> list[NamedHit]:
    """Return visible objects that the query names, at most one hit an object."""
    rows = await executor.fetch(
        STATEMENTS["find_names"],
        *eyes_of(reader),
        *moment,
        query.object_id,
        query.canonical,
        query.prefix,
        _starts_with(query.canonical),
        query.fuzzy,
        query.limit,
        timeout=seconds,
    )
    return [NamedHit(*row) for row in rows]


async def count_documents(
    executor: Executor,
    reader: Reader,
    moment: Moment,
    lexemes: Sequence[str],
    *,
    closed: bool,
    bound: int,
    seconds: float,
) -> list[int]:
    """Return for each tsquery how many visible documents have it, counted up to `bound`."""
    rows = await executor.fetch(
        STATEMENTS["count_documents"],
        *eyes_of(reader),
        *moment,
        list(lexemes),
        closed,
        bound,
        timeout=seconds,
    )
    return [row["documents"] for row in rows]


async def rank_documents(
    executor: Executor, reader: Reader, moment: Moment, query: RankQuery, *, seconds: float
) -> list[RankedRow]:
    """Return a window of the ranking, best first."""
    filters, scoring, window = query.filters, query.scoring, query.window
    after, until = window.after or (None, None), window.until or (None, None)
    rows = await executor.fetch(
        STATEMENTS["rank_documents"],
        *eyes_of(reader),
        *moment,
        filters.closed,
        [route for route, _ in query.routes],
        [text for _, text in query.routes],
        [text for text, _ in query.lexemes],
        [weight for _, weight in query.lexemes],
        list(query.terms),
        [object_id for object_id, _ in query.named],
        [likeness for _, likeness in query.named],
        filters.type,
        filters.property,
        filters.source,
        filters.evidence_class,
        filters.head_id,
        filters.audience,
        filters.lowest,
        filters.names_only,
        filters.objects,
        list(scoring.classes),
        list(scoring.class_weights),
        scoring.object_weight,
        window.newest,
        scoring.budget,
        scoring.length,
        window.highest,
        list(scoring.routes),
        *after,
        *until,
        window.size,
        query.preview,
        filters.highest,
        timeout=seconds,
    )
    return [RankedRow(**dict(row)) for row in rows]


async def whole_values(
    executor: Executor, reader: Reader, positions: Sequence[int]
) -> dict[int, str]:
    """Return the canonical JSON of visible claims by pos."""
    rows = await executor.fetch(STATEMENTS["whole_values"], *eyes_of(reader), list(positions))
    return {row["pos"]: row["value"] for row in rows}


async def nearest_names(
    executor: Executor, reader: Reader, asked: Sequence[str], limit: int
) -> list[tuple[str, str]]:
    """Return (name, type) of visible objects that look like one of the texts, likest first."""
    rows = await executor.fetch(STATEMENTS["nearest_names"], *eyes_of(reader), list(asked), limit)
    return [(row["name"], row["type"]) for row in rows]


async def added_types(executor: Executor, reader: Reader) -> list[str]:
    """Return the names of all types of the workspace."""
    rows = await executor.fetch(STATEMENTS["added_types"], reader.workspace_id)
    return [row["name"] for row in rows]


def _starts_with(canonical: str) -> str:
    """Return the LIKE pattern of what begins with the text; its wildcards are plain characters."""
    for char in "\\%_":
        canonical = canonical.replace(char, f"\\{char}")
    return f"{canonical}%"
