"""Find the object that a caller means, with that caller's eyes.

What an actor cannot see is absent: it gets the same answer for both, and may create its own
object of the same name, since names are unique within an audience.
"""

from __future__ import annotations

from dataclasses import dataclass

from muniment.domain import catalog
from muniment.domain.canonical import Json
from muniment.domain.commands import Ref
from muniment.domain.decide.session import Session
from muniment.domain.errors import Conflict, Malformed, NotFound, Refused
from muniment.domain.events import ObjectCreated
from muniment.domain.identity import FLEET, PRIVATE, Capability, private_audience
from muniment.domain.lifecycle import require_active
from muniment.domain.model import NameKey, ObjectRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The object that answers for a reference.

    named: the object that the reference named, which may be merged into `row`.
    created: it did not exist before.
    """

    row: ObjectRow
    named: ObjectRow
    created: bool = False

    def as_json(self) -> dict[str, Json]:
        """Return the object as answers show it."""
        shown: dict[str, Json] = {
            "id": str(self.row.object_id),
            "type": self.row.type,
            "name": self.row.name,
        }
        if self.created:
            shown["created"] = True
        if self.named.object_id != self.row.object_id:
            shown["redirected_from"] = {"id": str(self.named.object_id), "name": self.named.name}
        return shown


def find(session: Session, ref: Ref, audience: str | None = None) -> ObjectRow | None:
    """Return the object that `ref` names (not its head), or None if the actor sees none.

    audience: consider this audience only.

    Raises:
        Malformed: the name fits objects of several types; unknown type, or not the object's.
    """
    state = session.state
    if ref.object_id is not None:
        row = state.objects.get(ref.object_id)
        if row is None or not _visible(session, row):
            return None
        catalog.require_same_type(ref.type, row.type, state.types)
        return row
    wanted = None if ref.type is None else catalog.require_type(ref.type, state.types, field="type")
    keys = [
        key
        for key in state.named.get(ref.canonical or "", ())
        if (wanted is None or key.type == wanted) and (audience is None or key.audience == audience)
    ]
    rows = {key: state.objects[state.names[key].object_id] for key in keys}
    seen = {key: row for key, row in rows.items() if _visible(session, row)}
    if not seen:
        return None
    if len(types := {row.type for row in seen.values()}) > 1:
        raise Malformed(
            f"{ref.name!r} is the name of objects of several types.",
            code="ambiguous_name",
            field="type",
            next_step=f"Give the type: {', '.join(sorted(types))}.",
        )
    return seen[min(seen, key=lambda key: _nearness(session, key))]


def require(session: Session, ref: Ref, field: str) -> ObjectRow:
    """Return the object that `ref` names, of any status.

    Raises:
        NotFound: absent, or hidden from the actor.
    """
    row = find(session, ref)
    if row is None:
        raise NotFound(
            f"There is no {ref.shown()}.",
            field=field,
            next_step="Look it up with recall, or check the spelling.",
        )
    return row


def settle(
    session: Session, ref: Ref, field: str, audience: str | None = None, *, within: bool = False
) -> Target:
    """Return the active object to write to; create it when it has a type and a name.

    audience: who may know of it, if it has to be created; one that is there is preferred.
    within: look in that audience alone.

    Raises:
        NotFound: named by id and not there. Refused: unknown name without a type, or not active.
    """
    row = find(session, ref, _meant(session, audience))
    if row is None and audience is not None and not within:
        row = find(session, ref)
    if row is not None:
        head = session.state.head(row)
        require_active(head, session.known.reasons.get(head.object_id), field)
        return Target(row=head, named=row)
    if ref.object_id is not None:
        require(session, ref, field)
    if ref.type is None:
        raise Refused(
            f"There is no {ref.shown()}.",
            code="unknown_object",
            field=field,
            next_step="Give its type to create it, or look the name up with recall.",
        )
    return _create(session, ref, audience)


def writable_audience(session: Session, asked: str | None) -> str:
    """Return the audience to write under.

    Raises:
        Refused: the actor may not read that audience itself.
    """
    audience = _meant(session, asked) or session.actor.audience
    if session.actor.reader.may_see(audience):
        return audience
    raise Refused(
        "That audience is not one that you may write to.",
        code="audience_denied",
        field="audience",
        next_step="Use fleet, private, or a project that your credential lists.",
    )


def _meant(session: Session, asked: str | None) -> str | None:
    return private_audience(session.actor.principal_id) if asked == PRIVATE else asked


def require_version(actual: int, expected: int | None, field: str = "expected_version") -> None:
    """Refuse an act that was planned on an outdated picture.

    Raises:
        Conflict: with the current version.
    """
    if expected is not None and expected != actual:
        raise Conflict(
            f"The version is {actual}, not {expected}.",
            code="version_conflict",
            field=field,
            next_step="Read it again and decide anew.",
            details={"current": actual},
        )


def _create(session: Session, ref: Ref, asked: str | None) -> Target:
    assert ref.name is not None
    assert ref.type is not None
    type_name = catalog.require_type(ref.type, session.state.types)
    if type_name == catalog.TYPE_TYPE:
        _require_type_maker(session, ref.name)
    audience = FLEET if type_name == catalog.TYPE_TYPE else writable_audience(session, asked)
    object_id = session.new_id()
    session.emit(
        ObjectCreated(object_id=object_id, type=type_name, name=ref.name), audience=audience
    )
    row = session.state.objects[object_id]
    return Target(row=row, named=row, created=True)


def _require_type_maker(session: Session, name: str) -> None:
    if not session.actor.can(Capability.ADMINISTER):
        raise Refused(
            "Only an operator adds types to the catalog.",
            code="catalog_closed",
            field="type",
            next_step="Use a type of the catalog, or ask the operator.",
        )
    catalog.require_type_name(name)
    known = {t.casefold() for t in (*catalog.TYPES, *session.state.types)}
    if name.casefold() in known:
        raise Refused(
            f"The catalog has {name!r} already.",
            code="type_exists",
            field="name",
            next_step="Use it as it is.",
        )


def _visible(session: Session, row: ObjectRow) -> bool:
    reader = session.actor.reader
    return reader.may_see(row.audience) and reader.may_see(session.state.head(row).audience)


def _nearness(session: Session, key: NameKey) -> tuple[int, str]:
    """Order the audiences that hold a name: the actor's default, its own, a project, the fleet."""
    if key.audience == session.actor.audience:
        return 0, key.audience
    if key.audience == private_audience(session.actor.principal_id):
        return 1, key.audience
    return (3 if key.audience == FLEET else 2), key.audience
