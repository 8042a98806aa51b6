"""From a decided batch to what must be written: the journal of the state, read table by table."""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from muniment.domain import codec
from muniment.domain import events as ev
from muniment.domain.dates import parse_world_date
from muniment.domain.events import Envelope
from muniment.domain.model import Claim, ClaimKey, Closed, Link, LinkKey, Provenance
from muniment.domain.state import State
from muniment.domain.tokens import TOKENIZER_VERSION, document, indexed_text, object_document
from muniment.store.write.delta import Delta

_SALT_BYTES: Final = 12


def build_delta(
    state: State,
    envelopes: Sequence[Envelope],
    *,
    before_pos: int,
    before_hash: bytes,
    now: datetime,
    documents: bool = True,
) -> Delta:
    """Return the writes of a batch: its events sealed into the chain, and the rows that changed.

    documents: whether search documents are written along.
    """
    delta = Delta(before_pos=before_pos, pos=before_pos, hash=before_hash, now=now)
    _seal(delta, envelopes)
    _objects(delta, state, documents)
    _names(delta, state)
    _claims(delta, state, documents)
    _links(delta, state)
    delta.principals = [row for _, _, row in state.changed(state.principals) if row is not None]
    delta.types = [(name, pos) for name, _, pos in state.changed(state.types) if pos is not None]
    return delta


def _seal(delta: Delta, envelopes: Sequence[Envelope]) -> None:
    now_micros = codec.micros(delta.now)
    salts = urlsafe_b64encode(os.urandom(_SALT_BYTES * len(envelopes))).decode()
    width = _SALT_BYTES * 4 // 3
    head = delta.hash
    for index, envelope in enumerate(envelopes):
        event = envelope.event
        kind = codec.kind_of(event).value
        object_id = codec.object_of(event)
        related_id = codec.related_of(event)
        salt = salts[index * width : (index + 1) * width]
        payload = codec.payload_text(event, reason=envelope.reason, salt=salt)
        payload_hash = codec.payload_digest(payload)
        header = codec.header_bytes(
            pos=envelope.pos,
            event_id=envelope.event_id,
            kind=kind,
            object_id=object_id,
            related_id=related_id,
            actor_id=envelope.actor_id,
            via=envelope.via.value,
            audience=envelope.audience,
            receipt_id=None,
            recorded_micros=now_micros,
        )
        head = codec.link_hash(head, header, payload_hash)
        delta.events.append(
            (
                envelope.pos,
                envelope.event_id,
                kind,
                object_id,
                related_id,
                envelope.actor_id,
                envelope.via.value,
                envelope.audience,
                payload,
                payload_hash,
                head,
            )
        )
        if isinstance(event, ev.Redacted):
            delta.redactions.append((envelope.pos, event.targets))
    delta.hash = head
    delta.pos += len(envelopes)


def _objects(delta: Delta, state: State, documents: bool) -> None:
    for object_id, before, row in state.changed(state.objects):
        if row is None:
            continue
        delta.objects.append(
            (
                row.object_id,
                row.type,
                row.name,
                row.canonical,
                row.status.value,
                row.merged_into,
                row.head_id,
                row.audience,
                row.created_by,
                row.created_pos,
                row.version,
            )
        )
        if before is not None:
            if before.head_id != row.head_id:
                delta.moved.append((object_id, row.head_id))
            if before.status is not row.status:
                delta.restated.add(object_id)
            if before.name != row.name:
                delta.renamed.add(object_id)
            continue
        if row.head_id != object_id or row.status.value != "active":
            delta.restated.add(object_id)
        if documents:
            made = object_document([row.name])
            delta.documents.append(
                (
                    row.created_pos,
                    object_id,
                    row.head_id,
                    row.type,
                    None,
                    row.audience,
                    row.audience,
                    None,
                    None,
                    None,
                    made.length,
                    TOKENIZER_VERSION,
                    made.tsv,
                )
            )


def _names(delta: Delta, state: State) -> None:
    for key, before, row in state.changed(state.names):
        if row is None:
            delta.names_dropped.append((key.canonical, key.type, key.audience))
            if before is not None:
                delta.renamed.add(before.object_id)
            continue
        delta.names.append((*key, row.object_id, row.name, row.current, row.pos))
        created = state.objects[row.object_id].created_pos
        if row.pos != created or not row.current:
            delta.renamed.add(row.object_id)


