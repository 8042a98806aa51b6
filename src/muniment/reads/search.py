"""One search on its way: its scope resolved, its names found, its lexemes counted, its ranking.

A route that takes too long is left out, and the answer says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from muniment.domain.canonical import Json
from muniment.domain.errors import Malformed, Unavailable
from muniment.domain.identity import Reader, private_audience, project_audience
from muniment.domain.text import canonical_name
from muniment.domain.tokens import QUERY_TERMS, Term, query_terms
from muniment.reads import cursors, hits, ranking
from muniment.reads.arguments import PRIVATE, RecallQuery
from muniment.reads.resolve import known_pos, known_type, resolve
from muniment.store.database import Executor
from muniment.store.read import recall as store
from muniment.store.read.recall import Filters, Moment, NamedHit, NameQuery, RankQuery, Window

ROUTE_SECONDS: Final = 2.0
SEMANTIC: Final = "unavailable: no embedding model is installed"
TIMED_OUT: Final = f"left out: it took over {ROUTE_SECONDS:.0f} s"
NOT_FUZZY: Final = f"skipped: for queries of 4 to {ranking.FUZZY_CHARS} characters"
AS_IT_IS: Final = "skipped: each word occurs as it is"
NO_TERMS: Final = "skipped: the query has no letter, digit or symbol"
MODEST: Final = {"limit", "cursor", "max_chars"}
"""Arguments that say how much of an answer is wanted, not of which question."""


@dataclass(slots=True, kw_only=True)
class Search:
    """One search on its way: what was asked, resolved, and what each route came to."""

    reader: Reader
    query: RecallQuery
    moment: Moment
    filters: Filters
    terms: list[Term]
    ignored: int
    lexemes: list[str]
    shares: list[float]
    named: dict[UUID, NamedHit]
    counts: list[int]
    routes: dict[str, Json]
    question: bytes


async def prepare(executor: Executor, reader: Reader, query: RecallQuery) -> Search:
    """Return the search with its scope resolved.

    Raises:
        NotFound, Malformed: a scope that does not exist.
    """
    terms = query_terms(query.text)
    ignored = max(0, len(terms) - QUERY_TERMS)
    terms = terms[:QUERY_TERMS]
    audience = query.audience
    if audience == PRIVATE:
        audience = private_audience(reader.principal_id)
    if query.project is not None:
        if audience is not None:
            raise Malformed(
                "project and audience both say where to look.",
                code="bad_scope",
                field="project",
                next_step="Give one of them.",
            )
        project = await resolve(executor, reader, query.project, field="project")
        audience = project_audience(project.object_id)
    head_id = None
    if query.about is not None:
        head_id = (await resolve(executor, reader, query.about)).head_id
    of_claims = query.property or query.source or query.evidence_class
    filters = Filters(
        type=await known_type(executor, reader, query.type),
        property=query.property,
        source=query.source,
        evidence_class=query.evidence_class,
        head_id=head_id,
        audience=audience,
        objects=of_claims is None,
        names_only=query.names_only,
        closed=query.include_superseded,
    )
    shares = ranking.lexeme_shares(terms)
    asked = {
        name: getattr(query, name)
        for name in RecallQuery.__dataclass_fields__
        if name not in MODEST
    }
    return Search(
        reader=reader,
        query=query,
        moment=Moment(query.as_of, await known_pos(executor, reader, query.known_at)),
        filters=filters,
        terms=terms,
        ignored=ignored,
        lexemes=[*shares],
        shares=[*shares.values()],
        named={},
        counts=[],
        routes={},
        question=cursors.question("recall", **asked),
    )


async def find_names(executor: Executor, search: Search) -> None:
    """Find the objects that the query names."""
    if not search.filters.objects:
        search.routes["names"] = "skipped: the filters ask for claims"
        return
    canonical = canonical_query(search.query.text)
    short = len(canonical) <= ranking.FUZZY_CHARS
    known = all(search.counts) and bool(search.counts)
    asked = NameQuery(
        canonical=canonical,
        object_id=_as_id(canonical),
        prefix=short and len(canonical) >= 3 and min(search.counts, default=0) < ranking.BOUND,
        fuzzy=short and len(canonical) >= 4 and not known,
        limit=20,
    )
    try:
        found = await store.find_names(
            executor, search.reader, search.moment, asked, seconds=ROUTE_SECONDS
        )
    except TimeoutError:
        search.routes["names"] = TIMED_OUT
        return
    search.named = {
        hit.object_id: hit for hit in found if hit.how > 1 or hit.likeness >= ranking.LIKENESS
    }
    search.routes["names"] = "ran"
    search.routes["trigram"] = (
        "ran" if asked.fuzzy else "skipped: for queries of 4 to 30 characters"
    )


async def count(executor: Executor, search: Search, place: cursors.Place | None) -> None:
    """Count how common each lexeme is, or take the counts that the first page was ranked by."""
    if place is not None:
        search.counts = place["counts"]
        return
    places = ranking.counted(search.shares)
    search.counts = [ranking.BOUND] * len(search.lexemes)
    if not places:
        return
    try:
        found = await store.count_documents(
            executor,
            search.reader,
            search.moment,
            [search.lexemes[place] for place in places],
            closed=search.filters.closed,
            bound=ranking.BOUND,
            seconds=ROUTE_SECONDS,
        )
    except TimeoutError:
        search.counts = [0] * len(search.lexemes)
        search.routes["relaxed"] = TIMED_OUT
        return
    for at, documents in zip(places, found, strict=True):
        search.counts[at] = documents


async def rank(
    executor: Executor, search: Search, window: Window, filters: Filters | None = None
) -> list[store.RankedRow]:
    """Return a window of the ranking; by names alone when the text routes take too long."""
    strict = ranking.strict_query(search.terms)
    relaxed = ranking.relaxed_query(search.lexemes, search.shares, search.counts)
    routes = [("strict", strict)] if strict else []
    if relaxed is not None and relaxed != strict and len(search.lexemes) > 1:
        routes.append(("relaxed", relaxed))
    weights = ranking.lexeme_weights(search.shares, search.counts)
    query = RankQuery(
        routes=routes,
        lexemes=[
            (lexeme, weight)
            for lexeme, weight, count in zip(search.lexemes, weights, search.counts, strict=True)
            if count
        ],
        terms=[term.query for term in search.terms],
        named=[
            (hit.object_id, hit.likeness * ranking.HOW[hit.how][1]) for hit in search.named.values()
        ],
        filters=filters or search.filters,
        scoring=ranking.SCORING,
        window=window,
        preview=hits.PREVIEW_CHARS,
    )
    for name in ("strict", "relaxed"):
        search.routes.setdefault(name, "ran" if search.terms else NO_TERMS)
    search.routes["semantic"] = SEMANTIC
    try:
        return await store.rank_documents(
            executor, search.reader, search.moment, query, seconds=ROUTE_SECONDS
        )
    except TimeoutError:
        search.routes["relaxed"] = search.routes["strict"] = TIMED_OUT
        if not routes:
            raise _too_slow() from None
    names_alone = replace(query, routes=[], lexemes=[])
    try:
        return await store.rank_documents(
            executor, search.reader, search.moment, names_alone, seconds=ROUTE_SECONDS
        )
    except TimeoutError:
        raise _too_slow() from None


def canonical_query(text: str) -> str:
    """Return the query in the form that names are looked up by."""
    return canonical_name(" ".join(text.split()))


def _as_id(canonical: str) -> UUID | None:
    try:
        return UUID(canonical) if len(canonical) == len(str(UUID(int=0))) else None
    except ValueError:
        return None


def _too_slow() -> Unavailable:
    return Unavailable(
        "The search took too long.",
        code="search_timeout",
        next_step="Ask with fewer or rarer words, or narrow it by type or about.",
    )
