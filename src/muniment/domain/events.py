"""The closed union of events: a change that is not one of these does not exist.

Each kind is a frozen value with the facts of its payload. `payload_text` gives the canonical JSON
that is stored and hashed, `parse_payload` the value back. Every payload carries a random `salt`,
so that the hash which stays behind after a redaction cannot be matched by guessing, and its
`reason`, so that a redaction takes the reason along.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias
from uuid import UUID

from muniment.domain.evidence import Band, EvidenceClass
from muniment.domain.identity import Via
from muniment.domain.model import Status
from muniment.domain.value import value


class Kind(StrEnum):
    """Names of all events, those of later work included; the database has the same list."""

    OBJECT_CREATED = "object_created"
    OBJECT_RENAMED = "object_renamed"
    STATUS_CHANGED = "status_changed"
    MERGED = "merged"
    UNMERGED = "unmerged"
    ASSERTED = "asserted"
    REOBSERVED = "reobserved"
    RETRACTED = "retracted"
    LINKED = "linked"
    UNLINKED = "unlinked"
    HELD = "held"
    APPROVED = "approved"
    REJECTED = "rejected"
    HOLD_EXPIRED = "hold_expired"
    REJECTION_LIFTED = "rejection_lifted"
    REDACTED = "redacted"
    PRINCIPAL_CHANGED = "principal_changed"
    LEASED = "leased"
    RELEASED = "released"
    ACKNOWLEDGED = "acknowledged"
    SEAT_TAKEN = "seat_taken"


@value
class ObjectCreated:
    """An object came to be, for those whom the envelope's audience holds.

    name: None after a redaction.
    """

    object_id: UUID
    type: str
    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRenamed:
    """An object goes by another name; the former one still leads to it."""

    object_id: UUID
    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChanged:
    """An object takes part, or no longer does."""

    object_id: UUID
    before: Status
    after: Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """`object_id` is the same thing as `survivor_id`, which answers for it from now on."""

    object_id: UUID
    survivor_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmerged:
    """The merge of `object_id` into `survivor_id` is undone."""

    object_id: UUID
    survivor_id: UUID


@value
class Grounds:
    """What a claim or link rests on, as it was decided at the door.

    valid_from, valid_to: as the caller gave them.
    """

    source: str
    evidence_class: EvidenceClass
    rule: str
    band: Band
    root: str
    evidence: str | None = None
    derived_from: tuple[UUID, ...] = ()
    valid_from: str | None = None
    valid_to: str | None = None


@value
class Asserted:
    """A source claims that a property of an object has a value.

    value: canonical JSON text, None after a redaction.
    many: the property holds several values of one source at once.
    replaces: pos of the claim of the same value that it supersedes. Once the value is redacted,
        nothing else tells; for a single-valued property the slot does.
    """

    object_id: UUID
    property: str
    value: str | None
    many: bool
    grounds: Grounds
    replaces: int | None = None


@value
class Reobserved:
    """A source said again what its claim or link at `of_pos` says."""

    object_id: UUID
    of_pos: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Retracted:
    """The claim made at `of_pos` is withdrawn."""

    object_id: UUID
    of_pos: int


@value
class Linked:
    """A source claims a typed edge.

    grounds: None once they, and so the edge, were redacted.
    replaces: pos of the link that it supersedes, which stays superseded then.
    """

    object_id: UUID
    type: str
    dst_id: UUID
    grounds: Grounds | None
    replaces: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlinked:
    """The link made at `of_pos` is withdrawn."""

    object_id: UUID
    dst_id: UUID
    of_pos: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """The content of the events at `targets` is removed.

    skeletons: for each target, the canonical JSON of what a fold still needs of it: that an
    object was made, or a slot taken, without what was in it.
    """

    targets: tuple[int, ...]
    skeletons: tuple[str, ...]


class PrincipalChange(StrEnum):
    """What happened to a principal."""

    CREATED = "created"
    UPDATED = "updated"
    TOKEN_ISSUED = "token_issued"
    TOKEN_REVOKED = "token_revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalChanged:
    """A principal was made or changed, or a token of it issued or revoked.

    token_id, expires_at: of the token, for the two token changes. The token itself and its hash
    are never in the log.
    """

    principal_id: UUID
    change: PrincipalChange
    name: str
    role: str
    audiences: tuple[str, ...] = ()
    owned_sources: tuple[str, ...] = ()
    default_audience: str = "fleet"
    token_id: UUID | None = None
    expires_at: str | None = None


Event: TypeAlias = (
    ObjectCreated
    | ObjectRenamed
    | StatusChanged
    | Merged
    | Unmerged
    | Asserted
    | Reobserved
    | Retracted
    | Linked
    | Unlinked
    | Redacted
    | PrincipalChanged
)


@value
class Envelope:
    """An event with its place in the log.

    pos: dense per workspace. actor_id, via: who and by which door. audience: who may read it,
    beside those who may see its objects; None for the operator alone. recorded_at: the database's
    clock (aware, UTC).
    """

    pos: int
    event_id: UUID
    actor_id: UUID
    via: Via
    audience: str | None
    recorded_at: datetime
    reason: str | None
    event: Event
