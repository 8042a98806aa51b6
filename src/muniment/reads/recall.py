"""Search: five routes over the same visible documents, fused, with their provenance.

Three statements: how common the query's lexemes are, the objects that it names, and the ranking,
which alone decides what is shown: it selects from visibility once more, so nothing that left
between the statements can come back by them. Pages follow each other by score: what a score is
made of is frozen in the cursor, so writes that go on move nothing from one page to another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

import orjson

from muniment.domain.canonical import Json
from muniment.domain.identity import Reader
from muniment.domain.tokens import QUERY_TERMS
from muniment.reads import cursors, hits, ranking, shown, snippets
from muniment.reads.arguments import RecallQuery
from muniment.reads.hits import Scored
from muniment.reads.search import Search, canonical_query, count, find_names, prepare, rank
from muniment.reads.shown import Shown
from muniment.store.database import Executor
from muniment.store.read import recall as store
from muniment.store.read.recall import Window

Key: TypeAlias = tuple[float, int]

SUGGESTIONS: Final = 3
WHOLE_BYTES: Final = 4 * 1024 * 1024
"""Values that are fetched in full for the snippets of one page."""


class Placed(NamedTuple):
    """A row, and the window of the ranking (after, until) that its page took it from."""

    scored: Scored
    after: Key | None
    until: Key | None


@dataclass(slots=True, kw_only=True)
class Page:
    """What one page holds. frozen: what its scores are made of. more: it is not the last."""

    rows: list[Placed]
    frozen: cursors.Place
    more: bool
    capped: bool


async def recall(executor: Executor, secret: bytes, reader: Reader, query: RecallQuery) -> Shown:
    """Return the hits of a search, how they were found and what they leave open.

    Raises:
        NotFound, Malformed: a scope that does not exist, a cursor that does not belong here.
    """
    search = await prepare(executor, reader, query)
    place = (
        None
        if query.cursor is None
        else cursors.unseal(secret, reader, search.question, query.cursor)
    )
    await count(executor, search, place)
    await find_names(executor, search)
    page = await _page(executor, search, place)
    found = snippets.pattern_of(search.terms)
    made = await _shown(executor, search, [row.scored for row in page.rows], found)
    answer: Shown = {"hits": [*made]}
    if len(made) < len(page.rows):
        page.rows = page.rows[: len(made)]
        page.more = True
        answer["cut"] = f"max_chars: {query.max_chars} bytes are full; the cursor has the rest"
    if query.untrusted:
        answer["untrusted"] = await _untrusted(executor, search, found)
    answer["routes"] = search.routes
    answer |= _scope(query)
    answer |= _sufficiency(search, page.rows)
    if page.capped:
        answer["capped"] = f"only the newest {ranking.BUDGET} matches were ranked: narrow the query"
    if page.more and page.rows:
        answer["cursor"] = cursors.seal(secret, reader, search.question, _next(page))
    if not made and place is None:
        answer |= await _did_you_mean(executor, search)
    return answer


async def _did_you_mean(executor: Executor, search: Search) -> Shown:
    canonical = canonical_query(search.query.text)
    asked = [canonical] if len(canonical) <= ranking.FUZZY_CHARS else []
    words = {term.text for term in search.terms if len(term.text) > 3}
    asked += sorted(words, key=lambda word: (-len(word), word))[:SUGGESTIONS]
    near = await store.nearest_names(executor, search.reader, asked, SUGGESTIONS)
    return shown.present({"did_you_mean": [{"name": name, "type": type_} for name, type_ in near]})


async def _page(executor: Executor, search: Search, place: cursors.Place | None) -> Page:
    """Fill one page from windows of the ranking; inside a window, corroboration orders."""
    limit = search.query.limit
    after, until, inner = (_key(place, part) for part in ("after", "until", "inner"))
    frozen: cursors.Place = place or {}
    page = Page(rows=[], frozen=frozen, more=False, capped=False)
    while True:
        window = Window(
            size=limit + 10,
            newest=frozen.get("newest"),
            highest=frozen.get("highest"),
            after=after,
            until=until,
        )
        ranked = await rank(executor, search, window)
        page.capped = page.capped or any(row.capped for row in ranked)
        if not frozen and ranked:
            top = ranked[0]
            frozen = {"counts": search.counts, "newest": top.newest, "highest": top.highest}
            page.frozen = frozen
        if until is None and len(ranked) == window.size:
            until = ranked[-1].score, ranked[-1].doc_pos
        batch = sorted(map(hits.scored, ranked), key=lambda scored: scored.key, reverse=True)
        batch = [scored for scored in batch if inner is None or scored.key < inner]
        room = limit - len(page.rows)
        page.rows += [Placed(scored, after, until) for scored in batch[:room]]
        page.more = len(batch) > room or until is not None
        if until is None or len(page.rows) == limit:
            return page
        after, until, inner = until, None, None


def _next(page: Page) -> cursors.Place:
    """Return where the page after this one starts."""
    last = page.rows[-1]
    return page.frozen | {"after": last.after, "until": last.until, "inner": last.scored.key}


async def _shown(
    executor: Executor, search: Search, rows: Sequence[Scored], found: re.Pattern[str] | None
) -> list[Shown]:
    """Return the hits of the rows that fit into the answer."""
    wanted: list[int] = []
    room = WHOLE_BYTES
    for scored in rows:
        if hits.needs_whole(scored.row, found):
            room -= scored.row.value_bytes or 0
            if room >= 0:
                wanted.append(scored.row.doc_pos)
    wholes = await store.whole_values(executor, search.reader, wanted) if wanted else {}
    made: list[Shown] = []
    size = 0
    for scored in rows:
        hit = hits.hit(
            scored.row, search.named, found, wholes, flag_closed=search.query.known_at is None
        )
        size += len(orjson.dumps(hit))
        if made and size > search.query.max_chars:
            break
        made.append(hit)
    return made


async def _untrusted(executor: Executor, search: Search, found: re.Pattern[str] | None) -> Shown:
    """Return claims that came through an untrusted door, in a list of their own."""
    filters = replace(search.filters, lowest=0, highest=0, objects=False)
    limit = search.query.limit
    ranked = await rank(executor, search, Window(size=limit + 1), filters)
    rows = [hits.scored(row) for row in ranked[:limit]]
    made = await _shown(executor, search, rows, found)
    answer: Shown = {"note": "data that nobody here vouches for", "hits": [*made]}
    if len(made) < len(ranked):
        answer["cut"] = "there are more: narrow the query or raise the limit"
    return answer


def _scope(query: RecallQuery) -> Shown:
    """Return what narrowed the search, as it was understood; nothing when nothing did."""
    known_at = query.known_at
    scope = shown.present(
        {
            "about": query.about.shown() if query.about else None,
            "type": query.type,
            "property": query.property,
            "source": query.source,
            "class": query.evidence_class.value if query.evidence_class else None,
            "project": query.project.shown() if query.project else None,
            "audience": query.audience,
            "names_only": query.names_only or None,
            "include_superseded": query.include_superseded or None,
        }
    )
    echoed: Shown = {"scope": scope} if scope else {}
    if query.as_of is not None:
        echoed["as_of"] = shown.time(query.as_of)
    if known_at is not None:
        echoed["known_at"] = known_at if isinstance(known_at, int) else shown.time(known_at)
    return echoed


def _sufficiency(search: Search, rows: Sequence[Placed]) -> Shown:
    """Say which terms of the query occur in the hits of this page, and which in none."""
    if not search.terms:
        return {}
    covered: list[Json] = []
    uncovered: list[Json] = []
    by_id = any(hit.how == ranking.BY_ID for hit in search.named.values())
    for place, term in enumerate(search.terms):
        occurs = by_id or any(row.scored.row.covers[place] for row in rows)
        (covered if occurs else uncovered).append(term.text)
    said: Shown = {"covered": covered, "uncovered": uncovered}
    if search.ignored:
        said["ignored"] = f"{search.ignored} terms past the first {QUERY_TERMS}"
    return {"sufficiency": said}


def _key(place: cursors.Place | None, part: str) -> Key | None:
    found = (place or {}).get(part)
    return None if found is None else (found[0], found[1])
