"""How provenance is shown: the JSON of objects, times, classes and bands. There are no nulls."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from muniment.domain.canonical import Json
from muniment.domain.evidence import CONFIDENCE, Band, EvidenceClass
from muniment.domain.identity import OPERATOR_ID, SYSTEM_ID

Shown = dict[str, Json]

BANDS: Final = {int(band): band.label for band in Band}
CLASSES: Final = {c.value: c for c in EvidenceClass}
_KNOWN_ACTORS: Final = {OPERATOR_ID: "operator", SYSTEM_ID: "muniment"}
ROOTS_TO_CORROBORATE: Final = 2


def time(moment: datetime) -> str:
    """Return an instant in RFC 3339, in UTC with `Z`."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def present(parts: Mapping[str, Json]) -> Shown:
    """Return the parts that say something: no nulls, no empty lists or objects."""
    return {key: part for key, part in parts.items() if part is not None and part not in ([], {})}


def obj(object_id: UUID, type_: str, name: str) -> Shown:
    """Return an object as answers name it."""
    return {"id": str(object_id), "type": type_, "name": name}


def standing(declared: str, band: int, roots: int) -> Shown:
    """Return class, confidence and band of a claim that so many independent roots agree on.

    `corroborated` is what a read finds; it replaces a declared class of less confidence, which is
    then shown beside it. A claim below `observed` is not raised by what others say.
    """
    evidence_class = CLASSES[declared]
    agreed = roots >= ROOTS_TO_CORROBORATE and band >= Band.OBSERVED
    effective = EvidenceClass.CORROBORATED if agreed else evidence_class
    shown: Shown = {}
    if CONFIDENCE[effective] > CONFIDENCE[evidence_class]:
        shown = {"class": effective.value, "declared": declared}
    else:
        effective = evidence_class
        shown = {"class": declared}
    shown["confidence"] = CONFIDENCE[effective]
    shown["band"] = BANDS[band]
    if roots:
        shown["roots"] = roots
    if agreed:
        shown["corroborated"] = True
    return shown


def observed(first: datetime, last: datetime, times: int) -> Shown:
    """Return when a source said so: once, or from first to last."""
    if times == 1:
        return {"last": time(last), "times": 1}
    return {"first": time(first), "last": time(last), "times": times}


def valid(valid_from: str | None, valid_to: str | None) -> Shown:
    """Return the interval that a claim holds for, as it was given."""
    return present({"from": valid_from, "to": valid_to})


def actor(actor_id: UUID, name: str | None) -> str:
    """Return what an actor is called."""
    return _KNOWN_ACTORS.get(actor_id) or name or str(actor_id)
