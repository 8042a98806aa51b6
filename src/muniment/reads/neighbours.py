"""Links of an object in both directions, some of each type, and how to get at the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final, cast
from uuid import UUID

from muniment.domain.canonical import Json
from muniment.domain.catalog import LINKS
from muniment.domain.evidence import Band
from muniment.domain.identity import Reader
from muniment.reads import cursors, shown
from muniment.reads.arguments import NeighboursQuery
from muniment.reads.resolve import resolve
from muniment.reads.shown import Shown
from muniment.store.database import Executor
from muniment.store.read import lens
from muniment.store.read.lens import Direction, LinkRow, LinkSlot
from muniment.store.read.recall import Moment

DIRECTIONS: Final[tuple[Direction, ...]] = ("out", "in")
_TYPES: Final = sorted(LINKS)


async def neighbours(
    executor: Executor, secret: bytes, reader: Reader, query: NeighboursQuery
) -> Shown:
    """Return the objects that an object is linked with, a page at a time.

    Raises:
        NotFound, Malformed: no such object, a cursor that does not belong here.
    """
    found = await resolve(executor, reader, query.ref)
    asked = cursors.question(
        "neighbours",
        head=found.head_id,
        link=query.link,
        direction=query.direction,
        as_of=query.as_of,
    )
    place = None if query.cursor is None else cursors.unseal(secret, reader, asked, query.cursor)
    rows = await page(
        executor,
        reader,
        Moment(query.as_of, None),
        [found.head_id],
        directions=_directions(query.direction),
        types=_TYPES if query.link is None else [query.link],
        place=place,
        limit=query.limit + 1,
    )
    answer: Shown = {"object": shown.obj(found.head_id, found.head_type, found.head_name)}
    answer["links"] = grouped(rows[: query.limit], {}, found.head_id)
    if query.as_of is not None:
        answer["as_of"] = shown.time(query.as_of)
    if len(rows) > query.limit:
        answer["cursor"] = cursors.seal(secret, reader, asked, place_of(rows[query.limit - 1]))
    return answer


async def page(
    executor: Executor,
    reader: Reader,
    moment: Moment,
    heads: Sequence[UUID],
    *,
    directions: Sequence[Direction] = DIRECTIONS,
    types: Sequence[str] = _TYPES,
    place: cursors.Place | None = None,
    group: Sequence[UUID] | None = None,
    limit: int,
) -> list[LinkRow]:
    """Return links after `place`, at most `limit` in all, outward first, then by type."""
    rows: list[LinkRow] = []
    for direction in directions:
        if place and directions.index(place["direction"]) > directions.index(direction):
            continue
        at = place if place and place["direction"] == direction else None
        slots = [
            LinkSlot(type_, UUID(at["id"]), at["pos"])
            if at and at["link"] == type_
            else LinkSlot(type_)
            for type_ in types
            if not at or type_ >= at["link"]
        ]
        rows += await lens.links(
            executor, reader, moment, direction, slots, heads, group=group, limit=limit
        )
        if len(rows) >= limit:
            break
    return rows[:limit]


async def some_of_each(
    executor: Executor,
    reader: Reader,
    moment: Moment,
    heads: Sequence[UUID],
    *,
    group: Sequence[UUID] | None,
    limit: int,
) -> list[LinkRow]:
    """Return up to `limit` links of each direction and type."""
    slots = [LinkSlot(type_) for type_ in _TYPES]
    rows: list[LinkRow] = []
    for direction in DIRECTIONS:
        rows += await lens.links(
            executor, reader, moment, direction, slots, heads, group=group, limit=limit
        )
    return rows


def grouped(rows: Sequence[LinkRow], names: Mapping[UUID, str], head_id: UUID) -> Shown:
    """Return links by direction and type: `{"out": {"uses": [...]}, "in": {"uses": [...]}}`."""
    made: Shown = {}
    for direction, half in groupby(rows, key=lambda row: row.direction):
        types: Shown = {}
        for type_, same in groupby(half, key=lambda row: row.link):
            links = list(same)
            roots = _roots(links)
            types[type_] = [_link(row, roots[row.object_id], names, head_id) for row in links]
        made[direction] = types
    return made


def place_of(row: LinkRow) -> cursors.Place:
    """Return where the links after `row` start."""
    return {
        "direction": row.direction,
        "link": row.link,
        "id": str(row.object_id),
        "pos": row.pos,
    }


def _directions(asked: str | None) -> tuple[Direction, ...]:
    return DIRECTIONS if asked is None else (cast("Direction", asked),)


def _roots(rows: Sequence[LinkRow]) -> dict[UUID, int]:
    roots: dict[UUID, set[str]] = {}
    for row in rows:
        same = roots.setdefault(row.object_id, set())
        if row.band >= Band.OBSERVED:
            same.add(row.root)
    return {object_id: len(same) for object_id, same in roots.items()}


def _link(row: LinkRow, roots: int, names: Mapping[UUID, str], head_id: UUID) -> Json:
    made = shown.obj(row.object_id, row.type, row.name)
    made["source"] = row.source
    made |= shown.standing(row.evidence_class, row.band, roots)
    made["observed"] = shown.observed(row.first_observed, row.last_observed, row.times)
    made |= shown.present(
        {
            "valid": shown.valid(row.valid_from, row.valid_to),
            "evidence": row.evidence,
            "via_name": names.get(row.near_id) if row.near_id != head_id else None,
        }
    )
    return made | {"link_id": str(row.event_id), "pos": row.pos}
