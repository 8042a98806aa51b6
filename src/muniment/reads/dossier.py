"""The dossier: what is known of one object, who said it and how they knew, and what disagrees.

An object of any status can be opened. One that was merged leads to the object that answers for it
now. With `known_at` the object is shown as the log had it then: its name, status and merged group
come from the fold of its events up to that pos.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final
from uuid import UUID

from muniment.domain.canonical import Json
from muniment.domain.catalog import is_many
from muniment.domain.errors import NotFound
from muniment.domain.evolve import fold
from muniment.domain.identity import Reader
from muniment.domain.model import Status
from muniment.reads import cursors, neighbours, shown
from muniment.reads.arguments import MOST_CHARS, OpenQuery
from muniment.reads.claims import VALUE_CHARS, properties
from muniment.reads.follow import envelope
from muniment.reads.resolve import known_pos, resolve
from muniment.reads.shown import Shown
from muniment.store.database import Executor
from muniment.store.read import events, lens, objects
from muniment.store.read.lens import ClaimPlace, ClaimRow
from muniment.store.read.objects import FoundObject
from muniment.store.read.recall import Moment

CLAIMS: Final = 200
LINKS_OF_EACH: Final = 20
LINKS: Final = 100
NAMES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The object of a dossier as known at some pos.

    group: its id first, then those of all that is merged into it. names: of the latter.
    heads: the objects that answer for the group's links today.
    """

    object_id: UUID
    type: str
    name: str
    status: str
    audience: str
    version: int
    group: Sequence[UUID]
    names: dict[UUID, str]
    heads: Sequence[UUID]


async def dossier(executor: Executor, secret: bytes, reader: Reader, query: OpenQuery) -> Shown:
    """Return the dossier of an object, or with a cursor the rest of one of its parts.

    Raises:
        NotFound, Malformed: no such object, a cursor that does not belong here.
    """
    found = await resolve(executor, reader, query.ref)
    moment = Moment(query.as_of, await known_pos(executor, reader, query.known_at))
    subject = (
        await _today(executor, reader, found)
        if moment.known is None
        else await _as_known(executor, reader, found, moment.known, query)
    )
    asked = cursors.question(
        "open", id=subject.object_id, as_of=query.as_of, known_at=query.known_at
    )
    place = None if query.cursor is None else cursors.unseal(secret, reader, asked, query.cursor)
    answer: Shown = {"object": shown.obj(subject.object_id, subject.type, subject.name)}
    answer |= _moment(query)
    if place is not None:
        answer |= await _rest(executor, reader, moment, subject, place, (secret, asked))
        return answer
    answer["status"] = subject.status
    answer["audience"] = subject.audience
    answer["version"] = subject.version
    if subject.status != Status.ACTIVE and moment.known is None:
        why = await events.why_status(executor, reader, subject.object_id)
        answer |= shown.present({"status_reason": why})
    if found.object_id != subject.object_id:
        answer["redirected_from"] = shown.obj(found.object_id, found.type, found.name) | {
            "status": Status.MERGED.value,
            "note": f"merged into {subject.type} {subject.name!r}",
        }
    answer |= await _names(executor, reader, subject)
    answer |= await _claims(executor, reader, moment, subject, None, (secret, asked))
    expired = await lens.out_of_force(executor, reader, moment, subject.group)
    if expired:
        answer["not_in_force"] = expired
    answer |= await _links(executor, reader, moment, subject, (secret, asked))
    return answer


async def _today(executor: Executor, reader: Reader, found: FoundObject) -> Subject:
    group = await objects.group_of(executor, reader, found.head_id)
    head = found
    if found.head_id != found.object_id:
        of_head = await objects.object_by_id(executor, reader, found.head_id)
        head = of_head or found
    return Subject(
        object_id=head.object_id,
        type=head.type,
        name=head.name,
        status=head.status,
        audience=head.audience,
        version=head.version,
        group=[member.object_id for member in group],
        names={member.object_id: member.name for member in group},
        heads=[head.object_id],
    )


async def _as_known(
    executor: Executor, reader: Reader, found: FoundObject, known: int, query: OpenQuery
) -> Subject:
    rows = await events.of_identity(executor, reader, found.object_id, until=known)
    state = fold(map(envelope, rows))
    row = state.objects.get(found.object_id)
    if row is None:
        raise NotFound(
            f"There was no {query.ref.shown()} then.",
            field="known_at",
            next_step="Ask for a later moment, or leave known_at out.",
        )
    head = state.head(row)
    members = sorted(state.group(head.object_id) - {head.object_id})
    group = [head.object_id, *members]
    return Subject(
        object_id=head.object_id,
        type=head.type,
        name=head.name,
        status=head.status.value,
        audience=head.audience,
        version=head.version,
        group=group,
        names={member: state.objects[member].name for member in group},
        heads=await _heads(executor, reader, group),
    )


