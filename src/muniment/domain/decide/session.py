"""The desk at which one command is decided: what is known, who asks, and the events so far.

A session is deterministic in what it is given. Each emitted event is folded into the state at
once, so that the second claim of a call, and the next command of a batch, see the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from muniment.domain.events import Envelope, Event
from muniment.domain.evidence import Band
from muniment.domain.evolve import evolve
from muniment.domain.identity import Actor
from muniment.domain.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """An event as it stands in the log, for a redaction. `event`: None once redacted."""

    pos: int
    kind: str
    object_id: UUID | None
    audience: str | None
    event: Event | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """What a derived claim rests on: its band, and who may read it."""

    band: Band
    audiences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What was loaded beside the projections, for the commands that need it.

    reasons: why an object has the status that it has. parents: claims by event id.
    logged: events by pos. live_tokens: unrevoked tokens with the principal of each.
    """

    reasons: Mapping[UUID, str] = field(default_factory=dict[UUID, str])
    parents: Mapping[UUID, Parent] = field(default_factory=dict[UUID, Parent])
    logged: Mapping[int, Logged] = field(default_factory=dict[int, Logged])
    live_tokens: Mapping[UUID, UUID] = field(default_factory=dict[UUID, UUID])


@dataclass(slots=True, kw_only=True)
class Session:
    """One command's decision under way.

    now: the database's clock for this batch. new_id: a source of fresh random UUIDs.
    reobserve_after: how old an observation must be before saying it again is an event.
    next_pos: where the next event will stand. emitted: the events so far.
    """

    state: State
    actor: Actor
    now: datetime
    new_id: Callable[[], UUID]
    next_pos: int
    known: Known
    reobserve_after: timedelta = timedelta(hours=24)
    emitted: list[Envelope] = field(default_factory=list[Envelope])

    def emit(self, event: Event, *, audience: str | None, reason: str | None = None) -> Envelope:
        """Append an event to the decision and fold it into the state."""
        envelope = Envelope(
            pos=self.next_pos,
            event_id=self.new_id(),
            actor_id=self.actor.principal_id,
            via=self.actor.via,
            audience=audience,
            recorded_at=self.now,
            reason=reason,
            event=event,
        )
        evolve(self.state, envelope)
        self.emitted.append(envelope)
        self.next_pos += 1
        return envelope
