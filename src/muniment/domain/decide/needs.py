"""What must be loaded before a command can be decided: objects, slots, and rarer things."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

from muniment.domain import commands as cmd
from muniment.domain.canonical import value_key
from muniment.domain.catalog import TYPE_TYPE, TYPES, is_many
from muniment.domain.commands import Command, Ref
from muniment.domain.text import canonical_name

Named: TypeAlias = UUID | str
"""An object by its id, or by a canonical name."""


@dataclass(slots=True, kw_only=True)
class Needs:
    """The union of what a batch touches.

    ids, names: objects, each with the merged group it belongs to.
    slots: (object, property, value key). links: (from, link type, to).
    parents: event ids. positions: events to redact.
    all_names: every name of the objects is needed, not those alone that the batch uses.
    types, principals: whether those tables are needed whole.
    """

    ids: set[UUID] = field(default_factory=set[UUID])
    names: set[str] = field(default_factory=set[str])
    slots: set[tuple[Named, str, str]] = field(default_factory=set[tuple[Named, str, str]])
    links: set[tuple[Named, str, Named]] = field(default_factory=set[tuple[Named, str, Named]])
    parents: set[UUID] = field(default_factory=set[UUID])
    positions: set[int] = field(default_factory=set[int])
    all_names: bool = False
    types: bool = False
    principals: bool = False

    def add(self, command: Command) -> None:  # noqa: C901 - one case a command
        """Add what `command` needs."""
        match command:
            case cmd.Remember():
                for claim in command.claims:
                    self._slot(claim.about, claim.property, claim.value)
                    self.parents.update(claim.stated.derived_from)
                for link in command.links:
                    self._link(link.src, link.type, link.dst)
                    self.parents.update(link.stated.derived_from)
            case cmd.Retract():
                self._slot(command.about, command.property, command.value)
            case cmd.Unrelate():
                self._link(command.src, command.type, command.dst)
            case cmd.EnsureObject():
                self._object(command.ref)
            case cmd.Rename():
                self._object(command.about)
                self.names.add(canonical_name(command.name))
                self.all_names = True
            case cmd.SetStatus():
                self._object(command.about)
            case cmd.Merge():
                self._object(command.loser)
                self._object(command.survivor)
            case cmd.Unmerge():
                self._object(command.loser)
            case cmd.Redact():
                self.positions.update(command.positions)
            case cmd.ChangePrincipal() | cmd.IssueToken() | cmd.RevokeToken():
                self.principals = True

    def _object(self, ref: Ref) -> Named:
        if ref.type is not None and (ref.type not in TYPES or ref.type == TYPE_TYPE):
            self.types = True
        if ref.object_id is not None:
            self.ids.add(ref.object_id)
            return ref.object_id
        name = ref.canonical or ""
        self.names.add(name)
        return name

    def _slot(self, about: Ref, name: str, value: str | None) -> None:
        many = value is not None and is_many(name)
        self.slots.add((self._object(about), name, value_key(value or "") if many else ""))

    def _link(self, src: Ref, link_type: str, dst: Ref) -> None:
        self.links.add((self._object(src), link_type, self._object(dst)))
