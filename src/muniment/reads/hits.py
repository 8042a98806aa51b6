"""A ranked document as a hit: what was found, who said it, how they knew, and why it is here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from muniment.domain.evidence import CONFIDENCE, EvidenceClass
from muniment.reads import ranking, shown, snippets
from muniment.reads.shown import Shown
from muniment.store.read.recall import NamedHit, RankedRow

PREVIEW_CHARS = 2_000
"""How much of each value the ranking brings along."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A row with the score that orders its page: its own, raised if others corroborate it."""

    row: RankedRow
    score: float

    @property
    def key(self) -> tuple[float, int]:
        return self.score, self.row.doc_pos


def scored(row: RankedRow) -> Scored:
    """Return the row with its confidence as this read finds it."""
    if (
        row.evidence_class is None
        or row.roots < shown.ROOTS_TO_CORROBORATE
        or not row.band
        or CONFIDENCE[shown.CLASSES[row.evidence_class]] >= CONFIDENCE[EvidenceClass.CORROBORATED]
    ):
        return Scored(row=row, score=row.score)
    raised = ranking.weight(CONFIDENCE[EvidenceClass.CORROBORATED]) / row.weight
    return Scored(row=row, score=row.score * raised)


def needs_whole(row: RankedRow, found: re.Pattern[str] | None) -> bool:
    """Say whether the match lies past the part of the value that came along."""
    if row.value is None or row.value_bytes is None or len(row.value) < PREVIEW_CHARS:
        return False
    return found is not None and found.search(snippets.text_of(row.value)) is None


def hit(
    row: RankedRow,
    named: Mapping[UUID, NamedHit],
    found: re.Pattern[str] | None,
    whole_values: Mapping[int, str],
    *,
    flag_closed: bool,
) -> Shown:
    """Return the JSON of one hit."""
    made: Shown = {"object": shown.obj(row.head_id, row.type, row.name)}
    if row.via_name is not None:
        made["via_name"] = row.via_name
    if row.property is not None and row.value is not None:
        made["property"] = row.property
        made |= _value(row, found, whole_values)
        made |= _provenance(row)
        if flag_closed and (row.closed_pos is not None or row.next_pos is not None):
            made |= _closed(row)
    made["routes"] = [*_routes(row, named)]
    return made


def _value(row: RankedRow, found: re.Pattern[str] | None, wholes: Mapping[int, str]) -> Shown:
    value = wholes.get(row.doc_pos, row.value) or ""
    assert row.value_bytes is not None
    if len(value) <= snippets.WHOLE_CHARS + 2:
        return {"value": snippets.whole(value)}
    text = snippets.text_of(value)
    cut: Shown = {"truncated": True, "bytes": row.value_bytes}
    return {"snippet": snippets.snippet(text, found.search(text) if found else None), **cut}


def _provenance(row: RankedRow) -> Shown:
    assert row.source is not None
    assert row.evidence_class is not None
    assert row.band is not None
    assert row.first_observed is not None
    assert row.last_observed is not None
    made: Shown = {"source": row.source}
    made |= shown.standing(row.evidence_class, row.band, row.roots)
    if row.disagree and row.closed_pos is None and row.next_pos is None:
        made["disagreement"] = True
    made["observed"] = shown.observed(row.first_observed, row.last_observed, row.times or 1)
    return made | shown.present(
        {
            "valid": shown.valid(row.valid_from, row.valid_to),
            "evidence": row.evidence,
            "id": str(row.event_id),
            "pos": row.doc_pos,
        }
    )


def _closed(row: RankedRow) -> Shown:
    if row.closing == "retracted":
        return {"retracted": {"pos": row.closed_pos}}
    if row.next_pos is None or row.next_value is None:
        return {"superseded": {}}
    by: Shown = {"id": str(row.next_id), "pos": row.next_pos}
    text = snippets.text_of(row.next_value)
    return {"superseded": {"by": by | {"value": text}}}


def _routes(row: RankedRow, named: Mapping[UUID, NamedHit]) -> Sequence[str]:
    routes: list[str] = []
    if row.property is None and row.object_id in named:
        routes.append(ranking.HOW[named[row.object_id].how][0])
    if row.strict:
        routes.append("strict")
    elif row.textual:
        routes.append("relaxed")
    return routes
