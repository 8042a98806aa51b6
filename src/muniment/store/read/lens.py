"""The statements of the lenses: an object's claims, the versions of one property, its links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from muniment.domain.identity import Reader
from muniment.store.database import Executor
from muniment.store.read.eyes import eyes_of
from muniment.store.read.recall import Moment
from muniment.store.statements import load

_SQL = load("read/lens.sql")

Direction = Literal["out", "in"]


class ClaimPlace(NamedTuple):
    """Where a claim stands in the order of a dossier."""

    property: str
    value_key: str
    pos: int


class LinkSlot(NamedTuple):
    """Links of one type, from after a neighbour and pos on."""

    type: str
    after_id: UUID | None = None
    after_pos: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """A claim as a lens needs it. `value` may be cut off; `value_bytes` is the size of the whole.

    closed_pos, closing: what closed it, when something did.
    """

    object_id: UUID
    property: str
    value_key: str
    source: str
    pos: int
    event_id: UUID
    value: str
    value_bytes: int
    digest: bytes
    evidence_class: str
    band: int
    root: str
    evidence: str | None
    derived_from: list[UUID]
    valid_from: str | None
    valid_to: str | None
    first_observed: datetime
    last_observed: datetime
    times: int
    audience: str
    closed_pos: int | None
    closing: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Version(ClaimRow):
    """A claim with the event that closed it, as far as the reader may see that event."""

    closed_by: UUID | None
    closed_at: datetime | None
    closed_why: str | None
    closed_actor_id: UUID | None
    closed_actor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRow:
    """A link, seen from one end: the object at the other end that answers for it today.

    near_id, far_id: the objects that the link was made between.
    """

    direction: Direction
    link: str
    object_id: UUID
    type: str
    name: str
    near_id: UUID
    far_id: UUID
    source: str
    pos: int
    event_id: UUID
    evidence_class: str
    band: int
    root: str
    evidence: str | None
    valid_from: str | None
    valid_to: str | None
    first_observed: datetime
    last_observed: datetime
    times: int


async def claims(
    executor: Executor,
    reader: Reader,
    moment: Moment,
    group: Sequence[UUID],
    *,
    after: ClaimPlace | None,
    preview: int,
    limit: int,
) -> list[ClaimRow]:
    """Return claims of a group of objects by property, value and pos."""
    rows = await executor.fetch(
        _SQL["claims"],
        *eyes_of(reader),
        moment.known,
        list(group),
        moment.as_of,
        *(after or (None, None, None)),
        preview,
        limit,
    )
    return [ClaimRow(**dict(row)) for row in rows]


async def out_of_force(
    executor: Executor, reader: Reader, moment: Moment, group: Sequence[UUID]
) -> int:
    """Return how many claims of a group do not hold at the moment."""
    found: int = await executor.fetchval(
        _SQL["out_of_force"], *eyes_of(reader), moment.known, list(group), moment.as_of
    )
    return found


async def versions(
    executor: Executor,
    reader: Reader,
    group: Sequence[UUID],
    property_: str,
    *,
    after: int,
    preview: int,
    limit: int,
) -> list[Version]:
    """Return the versions of one property that were made after a pos, oldest first."""
    rows = await executor.fetch(
        _SQL["versions"], *eyes_of(reader), list(group), property_, after, preview, limit
    )
    return [Version(**dict(row)) for row in rows]


async def links(
    executor: Executor,
    reader: Reader,
    moment: Moment,
    direction: Direction,
    slots: Sequence[LinkSlot],
    heads: Sequence[UUID],
    *,
    group: Sequence[UUID] | None,
    limit: int,
) -> list[LinkRow]:
    """Return up to `limit` links of each slot and head, by type, neighbour and pos.

    group: only links that were made at one of these objects.
    """
    rows = await executor.fetch(
        _SQL["links_from" if direction == "out" else "links_to"],
        *eyes_of(reader),
        moment.known,
        [slot.type for slot in slots],
        [slot.after_id for slot in slots],
        [slot.after_pos for slot in slots],
        list(heads),
        moment.as_of,
        None if group is None else list(group),
        limit,
    )
    return [LinkRow(**dict(row)) for row in rows]
