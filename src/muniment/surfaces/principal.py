"""Who acts and who reads: the only place that builds `Actor` and `Reader`, from a credential alone.

A token is looked up at each use and nothing of it is kept: one indexed lookup costs a fraction of
a millisecond, and a token that was revoked, or a principal that may read less than before, is at
once what the database says it is, in every copy of the service.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast
from uuid import UUID, uuid4

from muniment.actions import Actions
from muniment.domain import limits
from muniment.domain.canonical import Json
from muniment.domain.catalog import nearest
from muniment.domain.commands import ChangePrincipal, IssueToken, RevokeToken
from muniment.domain.errors import Malformed, Unauthenticated
from muniment.domain.identity import (
    FLEET,
    OPERATOR_ID,
    SYSTEM_ID,
    Actor,
    Reader,
    Role,
    Via,
    private_audience,
)
from muniment.domain.parse import parse_audience
from muniment.domain.text import display_name, plain_line, require_size
from muniment.store.credentials import find_holder
from muniment.store.database import Database

PREFIX: Final = "mun_"
PRINCIPAL_NAME_BYTES: Final = 100
LONGEST_VALIDITY: Final = timedelta(days=3650)
TOKEN_ROLES: Final = (Role.READER, Role.AGENT, Role.INGESTOR, Role.OPERATOR)
"""Roles that a token can be issued for today; the others come with the review queue."""

_SECRET_BYTES: Final = 32
_TOKEN: Final = re.compile(r"mun_[A-Za-z0-9_-]{43}", re.ASCII)
_OWNED_SOURCE: Final = re.compile(
    r"(?!(?:agent|operator|reader|ingestor|scribe|reviewer|system):)[a-z][a-z0-9_-]*:.+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A caller whose credential was found good: the eyes it reads with, the hand it writes with."""

    actor: Actor

    @property
    def reader(self) -> Reader:
        return self.actor.reader

    @property
    def name(self) -> str:
        return self.actor.reader.name

    @property
    def role(self) -> Role:
        return self.actor.reader.role


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token as it is shown once. `answer`: the flat JSON of what it belongs to."""

    token: str
    token_id: UUID
    expires_at: datetime | None
    answer: dict[str, Json]


def new_token() -> tuple[str, bytes]:
    """Return a token of 256 random bits, and the SHA-256 by which it is known from then on."""
    token = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
    return token, token_hash(token)


def token_hash(token: str) -> bytes:
    """Return the SHA-256 of a token.

    A slow hash would add nothing: there are 256 random bits to guess. Looking the digest up leaks
    no time that helps, since a guess cannot choose its digest.
    """
    return hashlib.sha256(token.encode()).digest()


async def principal_from_token(database: Database, token: str) -> Principal:
    """Return whom the token belongs to.

    Raises:
        Unauthenticated: not a token, unknown, expired or revoked.
        Unavailable: the database does not answer.
    """
    if not _TOKEN.fullmatch(token):
        raise _unauthenticated("The bearer token is not one of muniment's.")
    holder = await find_holder(database, token_hash(token))
    if holder is None:
        raise _unauthenticated("The bearer token is not known here.")
    if holder.revoked:
        raise _unauthenticated("The bearer token was revoked.")
    if holder.expired:
        raise _unauthenticated("The bearer token has expired.")
    return _recorded(
        workspace_id=holder.workspace_id,
        principal_id=holder.principal_id,
        name=holder.name,
        role=Role(holder.role),
        audiences=holder.audiences,
        owned_sources=holder.owned_sources,
        default_audience=holder.default_audience,
    )


def _recorded(
    *,
    workspace_id: UUID,
    principal_id: UUID,
    name: str,
    role: Role,
    audiences: Iterable[str],
    owned_sources: Iterable[str],
    default_audience: str,
) -> Principal:
    """Return a principal as its row tells it, whichever way it came in."""
    reader = Reader(
        workspace_id=workspace_id,
        principal_id=principal_id,
        name=name,
        role=role,
        audiences=frozenset((FLEET, private_audience(principal_id), *audiences)),
        sees_all=role is Role.OPERATOR,
    )
    return Principal(
        actor=Actor(
            reader=reader,
            via=Via.INGEST if role is Role.INGESTOR else Via.MCP,
            source=f"{role}:{name}",
            owned_sources=tuple(owned_sources),
            audience=default_audience,
        )
    )


def local_operator(workspace_id: UUID, via: Via = Via.CONSOLE) -> Principal:
    """Return the operator: whoever can read the home on this machine is trusted with it."""
    return Principal(
        actor=Actor(reader=_local_reader(workspace_id), via=via, source=Role.OPERATOR.value)
    )


def local_ingestor(workspace_id: UUID, source: str, via: Via = Via.INGEST) -> Principal:
    """Return the operator at the ingest door, or at that of imports, speaking for `source`."""
    return Principal(
        actor=Actor(
            reader=_local_reader(workspace_id),
            via=via,
            source=source,
            owned_sources=(source,),
        )
    )


async def local_agent(actions: Actions, workspace_id: UUID, name: str) -> Principal:
    """Return the agent of that name on this machine, which is made when it is not there.

    Raises:
        Malformed: not a name.
        Conflict: the name belongs to a principal of another role.
    """
    change = ChangePrincipal(
        name=require_size(display_name(name), "name", PRINCIPAL_NAME_BYTES),
        role=Role.AGENT,
        audiences=None,
        owned_sources=None,
        default_audience=None,
        reason="An agent on this machine connected over stdio.",
    )
    outcome = await actions.perform(local_operator(workspace_id).actor, change)
    row = cast("dict[str, Any]", outcome.answer["principal"])
    return _recorded(
        workspace_id=workspace_id,
        principal_id=UUID(row["id"]),
        name=row["name"],
        role=Role.AGENT,
        audiences=row["audiences"],
        owned_sources=row["owned_sources"],
        default_audience=row["default_audience"],
    )


def local_system(workspace_id: UUID) -> Principal:
    """Return muniment itself, for housekeeping that no person asked for."""
    return Principal(
        actor=Actor(
            reader=Reader(
                workspace_id=workspace_id,
                principal_id=SYSTEM_ID,
                name=Role.SYSTEM.value,
                role=Role.SYSTEM,
                audiences=frozenset((FLEET, private_audience(SYSTEM_ID))),
                sees_all=True,
            ),
            via=Via.INTERNAL,
            source=Role.SYSTEM.value,
        )
    )


async def create_token(
    actions: Actions,
    actor: Actor,
    *,
    name: str,
    role: str,
    audiences: Iterable[str] | None = None,
    owned_sources: Iterable[str] | None = None,
    default_audience: str | None = None,
    expires_in: timedelta | None = None,
    reason: str = "A token was issued.",
) -> NewToken:
    """Issue a token to the principal of that name, which is made or changed as asked.

    audiences, owned_sources, default_audience: None leaves what a known principal has.
    expires_in: None for a token that does not expire.

    Raises:
        Malformed: an argument that cannot be what it must be.
        CapabilityDenied: the actor is no operator.
        Conflict: the principal exists with another role.
    """
    change = ChangePrincipal(
        name=require_size(display_name(name), "name", PRINCIPAL_NAME_BYTES),
        role=parse_role(role),
        audiences=None if audiences is None else tuple(parse_audience(a) for a in audiences),
        owned_sources=None if owned_sources is None else tuple(map(_owned_source, owned_sources)),
        default_audience=None if default_audience is None else parse_audience(default_audience),
        reason=reason,
    )
    expires_at = None if expires_in is None else _expiry(expires_in)
    await actions.perform(actor, change)
    token, digest = new_token()
    token_id = uuid4()
    outcome = await actions.perform(
        actor,
        IssueToken(
            name=change.name,
            token_id=token_id,
            token_hash=digest,
            expires_at=None if expires_at is None else expires_at.isoformat(),
            reason=reason,
        ),
    )
    return NewToken(
        token=token, token_id=token_id, expires_at=expires_at, answer=dict(outcome.answer)
    )


async def revoke_token(
    actions: Actions,
    actor: Actor,
    *,
    name: str,
    token_id: UUID,
    reason: str = "A token was revoked.",
) -> dict[str, Json]:
    """Make a token void from its next use on, and return the writer's answer.

    Raises:
        CapabilityDenied: the actor is no operator.
        NotFound: there is no such principal.
    """
    outcome = await actions.perform(
        actor, RevokeToken(name=display_name(name), token_id=token_id, reason=reason)
    )
    return dict(outcome.answer)


def parse_role(raw: str) -> Role:
    """Return the role that a token may be issued for.

    Raises:
        Malformed: any other; the error names the nearest.
    """
    allowed = [role.value for role in TOKEN_ROLES]
    if raw in allowed:
        return Role(raw)
    suggestion = nearest(raw, allowed)
    raise Malformed(
        f"No token can be issued for the role {raw[:40]!r}.",
        code="unknown_role",
        field="role",
        next_step=f"Did you mean {suggestion!r}?"
        if suggestion
        else f"Use one of: {', '.join(allowed)}.",
    )


def _local_reader(workspace_id: UUID) -> Reader:
    return Reader(
        workspace_id=workspace_id,
        principal_id=OPERATOR_ID,
        name=Role.OPERATOR.value,
        role=Role.OPERATOR,
        audiences=frozenset((FLEET, private_audience(OPERATOR_ID))),
        sees_all=True,
    )


def _owned_source(raw: str) -> str:
    source = plain_line(raw, "source", limits.SOURCE_BYTES)
    if _OWNED_SOURCE.fullmatch(source):
        return source
    raise Malformed(
        f"{source[:80]!r} cannot be owned.",
        code="bad_source",
        field="source",
        next_step="Name what is read from, such as git:my-repository or file:docs/*; "
        "the sources of agents and operators are their own.",
    )


def _expiry(expires_in: timedelta) -> datetime:
    if timedelta(0) < expires_in <= LONGEST_VALIDITY:
        return datetime.now(UTC) + expires_in
    raise Malformed(
        "A token must expire in the future, within ten years.",
        code="bad_expiry",
        field="expires",
        limit=f"{LONGEST_VALIDITY.days} days",
        next_step="Give a shorter span, or none for a token that does not expire.",
    )


def _unauthenticated(message: str) -> Unauthenticated:
    return Unauthenticated(
        message,
        next_step="Send 'Authorization: Bearer mun_...' with a valid token; an operator issues "
        "one with muniment token create.",
    )
