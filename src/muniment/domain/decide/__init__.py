"""Decide what a command comes to: events and an answer, or a refusal. Pure in its session."""

from __future__ import annotations

from typing import Final, assert_never

from muniment.domain import commands as cmd
from muniment.domain.commands import Command
from muniment.domain.decide import administer, claims, objects
from muniment.domain.decide.session import Known, Logged, Parent, Session
from muniment.domain.errors import CapabilityDenied
from muniment.domain.identity import Capability
from muniment.domain.outcomes import Outcome

__all__ = ["Known", "Logged", "Parent", "Session", "decide", "required_capability"]

_WRITES: Final = (Capability.REMEMBER, Capability.INGEST)


def decide(session: Session, command: Command) -> Outcome:  # noqa: C901 - one case a command
    """Decide one command at `session`; its events are `session.emitted`.

    Raises:
        MunimentError: the command is refused. The caller takes the state back to its mark.
    """
    if not any(session.actor.can(capability) for capability in required_capability(command)):
        raise CapabilityDenied(
            f"The role {session.actor.role} may not {type(command).__name__}.",
            next_step="Use a credential of a role that may.",
        )
    match command:
        case cmd.Remember():
            return claims.remember(session, command)
        case cmd.Retract():
            return claims.retract(session, command)
        case cmd.Unrelate():
            return claims.unrelate(session, command)
        case cmd.EnsureObject():
            return objects.ensure(session, command)
        case cmd.Rename():
            return objects.rename(session, command)
        case cmd.SetStatus():
            return objects.set_status(session, command)
        case cmd.Merge():
            return objects.merge(session, command)
        case cmd.Unmerge():
            return objects.unmerge(session, command)
        case cmd.Redact():
            return administer.redact(session, command)
        case cmd.ChangePrincipal():
            return administer.change_principal(session, command)
        case cmd.IssueToken():
            return administer.issue_token(session, command)
        case cmd.RevokeToken():
            return administer.revoke_token(session, command)
        case _:
            assert_never(command)


def required_capability(command: Command) -> tuple[Capability, ...]:
    """Return the capabilities of which the actor needs one."""
    match command:
        case cmd.Remember() | cmd.Retract() | cmd.Unrelate() | cmd.EnsureObject():
            return _WRITES
        case cmd.Rename() | cmd.SetStatus() | cmd.Merge() | cmd.Unmerge():
            return (Capability.LIFECYCLE,)
        case cmd.Redact() | cmd.ChangePrincipal() | cmd.IssueToken() | cmd.RevokeToken():
            return (Capability.ADMINISTER,)
        case _:
            assert_never(command)
