"""The first three parameters of every read: whose eyes it is made with."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from muniment.domain.identity import Reader


class Eyes(NamedTuple):
    """A reader as (workspace, sees each audience, audiences it sees otherwise)."""

    workspace_id: UUID
    every: bool
    audiences: list[str]


def eyes_of(reader: Reader) -> Eyes:
    """Return what the visibility functions need to know of a reader."""
    return Eyes(reader.workspace_id, reader.sees_all, sorted(reader.audiences))
