"""How a claim was obtained, who vouched, and which claim answers for a slot.

Three axes with one job each. The evidence class orders (one number); the band admits to a
surface; the status includes. The numbers of `CONFIDENCE` are the only ones: storage and ranking
read this table. `corroborated` is found at read time and never stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Final, Protocol

from muniment.domain.errors import Malformed
from muniment.domain.identity import Actor, Role, Via


class EvidenceClass(StrEnum):
    """How a claim was obtained."""

    SELF_DECLARED = "self_declared"
    AUTHORITATIVE_API = "authoritative_api"
    CORROBORATED = "corroborated"
    DIRECT_OBSERVATION = "direct_observation"
    DERIVED = "derived"
    CO_OCCURRENCE = "co_occurrence"


CONFIDENCE: Final[dict[EvidenceClass, float]] = {
    EvidenceClass.SELF_DECLARED: 0.90,
    EvidenceClass.AUTHORITATIVE_API: 0.85,
    EvidenceClass.CORROBORATED: 0.80,
    EvidenceClass.DIRECT_OBSERVATION: 0.60,
    EvidenceClass.DERIVED: 0.40,
    EvidenceClass.CO_OCCURRENCE: 0.35,
}


class Band(IntEnum):
    """Who vouched and through which door, lowest first, so that `min` is the rule of trust."""

    UNTRUSTED = 0
    OBSERVED = 1
    ELEVATED = 2

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustRule:
    """One row of the enumerated table: a triple and the band that it gives."""

    rule: str
    origin: str
    channel: str
    confirmation: str
    band: Band


TRUST_RULES: Final[dict[str, TrustRule]] = {
    row[0]: TrustRule(rule=row[0], origin=row[1], channel=row[2], confirmation=row[3], band=row[4])
    for row in (
        ("operator_asserted", "operator", "console", "asserted", Band.ELEVATED),
        ("operator_corrected", "operator", "console", "corrected", Band.ELEVATED),
        ("agent_asserted", "agent", "mcp", "asserted", Band.OBSERVED),
        ("ingest_owned", "ingested", "ingest", "owned", Band.OBSERVED),
        ("derived", "derived", "internal", "derived", Band.OBSERVED),
        ("imported", "imported", "import", "recorded", Band.UNTRUSTED),
    )
}
"""Callers never give a band: the door that a claim came through names its rule."""


def trust_rule(actor: Actor) -> TrustRule:
    """Return the rule that an actor's claims fall under.

    Raises:
        Malformed: `provenance_illegal`, for a role and a door that no rule lists.
    """
    match (actor.role, actor.via):
        case (Role.OPERATOR, Via.CONSOLE | Via.MCP):
            name = "operator_asserted"
        case (Role.AGENT, Via.MCP | Via.CONSOLE):
            name = "agent_asserted"
        case (Role.OPERATOR | Role.INGESTOR, Via.INGEST):
            name = "ingest_owned"
        case (Role.OPERATOR, Via.IMPORT):
            name = "imported"
        case (Role.SYSTEM, Via.INTERNAL):
            name = "derived"
        case _:
            raise Malformed(
                f"A {actor.role} may not make claims through {actor.via}.",
                code="provenance_illegal",
                next_step="Use a credential whose role fits the door.",
            )
    return TRUST_RULES[name]


class Rankable(Protocol):
    """What the winner rule needs to know of a claim."""

    @property
    def evidence_class(self) -> EvidenceClass: ...
    @property
    def last_observed(self) -> datetime: ...
    @property
    def pos(self) -> int: ...


def winner_order(claim: Rankable) -> tuple[float, datetime, int]:
    """Return the sort key of the winner rule: confidence, then latest observation, then pos."""
    return CONFIDENCE[claim.evidence_class], claim.last_observed, claim.pos


def corroborated(roots: Iterable[tuple[str, Band]]) -> bool:
    """Say whether two independent roots agree, each of them at least `observed`."""
    return len({root for root, band in roots if band >= Band.OBSERVED}) >= 2


def parse_class(raw: str, field: str = "class") -> EvidenceClass:
    """Return the evidence class that a caller may declare.

    Raises:
        Malformed: unknown, or `corroborated`, which only a read can find.
    """
    allowed = [c.value for c in EvidenceClass if c is not EvidenceClass.CORROBORATED]
    if raw in allowed:
        return EvidenceClass(raw)
    raise Malformed(
        f"{field} {raw[:40]!r} cannot be declared.",
        code="unknown_class",
        field=field,
        next_step=f"Use one of: {', '.join(allowed)}.",
    )
