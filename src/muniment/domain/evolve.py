"""What each event does to the projections: the one definition that writing and replay share.

Deterministic, and total: an event about a row that is gone (its content was redacted) does
nothing. `evolve` decides nothing; whether an event may happen was decided before it was written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never
from uuid import UUID

from muniment.domain import events as ev
from muniment.domain.canonical import digest, value_key
from muniment.domain.catalog import TYPE_TYPE
from muniment.domain.events import Envelope, Grounds
from muniment.domain.identity import FLEET, Role
from muniment.domain.model import (
    Claim,
    ClaimKey,
    Closed,
    Closing,
    Link,
    LinkKey,
    NameKey,
    NameRow,
    ObjectRow,
    PrincipalRow,
    Provenance,
    Status,
)
from muniment.domain.state import State
from muniment.domain.text import canonical_name


def evolve(state: State, envelope: Envelope) -> None:  # noqa: C901 - one case an event
    """Fold one event into `state`."""
    event = envelope.event
    match event:
        case ev.Asserted():
            _asserted(state, envelope, event)
        case ev.Reobserved():
            _reobserved(state, envelope, event.of_pos)
        case ev.ObjectCreated():
            _created(state, envelope, event)
        case ev.Linked():
            _linked(state, envelope, event)
        case ev.Retracted() | ev.Unlinked():
            _close_at(state, event.of_pos, envelope.pos, Closing.RETRACTED)
        case ev.ObjectRenamed():
            _renamed(state, envelope, event)
        case ev.StatusChanged():
            row = state.objects[event.object_id]
            state.objects.put(row.object_id, replace(row, status=event.after, version=envelope.pos))
        case ev.Merged():
            _merged(state, envelope, event)
        case ev.Unmerged():
            _unmerged(state, event)
        case ev.Redacted():
            for target in event.targets:
                _redact(state, target)
        case ev.PrincipalChanged():
            _principal(state, envelope, event)
        case _:
            assert_never(event)


def fold(envelopes: Iterable[Envelope], state: State | None = None) -> State:
    """Return the state after all of `envelopes`, which come in order."""
    state = state if state is not None else State()
    for envelope in envelopes:
        evolve(state, envelope)
    return state


def chain_reaches(state: State, start: UUID, goal: UUID) -> bool:
    """Say whether the merges of `start` lead through `goal`."""
    at: UUID | None = start
    while at is not None:
        if at == goal:
            return True
        at = state.objects[at].merged_into
    return False


def _created(state: State, at: Envelope, event: ev.ObjectCreated) -> None:
    name = event.name or ""
    audience = at.audience or FLEET
    row = ObjectRow(
        object_id=event.object_id,
        type=event.type,
        name=name,
        canonical=canonical_name(name),
        status=Status.ACTIVE,
        merged_into=None,
        head_id=event.object_id,
        audience=audience,
        created_by=at.actor_id,
        created_at=at.recorded_at,
        created_pos=at.pos,
        version=at.pos,
    )
    state.objects.put(row.object_id, row)
    _give_name(state, row, at.pos)
    if row.type == TYPE_TYPE and name:
        state.types.put(name, at.pos)


def _renamed(state: State, at: Envelope, event: ev.ObjectRenamed) -> None:
    row = state.objects[event.object_id]
    former = state.names.get(NameKey(row.canonical, row.type, row.audience))
    if former is not None and former.object_id == row.object_id:
        state.names.put(former.key, replace(former, current=False))
    name = event.name or ""
    row = replace(row, name=name, canonical=canonical_name(name), version=at.pos)
    state.objects.put(row.object_id, row)
    _give_name(state, row, at.pos)


def _give_name(state: State, row: ObjectRow, pos: int) -> None:
    if not row.name:
        return
    key = NameKey(row.canonical, row.type, row.audience)
    state.put_name(NameRow(key=key, object_id=row.object_id, name=row.name, current=True, pos=pos))


def _merged(state: State, at: Envelope, event: ev.Merged) -> None:
    loser, survivor = event.object_id, event.survivor_id
    row = state.objects[loser]
    moving = state.group(loser)
    state.objects.put(loser, replace(row, status=Status.MERGED, merged_into=survivor))
    state.merged_at.put(loser, at.pos)
    for member in moving:
        state.objects.put(member, replace(state.objects[member], head_id=survivor))
    state.members.drop(loser)
    state.members.put(survivor, state.members.get(survivor, frozenset()) | moving)


def _unmerged(state: State, event: ev.Unmerged) -> None:
    loser, survivor = event.object_id, event.survivor_id
    staying = state.members.get(survivor, frozenset())
    moving = frozenset(m for m in staying if chain_reaches(state, m, loser))
    for member in moving:
        state.objects.put(member, replace(state.objects[member], head_id=loser))
    row = state.objects[loser]
    state.objects.put(loser, replace(row, status=Status.ACTIVE, merged_into=None, head_id=loser))
    state.merged_at.drop(loser)
    if rest := staying - moving:
        state.members.put(survivor, rest)
    else:
        state.members.drop(survivor)
    if followers := moving - {loser}:
        state.members.put(loser, followers)


def _asserted(state: State, at: Envelope, event: ev.Asserted) -> None:
    value = event.value
    if event.many and value is None:
        _close_at(state, event.replaces, at.pos, Closing.SUPERSEDED)
        return
    key = ClaimKey(
        event.object_id,
        event.property,
        event.grounds.source,
        value_key(value) if event.many and value is not None else "",
    )
    former = state.claims.get(key)
    if former is not None:
        shut = Closed(row=former, closed_pos=at.pos, closing=Closing.SUPERSEDED)
        state.closed.put(former.pos, shut)
        if value is None:
            state.drop_claim(former)
        else:
            state.claim_at.drop(former.pos)
    if value is None:
        return
    provenance = _provenance(at, event.grounds)
    state.put_claim(Claim(key=key, value=value, digest=digest(value), provenance=provenance))


def _linked(state: State, at: Envelope, event: ev.Linked) -> None:
    if event.grounds is None:
        _close_at(state, event.replaces, at.pos, Closing.SUPERSEDED)
        return
    key = LinkKey(event.object_id, event.type, event.dst_id, event.grounds.source)
    if key in state.links:
        _close_link(state, key, at.pos, Closing.SUPERSEDED)
    state.links.put(key, Link(key=key, provenance=_provenance(at, event.grounds)))
    state.link_at.put(at.pos, key)


def _provenance(at: Envelope, grounds: Grounds) -> Provenance:
    return Provenance(
        pos=at.pos,
        event_id=at.event_id,
        source=grounds.source,
        actor_id=at.actor_id,
        evidence_class=grounds.evidence_class,
        rule=grounds.rule,
        band=grounds.band,
        root=grounds.root,
        evidence=grounds.evidence,
        derived_from=grounds.derived_from,
        valid_from=grounds.valid_from,
        valid_to=grounds.valid_to,
        first_observed=at.recorded_at,
        last_observed=at.recorded_at,
        times=1,
        audience=at.audience or FLEET,
    )


def _reobserved(state: State, at: Envelope, of_pos: int) -> None:
    if (key := state.claim_at.get(of_pos)) is not None:
        claim = state.claims[key]
        state.claims.put(key, replace(claim, provenance=_seen_again(claim.provenance, at)))
    elif (link_key := state.link_at.get(of_pos)) is not None:
        link = state.links[link_key]
        state.links.put(link_key, replace(link, provenance=_seen_again(link.provenance, at)))


def _seen_again(provenance: Provenance, at: Envelope) -> Provenance:
    return replace(provenance, last_observed=at.recorded_at, times=provenance.times + 1)


def _close_at(state: State, of_pos: int | None, pos: int, closing: Closing) -> None:
    if of_pos is None:
        return
    if (key := state.claim_at.get(of_pos)) is not None:
        _close_claim(state, key, pos, closing)
    elif (link_key := state.link_at.get(of_pos)) is not None:
        _close_link(state, link_key, pos, closing)


def _close_claim(state: State, key: ClaimKey, pos: int, closing: Closing) -> None:
    claim = state.claims[key]
    state.closed.put(claim.pos, Closed(row=claim, closed_pos=pos, closing=closing))
    state.drop_claim(claim)


def _close_link(state: State, key: LinkKey, pos: int, closing: Closing) -> None:
    link = state.links[key]
    state.closed.put(link.pos, Closed(row=link, closed_pos=pos, closing=closing))
    state.link_at.drop(link.pos)
    state.links.drop(key)


def _redact(state: State, target: int) -> None:
    """Remove from the projections what the event at `target` brought in.

    In replay its payload is gone and its skeleton was folded in its place: then most of this
    finds nothing left to do.
    """
    if (key := state.claim_at.get(target)) is not None:
        state.drop_claim(state.claims[key])
    if (link_key := state.link_at.get(target)) is not None:
        state.links.drop(link_key)
        state.link_at.drop(target)
    state.closed.drop(target)
    for name in [row for row in state.names.values() if row.pos == target and not row.current]:
        state.drop_name(name)


def _principal(state: State, at: Envelope, event: ev.PrincipalChanged) -> None:
    if event.change in (ev.PrincipalChange.TOKEN_ISSUED, ev.PrincipalChange.TOKEN_REVOKED):
        return
    state.principals.put(
        event.principal_id,
        PrincipalRow(
            principal_id=event.principal_id,
            name=event.name,
            role=Role(event.role),
            audiences=event.audiences,
            owned_sources=event.owned_sources,
            default_audience=event.default_audience,
            version=at.pos,
        ),
    )
