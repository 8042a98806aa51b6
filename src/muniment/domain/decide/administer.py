"""The operator's acts: redaction, principals, tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from muniment.domain import codec
from muniment.domain.canonical import Json
from muniment.domain.catalog import TYPE_TYPE
from muniment.domain.commands import ChangePrincipal, IssueToken, Redact, RevokeToken
from muniment.domain.decide.resolve import writable_audience
from muniment.domain.decide.session import Logged, Session
from muniment.domain.errors import Conflict, NotFound, Refused
from muniment.domain.events import (
    Kind,
    ObjectCreated,
    ObjectRenamed,
    PrincipalChange,
    PrincipalChanged,
    Redacted,
)
from muniment.domain.model import PrincipalRow
from muniment.domain.outcomes import PRINCIPAL_CHANGED, REDACTED, UNCHANGED, Outcome
from muniment.domain.text import canonical_name

_PERMANENT: Final = frozenset({Kind.REDACTED.value, Kind.PRINCIPAL_CHANGED.value})


def redact(session: Session, command: Redact) -> Outcome:
    """Remove the content of events for good; that they happened stays on record."""
    targets: list[int] = []
    skeletons: list[str] = []
    for pos in sorted(set(command.positions)):
        logged = session.known.logged.get(pos)
        if logged is None:
            raise NotFound(
                f"There is no event at pos {pos}.",
                field="positions",
                next_step="Trace the object: it shows the pos of each event.",
            )
        if logged.event is None:
            continue
        _require_redactable(session, logged)
        _require_names_redacted(session, logged, command.positions)
        targets.append(pos)
        skeletons.append(codec.skeleton(logged.event))
    if not targets:
        return Outcome(answer={"outcome": UNCHANGED, "positions": list(command.positions)})
    at = session.emit(
        Redacted(targets=tuple(targets), skeletons=tuple(skeletons)),
        audience=None,
        reason=command.reason,
    )
    return Outcome(answer={"outcome": REDACTED, "pos": at.pos, "positions": [*targets]})


def change_principal(session: Session, command: ChangePrincipal) -> Outcome:
    """Create a principal, or change what it may read and speak for."""
    known = _principal(session, command.name)
    if known is not None and known.role is not command.role:
        raise Conflict(
            f"{command.name!r} is a {known.role} already.",
            code="principal_role",
            field="role",
            next_step="Choose another name: a principal keeps its role for good.",
        )
    audiences = known.audiences if known else ()
    owned = known.owned_sources if known else ()
    default = known.default_audience if known else "fleet"
    if command.audiences is not None:
        audiences = command.audiences
    if command.owned_sources is not None:
        owned = command.owned_sources
    if command.default_audience is not None:
        default = command.default_audience
    for audience in audiences:
        writable_audience(session, audience)
    change = PrincipalChanged(
        principal_id=known.principal_id if known else session.new_id(),
        change=PrincipalChange.UPDATED if known else PrincipalChange.CREATED,
        name=command.name,
        role=command.role.value,
        audiences=audiences,
        owned_sources=owned,
        default_audience=default,
    )
    same = known is not None and (audiences, owned, default) == (
        known.audiences,
        known.owned_sources,
        known.default_audience,
    )
    if known is not None and same:
        return _about(session, change, UNCHANGED)
    session.emit(change, audience=None, reason=command.reason)
    return _about(session, change, PRINCIPAL_CHANGED)


def issue_token(session: Session, command: IssueToken) -> Outcome:
    """Put on record that a token was issued."""
    row = _require_principal(session, command.name)
    change = _token_change(row, PrincipalChange.TOKEN_ISSUED, command)
    session.emit(change, audience=None, reason=command.reason)
    return _about(session, change, PRINCIPAL_CHANGED)


def revoke_token(session: Session, command: RevokeToken) -> Outcome:
    """Put on record that a token is void."""
    row = _require_principal(session, command.name)
    change = _token_change(row, PrincipalChange.TOKEN_REVOKED, command)
    if session.known.live_tokens.get(command.token_id) != row.principal_id:
        return _about(session, change, UNCHANGED)
    session.emit(change, audience=None, reason=command.reason)
    return _about(session, change, PRINCIPAL_CHANGED)


def _require_redactable(session: Session, logged: Logged) -> None:
    if logged.kind in _PERMANENT:
        raise Refused(
            f"The event at pos {logged.pos} is a {logged.kind} and holds nothing to redact.",
            code="not_redactable",
            field="positions",
            next_step="Name the events that brought the content in.",
        )
    if isinstance(logged.event, ObjectCreated) and logged.event.type == TYPE_TYPE:
        raise Refused(
            f"The event at pos {logged.pos} added a type to the catalog.",
            code="not_redactable",
            field="positions",
            next_step="Objects of the type rest on it. Retire the type if it is out of use.",
        )


def _require_names_redacted(session: Session, logged: Logged, positions: Sequence[int]) -> None:
    """Refuse to take a name that the object still goes by, or that an earlier event gave as well.

    The earlier one would keep it: in its payload, and so in every replay.
    """
    if logged.object_id is None:
        return
    keys = session.state.names_of.get(logged.object_id, ())
    given = next((r for key in keys if (r := session.state.names[key]).pos == logged.pos), None)
    if given is None:
        return
    if given.current:
        raise Refused(
            f"The event at pos {logged.pos} gave the object its present name.",
            code="name_in_use",
            field="positions",
            next_step=f"Rename {logged.object_id} first, then redact.",
        )
    earlier = [
        other.pos
        for other in session.known.logged.values()
        if other.object_id == logged.object_id
        and other.pos < logged.pos
        and other.pos not in positions
        and isinstance(other.event, ObjectCreated | ObjectRenamed)
        and canonical_name(other.event.name or "") == given.key.canonical
    ]
    if earlier:
        raise Refused(
            f"The event at pos {min(earlier)} gave the object the same name before.",
            code="name_given_before",
            field="positions",
            next_step=f"Redact {', '.join(map(str, sorted(earlier)))} in the same call.",
        )


def _token_change(
    row: PrincipalRow, change: PrincipalChange, command: IssueToken | RevokeToken
) -> PrincipalChanged:
    return PrincipalChanged(
        principal_id=row.principal_id,
        change=change,
        name=row.name,
        role=row.role.value,
        audiences=row.audiences,
        owned_sources=row.owned_sources,
        default_audience=row.default_audience,
        token_id=command.token_id,
        expires_at=command.expires_at if isinstance(command, IssueToken) else None,
    )


def _principal(session: Session, name: str) -> PrincipalRow | None:
    return next((p for p in session.state.principals.values() if p.name == name), None)


def _require_principal(session: Session, name: str) -> PrincipalRow:
    row = _principal(session, name)
    if row is None:
        raise NotFound(
            f"There is no principal {name!r}.",
            field="name",
            next_step="List the principals, or create it with token create.",
        )
    return row


def _about(session: Session, change: PrincipalChanged, outcome: str) -> Outcome:
    answer: dict[str, Json] = {
        "outcome": outcome,
        "principal": {
            "id": str(change.principal_id),
            "name": change.name,
            "role": change.role,
            "audiences": [*change.audiences],
            "owned_sources": [*change.owned_sources],
            "default_audience": change.default_audience,
        },
    }
    if change.token_id is not None:
        answer["token_id"] = str(change.token_id)
    if session.emitted:
        answer["pos"] = session.emitted[-1].pos
    return Outcome(answer=answer)
