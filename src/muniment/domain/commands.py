"""What can be asked of the writer. A command is checked when it is made; the writer decides it.

`Ref` names an object by id, or by name with or without its type. Raw input is turned into
commands by `parse.py`, which is the one place where bad input is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from muniment.domain.dates import WorldDate
from muniment.domain.evidence import EvidenceClass
from muniment.domain.identity import Role
from muniment.domain.model import Status
from muniment.domain.value import value


@value
class Ref:
    """An object as a caller names it: by `object_id` or by `name`, with or without its `type`.

    canonical: the looked-up form of `name`.
    """

    object_id: UUID | None = None
    type: str | None = None
    name: str | None = None
    canonical: str | None = None

    def shown(self) -> str:
        """Return the reference for a message."""
        if self.object_id is not None:
            return str(self.object_id)
        return f"{self.type} {self.name!r}" if self.type else repr(self.name)


@value
class Stated:
    """What a caller may say about where a claim or link comes from; all of it is checked.

    source: None for the actor's own. evidence_class: None for the weakest that fits.
    expected_version: pos of the source's current claim, 0 for none; None to not check.
    """

    source: str | None = None
    evidence_class: EvidenceClass | None = None
    evidence: str | None = None
    derived_from: tuple[UUID, ...] = ()
    valid_from: WorldDate | None = None
    valid_to: WorldDate | None = None
    audience: str | None = None
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsureObject:
    """Find the object of this type and name, or create it."""

    ref: Ref
    audience: str | None = None


@value
class ClaimInput:
    """One claim to remember. `value`: canonical JSON text."""

    about: Ref
    property: str
    value: str
    stated: Stated


@value
class LinkInput:
    """One link to make."""

    src: Ref
    type: str
    dst: Ref
    stated: Stated


@value
class Remember:
    """Make claims and links, 1 to 100 in all, together: all of them or none."""

    claims: tuple[ClaimInput, ...] = ()
    links: tuple[LinkInput, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retract:
    """Withdraw one's own claim of a property (`value` picks one of a multi-valued property)."""

    about: Ref
    property: str
    value: str | None
    source: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrelate:
    """Withdraw one's own link."""

    src: Ref
    type: str
    dst: Ref
    source: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rename:
    """Give an object another name; the former one still leads to it."""

    about: Ref
    name: str
    reason: str
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetStatus:
    """Archive, retire, make historical, or restore an object."""

    about: Ref
    status: Status
    reason: str
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Say that `loser` is the same thing as `survivor`."""

    loser: Ref
    survivor: Ref
    reason: str
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmerge:
    """Undo the merge of `loser`."""

    loser: Ref
    reason: str
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redact:
    """Remove the content of the events at `positions` for good."""

    positions: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePrincipal:
    """Create a principal, or change what it may read and speak for. None leaves a part as it is."""

    name: str
    role: Role
    audiences: tuple[str, ...] | None
    owned_sources: tuple[str, ...] | None
    default_audience: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueToken:
    """Record that a token was issued to a principal. `expires_at`: RFC 3339, None for never."""

    name: str
    token_id: UUID
    token_hash: bytes
    expires_at: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeToken:
    """Record that a token is void from now on."""

    name: str
    token_id: UUID
    reason: str


Command: TypeAlias = (
    EnsureObject
    | Remember
    | Retract
    | Unrelate
    | Rename
    | SetStatus
    | Merge
    | Unmerge
    | Redact
    | ChangePrincipal
    | IssueToken
    | RevokeToken
)
