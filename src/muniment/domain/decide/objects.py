"""Objects: made or found, renamed, given a status, merged and unmerged."""

from __future__ import annotations

from muniment.domain.canonical import Json
from muniment.domain.commands import EnsureObject, Merge, Rename, SetStatus, Unmerge
from muniment.domain.decide import resolve
from muniment.domain.decide.session import Session
from muniment.domain.errors import Refused
from muniment.domain.events import Merged, ObjectRenamed, StatusChanged, Unmerged
from muniment.domain.lifecycle import require_active, require_mergeable, require_transition
from muniment.domain.model import NameKey, ObjectRow, Status
from muniment.domain.outcomes import (
    ALREADY_REVERSED,
    CREATED,
    FOUND,
    MERGED,
    RENAMED,
    STATUS_CHANGED,
    UNCHANGED,
    UNMERGED,
    Outcome,
)
from muniment.domain.text import canonical_name


def ensure(session: Session, command: EnsureObject) -> Outcome:
    """Find the object of this name, or create it; the answer says which."""
    target = resolve.settle(session, command.ref, "name", command.audience, within=True)
    shown = target.as_json()
    if not target.created:
        return Outcome(answer={"outcome": FOUND, "object": shown, "version": target.row.version})
    return Outcome(
        answer={
            "outcome": CREATED,
            "pos": target.row.created_pos,
            "object": shown,
            "version": target.row.version,
        }
    )


def rename(session: Session, command: Rename) -> Outcome:
    """Give an object another name; the former one still leads to it."""
    row = session.state.head(resolve.require(session, command.about, "about"))
    require_active(row, session.known.reasons.get(row.object_id), "about")
    resolve.require_version(row.version, command.expected_version)
    if row.name == command.name:
        return _settled(session, row, UNCHANGED)
    taken = session.state.names.get(NameKey(canonical_name(command.name), row.type, row.audience))
    if taken is not None and taken.object_id != row.object_id:
        raise Refused(
            f"{row.type} {command.name!r} exists already.",
            code="name_taken",
            field="name",
            next_step=f"If both are one thing, merge {row.object_id} into {taken.object_id}.",
        )
    session.emit(
        ObjectRenamed(object_id=row.object_id, name=command.name),
        audience=row.audience,
        reason=command.reason,
    )
    return _settled(session, row, RENAMED)


def set_status(session: Session, command: SetStatus) -> Outcome:
    """Archive, retire, make historical, or restore an object."""
    row = resolve.require(session, command.about, "about")
    resolve.require_version(row.version, command.expected_version)
    if row.status is command.status:
        return _settled(session, row, UNCHANGED)
    require_transition(row, command.status)
    session.emit(
        StatusChanged(object_id=row.object_id, before=row.status, after=command.status),
        audience=row.audience,
        reason=command.reason,
    )
    return _settled(session, row, STATUS_CHANGED)


def merge(session: Session, command: Merge) -> Outcome:
    """Say that two objects are one; the survivor answers for both from now on."""
    loser = resolve.require(session, command.loser, "loser")
    survivor = resolve.require(session, command.survivor, "survivor")
    resolve.require_version(loser.version, command.expected_version)
    require_mergeable(loser, survivor)
    session.emit(
        Merged(object_id=loser.object_id, survivor_id=survivor.object_id),
        audience=loser.audience,
        reason=command.reason,
    )
    return _settled(session, loser, MERGED)


def unmerge(session: Session, command: Unmerge) -> Outcome:
    """Undo a merge, unless a later one rests on it."""
    row = resolve.require(session, command.loser, "loser")
    resolve.require_version(row.version, command.expected_version)
    if row.status is not Status.MERGED or row.merged_into is None:
        return _settled(session, row, ALREADY_REVERSED)
    survivor = session.state.objects[row.merged_into]
    if survivor.status is Status.MERGED:
        blocking = session.state.merged_at[survivor.object_id]
        raise Refused(
            f"{survivor.type} {survivor.name!r} was merged on into {survivor.merged_into} at pos "
            f"{blocking}, and that merge rests on this one.",
            code="merge_rests_on_this",
            field="loser",
            next_step=f"Unmerge {survivor.object_id} first.",
            details={"blocked_by": blocking, "object_id": str(survivor.object_id)},
        )
    session.emit(
        Unmerged(object_id=row.object_id, survivor_id=survivor.object_id),
        audience=row.audience,
        reason=command.reason,
    )
    return _settled(session, row, UNMERGED)


def _settled(session: Session, row: ObjectRow, outcome: str) -> Outcome:
    now = session.state.objects[row.object_id]
    shown = resolve.Target(row=now, named=now).as_json() | {"status": now.status.value}
    if now.merged_into is not None:
        survivor = session.state.head(now)
        shown["merged_into"] = {"id": str(survivor.object_id), "name": survivor.name}
    answer: dict[str, Json] = {"outcome": outcome, "object": shown, "version": now.version}
    if session.emitted:
        answer["pos"] = session.emitted[-1].pos
    return Outcome(answer=answer)
