"""What one batch writes, table by table, as rows in the order of the statements' parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from muniment.domain.model import PrincipalRow

Rows = list[tuple[Any, ...]]
"""Rows of one table. The widths stand in `commit.py`."""


def _rows() -> Rows:
    return []


@dataclass(slots=True, kw_only=True)
class Credential:
    """A token to be stored by its hash."""

    token_id: UUID
    principal_id: UUID
    token_hash: bytes
    expires_at: datetime | None


@dataclass(slots=True, kw_only=True)
class Delta:
    """One batch's writes.

    before_pos, pos, hash: the head that it was decided on, and the new head. now: the clock.
    events: (pos, event_id, kind, object_id, related_id, actor_id, via, audience, payload,
        payload_hash, hash).
    Rows of `objects`, `names`, `claims`, `links`, `documents` and `retries` are as their columns.
    *_archived: (key..., closed_pos, closing) of loaded rows that move to history as they are.
    *_dropped: keys. *_touched: (key..., times). *_closed: rows both made and closed here.
    documents_closed: (doc_pos, closed_pos).

    What follows is rare, and makes the batch a transaction of several statements:
    moved: (object_id, head_id). restated: heads whose status changed. renamed: objects whose
    names changed. redactions: (pos of the redaction, its targets).
    """

    before_pos: int
    pos: int
    hash: bytes
    now: datetime
    events: Rows = field(default_factory=_rows)
    objects: Rows = field(default_factory=_rows)
    names: Rows = field(default_factory=_rows)
    claims_archived: Rows = field(default_factory=_rows)
    claims_dropped: Rows = field(default_factory=_rows)
    claims_touched: Rows = field(default_factory=_rows)
    claims: Rows = field(default_factory=_rows)
    documents_closed: Rows = field(default_factory=_rows)
    documents: Rows = field(default_factory=_rows)
    retries: Rows = field(default_factory=_rows)
    links_archived: Rows = field(default_factory=_rows)
    links_dropped: Rows = field(default_factory=_rows)
    links_touched: Rows = field(default_factory=_rows)
    links: Rows = field(default_factory=_rows)
    claims_closed: Rows = field(default_factory=_rows)
    links_closed: Rows = field(default_factory=_rows)
    closed_claims_touched: Rows = field(default_factory=_rows)
    closed_links_touched: Rows = field(default_factory=_rows)
    moved: Rows = field(default_factory=_rows)
    restated: set[UUID] = field(default_factory=set[UUID])
    renamed: set[UUID] = field(default_factory=set[UUID])
    names_dropped: Rows = field(default_factory=_rows)
    redactions: list[tuple[int, Sequence[int]]] = field(
        default_factory=list[tuple[int, Sequence[int]]]
    )
    principals: list[PrincipalRow] = field(default_factory=list[PrincipalRow])
    credentials: list[Credential] = field(default_factory=list[Credential])
    revoked: list[UUID] = field(default_factory=list[UUID])
    types: Rows = field(default_factory=_rows)

    @property
    def has_links(self) -> bool:
        return bool(self.links or self.links_archived or self.links_dropped or self.links_touched)

    @property
    def is_simple(self) -> bool:
        """Say whether one statement writes it all."""
        return not (
            self.has_links
            or self.claims_closed
            or self.links_closed
            or self.closed_claims_touched
            or self.closed_links_touched
            or self.moved
            or self.restated
            or self.renamed
            or self.names_dropped
            or self.redactions
            or self.principals
            or self.credentials
            or self.revoked
            or self.types
        )
