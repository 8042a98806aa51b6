"""The fold of the log in memory, whole or in part.

`State` holds the projections as tables of values. The writer loads the part that a batch touches
and keeps a journal: it says what must be written to the database, and it takes a refused command
back without a trace. Verification folds the whole log into a `State` without a journal. Both run
the same `evolve`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

from muniment.domain.model import (
    Claim,
    ClaimKey,
    Closed,
    Link,
    LinkKey,
    NameKey,
    NameRow,
    ObjectRow,
    PrincipalRow,
)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Step(NamedTuple):
    """One change of one row: what stood there before (None: nothing)."""

    table: Table[Any, Any]
    key: Any
    before: Any


class Table(dict[K, V], Generic[K, V]):
    """One projection by key. Read it as a dict; change it by `put` and `drop` alone."""

    __slots__ = ("_journal",)

    def __init__(self, journal: list[Step] | None) -> None:
        super().__init__()
        self._journal = journal

    def put(self, key: K, row: V) -> None:
        """Set the row under `key`."""
        if self._journal is not None:
            self._journal.append(Step(self, key, self.get(key)))
        self[key] = row

    def drop(self, key: K) -> None:
        """Remove the row under `key`, if there is one."""
        if key in self:
            if self._journal is not None:
                self._journal.append(Step(self, key, self[key]))
            del self[key]

    def restore(self, key: K, before: V | None = None) -> None:
        """Set the row back to what stood there before, without a trace."""
        if before is None:
            self.pop(key, None)
        else:
            self[key] = before


class State:
    """Projections as far as they are known.

    objects, names, claims, links, principals: current rows by key.
    slots: keys of the claims that several sources make about one single-valued property.
    claim_at, link_at: the key of the current row that the event at a pos made.
    closed: superseded and retracted rows, by the pos that made them.
    names_of: keys of the names that lead to an object. named: keys that share a canonical name.
    members: for a head, the objects merged into it, directly or not.
    merged_at: for a merged object, the pos of its merge.
    types: types that the operator added, with the pos that did.
    """

    def __init__(self, *, journaled: bool = False) -> None:
        self.journal: list[Step] | None = [] if journaled else None
        self._first: dict[int, dict[Any, Any]] = {}
        self._read_to = 0
        self.objects: Table[UUID, ObjectRow] = Table(self.journal)
        self.names: Table[NameKey, NameRow] = Table(self.journal)
        self.names_of: Table[UUID, tuple[NameKey, ...]] = Table(self.journal)
        self.named: Table[str, frozenset[NameKey]] = Table(self.journal)
        self.members: Table[UUID, frozenset[UUID]] = Table(self.journal)
        self.merged_at: Table[UUID, int] = Table(self.journal)
        self.claims: Table[ClaimKey, Claim] = Table(self.journal)
        self.slots: Table[tuple[UUID, str], tuple[ClaimKey, ...]] = Table(self.journal)
        self.claim_at: Table[int, ClaimKey] = Table(self.journal)
        self.links: Table[LinkKey, Link] = Table(self.journal)
        self.link_at: Table[int, LinkKey] = Table(self.journal)
        self.closed: Table[int, Closed] = Table(self.journal)
        self.principals: Table[UUID, PrincipalRow] = Table(self.journal)
        self.types: Table[str, int] = Table(self.journal)

    def mark(self) -> int:
        """Return a point that `roll_back` can return to."""
        return len(self.journal) if self.journal is not None else 0

    def roll_back(self, mark: int) -> None:
        """Take back every change since `mark`."""
        if self.journal is None:
            return
        while len(self.journal) > mark:
            table, key, before = self.journal.pop()
            table.restore(key, before)

    def changed(self, table: Table[K, V]) -> Iterator[tuple[K, V | None, V | None]]:
        """Yield (key, first row before, row now) for each row of `table` that has changed."""
        for key, before in self._first_steps().get(id(table), {}).items():
            now = table.get(key)
            if now is not before:
                yield key, before, now

    def _first_steps(self) -> dict[int, dict[Any, Any]]:
        """Return, by table, what stood under each key before the journal began."""
        length = len(self.journal or ())
        if self._read_to != length:
            first: dict[int, dict[Any, Any]] = {}
            for table, key, before in self.journal or ():
                first.setdefault(id(table), {}).setdefault(key, before)
            self._first, self._read_to = first, length
        return self._first

    def put_name(self, row: NameRow) -> None:
        """Set a name, and the two ways to find it."""
        self.names.put(row.key, row)
        of_object = self.names_of.get(row.object_id, ())
        if row.key not in of_object:
            self.names_of.put(row.object_id, (*of_object, row.key))
        same = self.named.get(row.key.canonical, frozenset())
        if row.key not in same:
            self.named.put(row.key.canonical, same | {row.key})

    def drop_name(self, row: NameRow) -> None:
        """Remove a name, and the two ways to find it."""
        self.names.drop(row.key)
        of_object = self.names_of.get(row.object_id, ())
        self.names_of.put(row.object_id, tuple(key for key in of_object if key != row.key))
        self.named.put(
            row.key.canonical, self.named.get(row.key.canonical, frozenset()) - {row.key}
        )

    def put_claim(self, claim: Claim) -> None:
        """Set a current claim, and the ways to find it."""
        key = claim.key
        if not key.value_key and key not in self.claims:
            slot = (key.object_id, key.property)
            self.slots.put(slot, (*self.slots.get(slot, ()), key))
        self.claims.put(key, claim)
        self.claim_at.put(claim.pos, key)

    def drop_claim(self, claim: Claim) -> None:
        """Remove a current claim, and the ways to find it."""
        key = claim.key
        if not key.value_key:
            slot = (key.object_id, key.property)
            self.slots.put(slot, tuple(k for k in self.slots.get(slot, ()) if k != key))
        self.claims.drop(key)
        self.claim_at.drop(claim.pos)

    def slot(self, group: frozenset[UUID], name: str) -> list[Claim]:
        """Return the current claims of a single-valued property in a merged group, oldest first."""
        keys = [key for member in group for key in self.slots.get((member, name), ())]
        if len(keys) <= 1:
            return [self.claims[key] for key in keys]
        return sorted((self.claims[key] for key in keys), key=lambda claim: claim.pos)

    def head(self, row: ObjectRow) -> ObjectRow:
        """Return the object that answers for `row` today."""
        return row if row.head_id == row.object_id else self.objects[row.head_id]

    def group(self, head_id: UUID) -> frozenset[UUID]:
        """Return the head with all that is merged into it."""
        return self.members.get(head_id, frozenset()) | {head_id}
