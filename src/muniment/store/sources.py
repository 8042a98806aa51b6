"""What one source has said, asked by whoever speaks for it before it speaks again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from muniment.domain.identity import Reader
from muniment.store.database import Executor
from muniment.store.statements import load

_SQL = load("sources.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceClaim:
    """A current claim of the source. name: the object's, as shown. value: canonical JSON text."""

    name: str
    property: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSlot:
    """Where a current claim or link of the source stands.

    object_id, name: the object it is about, or that the link leaves from. key: the property or
    the link's type. dst_id: the link's target, None for a claim. evidence: as it was given.
    """

    object_id: UUID
    name: str
    key: str
    dst_id: UUID | None
    evidence: str | None


async def source_claims(
    executor: Executor, reader: Reader, source: str, type_: str, properties: Sequence[str]
) -> list[SourceClaim]:
    """Return what `source` claims today of objects of one type, whatever their status."""
    rows = await executor.fetch(_SQL["claims"], *_eyes(reader), type_, source, list(properties))
    return [SourceClaim(name=row[0], property=row[1], value=row[2]) for row in rows]


async def source_slots(
    executor: Executor, reader: Reader, source: str, types: Sequence[str]
) -> list[SourceSlot]:
    """Return where the claims and links of `source` stand on active objects of some types."""
    claims = await executor.fetch(_SQL["claim_slots"], *_eyes(reader), list(types), source)
    links = await executor.fetch(_SQL["link_slots"], *_eyes(reader), list(types), source)
    return [
        SourceSlot(object_id=row[0], name=row[1], key=row[2], dst_id=None, evidence=row[3])
        for row in claims
    ] + [
        SourceSlot(object_id=row[0], name=row[1], key=row[2], dst_id=row[3], evidence=row[4])
        for row in links
    ]


def _eyes(reader: Reader) -> tuple[UUID, bool, list[str]]:
    return reader.workspace_id, reader.sees_all, sorted(reader.audiences)
