"""What the writer answers. Each command has one outcome; an error is raised instead of one.

`as_json` is the form that surfaces show and that the idempotency table keeps, so that a retry
gets the same answer. Absent parts are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from muniment.domain.canonical import Json

Answer: TypeAlias = Mapping[str, Json]
"""One command's answer as flat JSON.

Keys that occur: `outcome` (below), `pos` (of the newest event, absent where nothing was written),
`object` ({id, type, name, created?, redirected_from?}), `results` (one per claim, then per link:
{outcome, pos, object, property|link, replaced?: {value, pos}, disagrees?: [{source, value, class,
pos}], note?}), `version`.
"""

CREATED: Final = "created"
FOUND: Final = "found"
ASSERTED: Final = "asserted"
SUPERSEDED: Final = "superseded"
UNCHANGED: Final = "unchanged"
REOBSERVED: Final = "reobserved"
LINKED: Final = "linked"
RETRACTED: Final = "retracted"
UNLINKED: Final = "unlinked"
RENAMED: Final = "renamed"
STATUS_CHANGED: Final = "status_changed"
MERGED: Final = "merged"
UNMERGED: Final = "unmerged"
ALREADY_REVERSED: Final = "already_reversed"
REDACTED: Final = "redacted"
PRINCIPAL_CHANGED: Final = "principal_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An answer, and the positions whose values it quotes (a redaction must find them)."""

    answer: Answer
    quotes: tuple[int, ...] = ()