async def _heads(executor: Executor, reader: Reader, group: Sequence[UUID]) -> list[UUID]:
    heads: dict[UUID, None] = {}
    for object_id in group:
        found = await objects.object_by_id(executor, reader, object_id)
        if found is not None:
            heads[found.head_id] = None
    return list(heads)


async def _names(executor: Executor, reader: Reader, subject: Subject) -> Shown:
    rows = await objects.names_of(executor, reader, subject.group, NAMES + 1)
    names: list[Json] = []
    for row in rows[:NAMES]:
        name: Shown = {"name": row.name}
        if row.is_current and row.object_id == subject.object_id:
            name["current"] = True
        if row.object_id != subject.object_id:
            name["of"] = str(row.object_id)
        names.append(name)
    made: Shown = {"names": names}
    if len(rows) > NAMES:
        made["names_cut"] = f"only the first {NAMES} names are shown; trace has all"
    return made


Seal = tuple[bytes, bytes]
"""The workspace's secret and the question, which a cursor is made of."""


async def _claims(
    executor: Executor,
    reader: Reader,
    moment: Moment,
    subject: Subject,
    place: cursors.Place | None,
    seal: Seal,
) -> Shown:
    after = ClaimPlace(*place["after"]) if place else None
    rows = await lens.claims(
        executor,
        reader,
        moment,
        subject.group,
        after=after,
        preview=VALUE_CHARS,
        limit=CLAIMS + 1,
    )
    more = len(rows) > CLAIMS
    kept = _whole_groups(rows[:CLAIMS]) if more else rows
    kept, cut = _fitting(kept)
    made: Shown = {"claims": properties(kept, subject.names, subject.object_id)}
    if more or cut:
        last = kept[-1]
        rest: cursors.Place = {"part": "claims", "after": [last.property, last.value_key, last.pos]}
        made["claims_cursor"] = cursors.seal(seal[0], reader, seal[1], rest)
    return made


def _whole_groups(rows: list[ClaimRow]) -> list[ClaimRow]:
    """Leave out the last property if it has one value and may go on: its winner needs all of it."""
    last = rows[-1].property
    before = [row for row in rows if row.property != last]
    return rows if is_many(last) or not before else before


def _fitting(rows: list[ClaimRow]) -> tuple[list[ClaimRow], bool]:
    """Return the rows whose values fit into one answer, and whether some did not."""
    size = 0
    for count, row in enumerate(rows):
        size += min(row.value_bytes, 4 * len(row.value)) + 500
        if count and size > MOST_CHARS:
            return _whole_groups(rows[:count]), True
    return rows, False


async def _links(
    executor: Executor, reader: Reader, moment: Moment, subject: Subject, seal: Seal
) -> Shown:
    group = None if moment.known is None else subject.group
    rows = await neighbours.some_of_each(
        executor, reader, moment, subject.heads, group=group, limit=LINKS_OF_EACH + 1
    )
    kept: list[lens.LinkRow] = []
    cut: dict[tuple[str, str], cursors.Place] = {}
    for slot, same in groupby(rows, key=lambda row: (row.direction, row.link)):
        links = list(same)
        kept += links[:LINKS_OF_EACH]
        if len(links) > LINKS_OF_EACH:
            cut[slot] = {"part": "links", **neighbours.place_of(links[LINKS_OF_EACH - 1])}
    made: Shown = {}
    if kept:
        made["links"] = neighbours.grouped(kept, subject.names, subject.object_id)
    if cut:
        made["links_cut"] = [
            {
                "direction": direction,
                "link": link,
                "shown": LINKS_OF_EACH,
                "cursor": cursors.seal(seal[0], reader, seal[1], place),
            }
            for (direction, link), place in cut.items()
        ]
    return made


async def _rest(
    executor: Executor,
    reader: Reader,
    moment: Moment,
    subject: Subject,
    place: cursors.Place,
    seal: Seal,
) -> Shown:
    if place["part"] == "claims":
        return await _claims(executor, reader, moment, subject, place, seal)
    rows = await neighbours.page(
        executor,
        reader,
        moment,
        subject.heads,
        directions=(place["direction"],),
        types=[place["link"]],
        place=place,
        group=None if moment.known is None else subject.group,
        limit=LINKS + 1,
    )
    made: Shown = {"links": neighbours.grouped(rows[:LINKS], subject.names, subject.object_id)}
    if len(rows) > LINKS:
        rest: cursors.Place = {"part": "links", **neighbours.place_of(rows[LINKS - 1])}
        made["cursor"] = cursors.seal(seal[0], reader, seal[1], rest)
    return made


def _moment(query: OpenQuery) -> Shown:
    known_at = query.known_at
    return shown.present(
        {
            "as_of": None if query.as_of is None else shown.time(query.as_of),
            "known_at": known_at
            if known_at is None or isinstance(known_at, int)
            else shown.time(known_at),
        }
    )