def _claims(delta: Delta, state: State, documents: bool) -> None:
    closed = {pos: row for pos, _, row in state.changed(state.closed) if row is not None}
    for key, before, row in state.changed(state.claims):
        if before is not None and (row is None or row.pos != before.pos):
            _claim_gone(delta, key, before, closed.pop(before.pos, None))
        if row is None:
            if before is not None:
                delta.claims_dropped.append(_claim_key(key))
        elif before is not None and row.pos == before.pos:
            delta.claims_touched.append((*_claim_key(key), row.provenance.times))
        else:
            _claim_made(delta, state, row, None, documents)
    for shut in closed.values():
        if isinstance(shut.row, Claim):
            _claim_made(delta, state, shut.row, shut, documents)


def _claim_gone(delta: Delta, key: ClaimKey, before: Claim, shut: Closed | None) -> None:
    """A loaded claim is no longer current: archive it as it stands, unless it was redacted."""
    if shut is None:
        return
    delta.claims_archived.append((*_claim_key(key), shut.closed_pos, shut.closing.value))
    delta.documents_closed.append((before.pos, shut.closed_pos))
    if shut.row.provenance.times != before.provenance.times:
        delta.closed_claims_touched.append((before.pos, shut.row.provenance.times))


def _claim_made(
    delta: Delta, state: State, claim: Claim, shut: Closed | None, documents: bool
) -> None:
    key, provenance = claim.key, claim.provenance
    obj = state.objects[key.object_id]
    since, until = _validity(provenance)
    row = (
        *_claim_key(key),
        obj.head_id,
        provenance.pos,
        provenance.event_id,
        claim.value,
        claim.digest,
        *_grounds(provenance),
        since,
        until,
        provenance.times,
        provenance.audience,
    )
    closed_pos = None
    if shut is None:
        delta.claims.append(row)
    else:
        closed_pos = shut.closed_pos
        delta.claims_closed.append((*row, shut.closed_pos, shut.closing.value))
    if documents and claim.value is not None:
        head = state.head(obj)
        made = document(obj.name, key.property, indexed_text(claim.value))
        delta.documents.append(
            (
                provenance.pos,
                key.object_id,
                obj.head_id,
                obj.type,
                key.property,
                provenance.audience,
                head.audience,
                closed_pos,
                since,
                until,
                made.length,
                TOKENIZER_VERSION,
                made.tsv,
            )
        )


def _links(delta: Delta, state: State) -> None:
    closed = {pos: row for pos, _, row in state.changed(state.closed) if row is not None}
    for key, before, row in state.changed(state.links):
        if before is not None and (row is None or row.pos != before.pos):
            shut = closed.pop(before.pos, None)
            if shut is not None:
                delta.links_archived.append((*key, shut.closed_pos, shut.closing.value))
                if shut.row.provenance.times != before.provenance.times:
                    times = shut.row.provenance.times
                    delta.closed_links_touched.append((before.pos, times))
        if row is None:
            if before is not None:
                delta.links_dropped.append(tuple(key))
        elif before is not None and row.pos == before.pos:
            delta.links_touched.append((*key, row.provenance.times))
        else:
            delta.links.append(_link_row(state, key, row))
    for shut in closed.values():
        if isinstance(shut.row, Link):
            row = _link_row(state, shut.row.key, shut.row)
            delta.links_closed.append((*row, shut.closed_pos, shut.closing.value))


def _link_row(state: State, key: LinkKey, link: Link) -> tuple[Any, ...]:
    provenance = link.provenance
    since, until = _validity(provenance)
    return (
        *key,
        state.objects[key.src_id].head_id,
        state.objects[key.dst_id].head_id,
        provenance.pos,
        provenance.event_id,
        *_grounds(provenance),
        since,
        until,
        provenance.times,
        provenance.audience,
    )


def _grounds(provenance: Provenance) -> tuple[Any, ...]:
    return (
        provenance.actor_id,
        provenance.evidence_class.value,
        provenance.rule,
        int(provenance.band),
        provenance.root,
        provenance.evidence,
        provenance.derived_from,
        provenance.valid_from,
        provenance.valid_to,
    )


def _validity(provenance: Provenance) -> tuple[datetime | None, datetime | None]:
    """Return when the claim starts and ends to hold; a start of None is its first observation."""
    since = until = None
    if provenance.valid_from is not None:
        since = parse_world_date(provenance.valid_from, "valid_from").earliest
    if provenance.valid_to is not None:
        until = parse_world_date(provenance.valid_to, "valid_to").latest
    return since, until


def _claim_key(key: ClaimKey) -> tuple[UUID, str, str, str]:
    return key.object_id, key.property, key.value_key, key.source
