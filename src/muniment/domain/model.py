"""The rows that the log folds into: objects, names, claims, links, principals.

These are values. `evolve` makes them from events, `decide` looks at them, `store` writes them;
nothing else may invent one. Positions are those of the log, dense per workspace.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from muniment.domain.evidence import Band, EvidenceClass
from muniment.domain.identity import Role
from muniment.domain.value import value


class Status(StrEnum):
    """Whether an object takes part. Transitions: `lifecycle.require_transition`."""

    ACTIVE = "active"
    MERGED = "merged"
    ARCHIVED = "archived"
    RETIRED = "retired"
    HISTORICAL = "historical"


@value
class ObjectRow:
    """A node of the graph.

    name: as shown; empty when the name was redacted. canonical: as looked up.
    merged_into: the object that it was merged into, while `status` is merged.
    head_id: the object that answers for it today (itself unless merged).
    audience: who may know that it exists.
    created_at: when the event that made it was recorded.
    version: pos of the last event that changed its name or status. A merge leaves it alone, so that
        its reverse restores the row to the byte.
    """

    object_id: UUID
    type: str
    name: str
    canonical: str
    status: Status
    merged_into: UUID | None
    head_id: UUID
    audience: str
    created_by: UUID
    created_at: datetime
    created_pos: int
    version: int


class NameKey(NamedTuple):
    """What a name stands under: within one type and audience it leads to one object."""

    canonical: str
    type: str
    audience: str


@value
class NameRow:
    """One name that leads to an object.

    current: it is the object's present name, not a former one. pos: the event that gave it.
    """

    key: NameKey
    object_id: UUID
    name: str
    current: bool
    pos: int


class Closing(StrEnum):
    """Why a claim or link is no longer current."""

    SUPERSEDED = "superseded"
    RETRACTED = "retracted"


@value
class Provenance:
    """What every claim and link says of itself.

    pos, event_id: the event that made it.
    source: who makes the claim; actor_id: the principal that carried it in.
    rule: the trust rule that it fell under; band: what that gave, lowered by what it rests on.
    root: what counts as one independent origin.
    evidence: an address that backs it. derived_from: event ids of the claims it rests on.
    valid_from, valid_to: as given, possibly coarse, None when open.
    first_observed, last_observed, times: how often the source said the same.
    audience: who may read it, beside those who may see its object.
    """

    pos: int
    event_id: UUID
    source: str
    actor_id: UUID
    evidence_class: EvidenceClass
    rule: str
    band: Band
    root: str
    evidence: str | None
    derived_from: tuple[UUID, ...]
    valid_from: str | None
    valid_to: str | None
    first_observed: datetime
    last_observed: datetime
    times: int
    audience: str


class ClaimKey(NamedTuple):
    """What a claim stands under: one row each. `value_key` is '' for a single-valued property."""

    object_id: UUID
    property: str
    source: str
    value_key: str


@value
class Claim:
    """One source's claim about one property of one object.

    value: canonical JSON text; None where only its digest was loaded. digest: SHA-256 of it.
    """

    key: ClaimKey
    value: str | None
    digest: bytes
    provenance: Provenance

    @property
    def pos(self) -> int:
        return self.provenance.pos


class LinkKey(NamedTuple):
    """What a link stands under: one row each."""

    src_id: UUID
    type: str
    dst_id: UUID
    source: str


@value
class Link:
    """A typed, directed, sourced edge."""

    key: LinkKey
    provenance: Provenance

    @property
    def pos(self) -> int:
        return self.provenance.pos


@value
class Closed:
    """A claim or link that is no longer current, and by which event."""

    row: Claim | Link
    closed_pos: int
    closing: Closing


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalRow:
    """Who may act or read, as the log tells it. Tokens are kept apart and never in the log.

    audiences: what it may read beside `fleet` and its own private audience.
    owned_sources: what an ingestor may speak for; a trailing `*` owns a prefix.
    default_audience: who may read what it writes when it says nothing.
    """

    principal_id: UUID
    name: str
    role: Role
    audiences: tuple[str, ...]
    owned_sources: tuple[str, ...]
    default_audience: str
    version: int
