"""What an object may become, and what stands in the way of a merge.

active ──▶ archived | retired | historical ──▶ active
archived ◀──▶ historical;  archived | historical ──▶ retired
active ──merge──▶ merged ──unmerge──▶ active
"""

from __future__ import annotations

from typing import assert_never

from muniment.domain.errors import Refused
from muniment.domain.model import ObjectRow, Status


def successors(status: Status) -> frozenset[Status]:
    """Return what `set_status` may make of an object in `status`.

    Merging and its reverse are acts of their own: they name a second object.
    """
    match status:
        case Status.ACTIVE:
            return frozenset({Status.ARCHIVED, Status.RETIRED, Status.HISTORICAL})
        case Status.ARCHIVED:
            return frozenset({Status.ACTIVE, Status.RETIRED, Status.HISTORICAL})
        case Status.HISTORICAL:
            return frozenset({Status.ACTIVE, Status.ARCHIVED, Status.RETIRED})
        case Status.RETIRED:
            return frozenset({Status.ACTIVE})
        case Status.MERGED:
            return frozenset()
        case _:
            assert_never(status)


def require_transition(row: ObjectRow, after: Status) -> None:
    """Refuse a change of status that the diagram does not have.

    Raises:
        Refused: with the statuses that are possible.
    """
    if after in successors(row.status):
        return
    if row.status is Status.MERGED:
        raise Refused(
            f"{row.type} {row.name!r} is merged into {row.merged_into}.",
            code="object_merged",
            field="status",
            next_step=f"Unmerge {row.object_id} first, or set the status of {row.merged_into}.",
        )
    possible = ", ".join(sorted(successors(row.status)))
    raise Refused(
        f"{row.type} {row.name!r} is {row.status} and cannot become {after}.",
        code="illegal_transition",
        field="status",
        next_step=f"Possible from here: {possible}. A merge is its own act.",
    )


def require_active(row: ObjectRow, why: str | None, field: str) -> None:
    """Refuse to write to what does not take part, and say how to bring it back.

    why: the reason that the log gives for its status.

    Raises:
        Refused: the object is archived, retired or historical.
    """
    if row.status is Status.ACTIVE:
        return
    raise Refused(
        f"{row.type} {row.name!r} is {row.status}" + (f": {why}" if why else "."),
        code=f"object_{row.status}",
        field=field,
        next_step=f"An operator can restore it: set_status {row.object_id} active.",
        details={"object_id": str(row.object_id), "status": row.status.value},
    )


def require_mergeable(loser: ObjectRow, survivor: ObjectRow) -> None:
    """Refuse a merge that could not be undone cleanly or makes no sense.

    Raises:
        Refused: into itself, across types or audiences, or with one that is not active.
    """
    if loser.object_id == survivor.object_id:
        raise Refused(
            "An object cannot be merged into itself.",
            code="merge_self",
            field="survivor",
            next_step="Name two different objects.",
        )
    if loser.type != survivor.type:
        raise Refused(
            f"A {loser.type} cannot be merged into a {survivor.type}.",
            code="merge_types",
            field="survivor",
            next_step="Merge objects of one type; relate the others with a link.",
        )
    if loser.audience != survivor.audience:
        raise Refused(
            "The two objects have different audiences.",
            code="merge_audiences",
            field="survivor",
            next_step="A merge would show one audience what only the other may know of.",
        )
    for row, field in ((loser, "loser"), (survivor, "survivor")):
        if row.status is not Status.ACTIVE:
            raise Refused(
                f"{row.type} {row.name!r} is {row.status}; only active objects can be merged.",
                code=f"merge_{row.status}",
                field=field,
                next_step=f"Merge into {row.merged_into} instead."
                if row.merged_into
                else f"Restore it first: set_status {row.object_id} active.",
            )
