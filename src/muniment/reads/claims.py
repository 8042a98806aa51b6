"""What a group of claims comes to: who agrees, who differs, and which claim answers.

The winner is the claim of highest confidence, corroboration included, then the latest observed,
then the latest. A source speaks with one voice: what it said earlier under a name that was merged
since is superseded by what it said last. What came through an untrusted door is shown and never
answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Final
from uuid import UUID

from muniment.domain.canonical import Json
from muniment.domain.catalog import is_many
from muniment.domain.evidence import CONFIDENCE, Band, EvidenceClass, corroborated, winner_order
from muniment.reads import shown, snippets
from muniment.reads.shown import Shown
from muniment.store.read.lens import ClaimRow

VALUE_CHARS: Final = 2_000
"""Longer values are cut in a lens, with a mark that says how to get the whole."""
HOW_TO_SEE: Final = "trace with this property and limit 1 shows each version whole"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A claim with the class that this read finds for it."""

    row: ClaimRow
    roots: int
    evidence_class: EvidenceClass
    superseded: bool

    @property
    def last_observed(self) -> datetime:
        return self.row.last_observed

    @property
    def pos(self) -> int:
        return self.row.pos


def properties(rows: Iterable[ClaimRow], names: Mapping[UUID, str], head_id: UUID) -> list[Json]:
    """Return claims that come in the order of a dossier, grouped by property.

    names: of the objects that are merged into the head.
    """
    made: list[Json] = []
    for name, group in groupby(rows, key=lambda row: row.property):
        made.append(_property(name, list(group), names, head_id))
    return made


def shown_claim(
    row: ClaimRow,
    roots: int,
    names: Mapping[UUID, str],
    head_id: UUID,
    *,
    whole: bool = False,
) -> Shown:
    """Return the JSON of one claim. whole: the row brought its whole value, and it is shown."""
    made: Shown = {"value": snippets.whole(row.value)} if whole else value(row)
    made["source"] = row.source
    made |= shown.standing(row.evidence_class, row.band, roots)
    made["observed"] = shown.observed(row.first_observed, row.last_observed, row.times)
    made |= shown.present(
        {
            "valid": shown.valid(row.valid_from, row.valid_to),
            "evidence": row.evidence,
            "derived_from": [str(parent) for parent in row.derived_from],
            "via_name": names.get(row.object_id) if row.object_id != head_id else None,
        }
    )
    made["id"] = str(row.event_id)
    made["pos"] = row.pos
    return made


def value(row: ClaimRow) -> Shown:
    """Return a claim's value, or its beginning with a mark when it is long."""
    if len(row.value) < VALUE_CHARS:
        return {"value": snippets.whole(row.value)}
    text = snippets.text_of(row.value)
    return {"value": text, "truncated": True, "bytes": row.value_bytes, "whole": HOW_TO_SEE}


def _property(
    name: str, rows: Sequence[ClaimRow], names: Mapping[UUID, str], head_id: UUID
) -> Shown:
    standings = _standings(rows)
    single = not is_many(name) and all(not row.value_key for row in rows)
    made: Shown = {"property": name}
    winner = _winner(standings) if single else None
    current = [s for s in standings if not s.superseded]
    if single and len({s.row.digest for s in current}) > 1:
        made["disagreement"] = True
    claims: list[Json] = []
    for standing in sorted(current, key=winner_order, reverse=True) + [
        s for s in standings if s.superseded
    ]:
        claim = shown_claim(standing.row, standing.roots, names, head_id)
        if standing is winner:
            claim = {"winner": True} | claim
        if standing.superseded:
            claim["superseded"] = True
        claims.append(claim)
    made["claims"] = claims
    return made


def _standings(rows: Sequence[ClaimRow]) -> list[Standing]:
    newest: dict[tuple[str, str], int] = {}
    for row in rows:
        slot = row.source, row.value_key
        newest[slot] = max(newest.get(slot, 0), row.pos)
    last = [row for row in rows if newest[row.source, row.value_key] == row.pos]
    agreeing: dict[bytes, list[tuple[str, Band]]] = {}
    for row in last:
        agreeing.setdefault(row.digest, []).append((row.root, Band(row.band)))
    made: list[Standing] = []
    for row in rows:
        voices = agreeing.get(row.digest, [])
        superseded = newest[row.source, row.value_key] != row.pos
        evidence_class = shown.CLASSES[row.evidence_class]
        if (
            not superseded
            and row.band >= Band.OBSERVED
            and corroborated(voices)
            and CONFIDENCE[evidence_class] < CONFIDENCE[EvidenceClass.CORROBORATED]
        ):
            evidence_class = EvidenceClass.CORROBORATED
        roots = len({root for root, band in voices if band >= Band.OBSERVED})
        made.append(
            Standing(
                row=row,
                roots=0 if superseded else roots,
                evidence_class=evidence_class,
                superseded=superseded,
            )
        )
    return made


def _winner(standings: Iterable[Standing]) -> Standing | None:
    fit = [s for s in standings if not s.superseded and s.row.band >= Band.OBSERVED]
    return max(fit, key=winner_order, default=None)
