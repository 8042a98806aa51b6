"""A log in memory: commands are decided and folded as the writer does it, without a database.

What the writer loads from the database is looked up here in the log itself, so each rule of the
domain can be tested by itself, and a state machine can take many thousand steps.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from muniment.domain import codec, parse
from muniment.domain.canonical import Json
from muniment.domain.commands import Command, IssueToken, Remember, RevokeToken
from muniment.domain.decide import Known, Logged, Parent, Session, decide
from muniment.domain.errors import MunimentError
from muniment.domain.events import Envelope, Redacted
from muniment.domain.evolve import fold
from muniment.domain.identity import (
    FLEET,
    OPERATOR_ID,
    Actor,
    Reader,
    Role,
    Via,
    private_audience,
)
from muniment.domain.model import Claim, Status
from muniment.domain.outcomes import Outcome
from muniment.domain.state import State

WORKSPACE = UUID(int=77)
START = datetime(2026, 1, 1, tzinfo=UTC)
DOORS = {
    Role.OPERATOR: Via.CONSOLE,
    Role.INGESTOR: Via.INGEST,
    Role.SYSTEM: Via.INTERNAL,
}


def actor(
    name: str = "alice",
    role: Role = Role.AGENT,
    *,
    via: Via | None = None,
    source: str | None = None,
    owned: tuple[str, ...] = (),
    audience: str = FLEET,
    audiences: tuple[str, ...] = (),
) -> Actor:
    """Make an actor; its id comes from its name. `audience="private"` is its own."""
    principal_id = OPERATOR_ID if role is Role.OPERATOR else UUID(int=Random(name).getrandbits(128))
    own = private_audience(principal_id)
    return Actor(
        reader=Reader(
            workspace_id=WORKSPACE,
            principal_id=principal_id,
            name=name,
            role=role,
            audiences=frozenset({FLEET, own, *audiences}),
            sees_all=role is Role.OPERATOR,
        ),
        via=via or DOORS.get(role, Via.MCP),
        source=source or ("operator" if role is Role.OPERATOR else f"{role.value}:{name}"),
        owned_sources=owned,
        audience=own if audience == "private" else audience,
    )


OPERATOR = actor("operator", Role.OPERATOR)
ALICE = actor("alice")
BOB = actor("bob")


class Desk:
    """Decides commands against a log that it keeps."""

    def __init__(self, *, reobserve_after: timedelta = timedelta(hours=24)) -> None:
        self.state = State(journaled=True)
        self.log: list[Envelope] = []
        self.redacted: dict[int, str] = {}
        self.now = START
        self.tokens: dict[UUID, UUID] = {}
        self._reobserve_after = reobserve_after
        self._random = Random(1)

    def perform(self, actor: Actor, command: Command) -> Outcome:
        """Decide one command and keep its events.

        Raises:
            MunimentError: refused; the state is as it was.
        """
        self.now += timedelta(seconds=1)
        mark = self.state.mark()
        session = Session(
            state=self.state,
            actor=actor,
            now=self.now,
            new_id=lambda: UUID(int=self._random.getrandbits(128)),
            next_pos=len(self.log) + 1,
            known=self._known(),
            reobserve_after=self._reobserve_after,
        )
        try:
            outcome = decide(session, command)
        except MunimentError:
            self.state.roll_back(mark)
            raise
        self.log.extend(session.emitted)
        for envelope in session.emitted:
            self._note(envelope)
        self._note_token(session, command)
        assert self.state.journal is not None
        self.state.journal.clear()
        return outcome

    def replayed(self) -> State:
        """Fold the log as it would be read back: redacted events are their skeletons."""
        return fold(self._read_back(envelope) for envelope in self.log)

    def answer(self, actor: Actor, command: Command) -> dict[str, Json]:
        """Perform and return the answer."""
        return dict(self.perform(actor, command).answer)

    def say(self, actor: Actor, about: str, property: str, value: Json, **stated: Json) -> Json:
        """Make one claim and return its result."""
        return self._single(actor, claim(about, property, value, **stated))

    def relate(self, actor: Actor, src: str, type: str, dst: str, **stated: Json) -> Json:
        """Make one link and return its result."""
        return self._single(actor, link(src, type, dst, **stated))

    def make(self, actor: Actor, type: str, name: str, **more: Json) -> str:
        """Create an object and return its id."""
        command = parse.parse_ensure({"type": type, "name": name} | more)
        made = self.perform(actor, command).answer["object"]
        assert isinstance(made, dict)
        return str(made["id"])

    def _single(self, actor: Actor, command: Remember) -> Json:
        results = self.perform(actor, command).answer["results"]
        assert isinstance(results, list)
        assert len(results) == 1
        return results[0]

    def _known(self) -> Known:
        state = self.state
        rows = [*state.claims.values(), *(shut.row for shut in state.closed.values())]
        return Known(
            reasons={
                row.object_id: reason
                for row in state.objects.values()
                if row.status not in (Status.ACTIVE, Status.MERGED)
                and (reason := self.log[row.version - 1].reason)
            },
            parents={
                row.provenance.event_id: Parent(
                    band=row.provenance.band,
                    audiences=(
                        row.provenance.audience,
                        state.objects[row.key.object_id].audience,
                    ),
                )
                for row in rows
                if isinstance(row, Claim)
            },
            logged={envelope.pos: self._logged(envelope) for envelope in self.log},
            live_tokens=dict(self.tokens),
        )

    def _logged(self, envelope: Envelope) -> Logged:
        return Logged(
            pos=envelope.pos,
            kind=codec.kind_of(envelope.event).value,
            object_id=codec.object_of(envelope.event),
            audience=envelope.audience,
            event=None if envelope.pos in self.redacted else envelope.event,
        )

    def _note(self, envelope: Envelope) -> None:
        event = envelope.event
        if isinstance(event, Redacted):
            self.redacted.update(zip(event.targets, event.skeletons, strict=True))

    def _note_token(self, session: Session, command: Command) -> None:
        if not session.emitted:
            return
        if isinstance(command, IssueToken):
            owner = next(p for p in self.state.principals.values() if p.name == command.name)
            self.tokens[command.token_id] = owner.principal_id
        elif isinstance(command, RevokeToken):
            self.tokens.pop(command.token_id)

    def _read_back(self, envelope: Envelope) -> Envelope:
        event = envelope.event
        payload = self.redacted.get(envelope.pos)
        if payload is None:
            payload = codec.payload_text(event, reason=envelope.reason, salt="s")
        read, reason = codec.parse_payload(
            codec.kind_of(event).value, payload, codec.object_of(event), codec.related_of(event)
        )
        return Envelope(
            pos=envelope.pos,
            event_id=envelope.event_id,
            actor_id=envelope.actor_id,
            via=envelope.via,
            audience=envelope.audience,
            recorded_at=codec.from_micros(codec.micros(envelope.recorded_at)),
            reason=reason,
            event=read,
        )


def claim(about: str, property: str, value: Json, **stated: Json) -> Remember:
    """One claim, as a door would make it; the class is given as `class_`."""
    raw: dict[str, Json] = {"about": about, "property": property, "value": value} | stated
    if "class_" in raw:
        raw["class"] = raw.pop("class_")
    return parse.parse_remember({"claims": [raw]})


def link(src: str, type: str, dst: str, **stated: Json) -> Remember:
    """One link, as a door would make it."""
    raw: dict[str, Json] = {"from": src, "link": type, "to": dst} | stated
    if "class_" in raw:
        raw["class"] = raw.pop("class_")
    return parse.parse_relate(raw)


def same_tables(live: State, replayed: State) -> None:
    """Assert that two states hold the same rows, and find them the same ways."""
    for name in ("objects", "names", "claims", "links", "closed", "principals", "types"):
        assert dict(getattr(live, name)) == dict(getattr(replayed, name)), name
    for name in ("members", "merged_at", "claim_at", "link_at"):
        assert dict(getattr(live, name)) == dict(getattr(replayed, name)), name
    for name in ("names_of", "named", "slots"):
        one, two = (
            {key: frozenset(keys) for key, keys in getattr(state, name).items() if keys}
            for state in (live, replayed)
        )
        assert one == two, name
