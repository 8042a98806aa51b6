"""What must be loaded before a command can be decided: references, slots, and rarer things."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from muniment.domain import commands as cmd
from muniment.domain.canonical import value_key
from muniment.domain.catalog import TYPES, is_many
from muniment.domain.commands import Command, Ref, Stated
from muniment.domain.text import canonical_name


@dataclass(slots=True, kw_only=True)
class Needs:
    """The union of what a batch touches.

    refs: objects, each with the merged group it belongs to. slots: (object, property, value key).
    links: (from, link type, to). parents: event ids. positions: events to redact.
    types, principals: whether those tables are needed whole.
    """

    refs: set[Ref] = field(default_factory=set[Ref])
    slots: set[tuple[Ref, str, str]] = field(default_factory=set[tuple[Ref, str, str]])
    links: set[tuple[Ref, str, Ref]] = field(default_factory=set[tuple[Ref, str, Ref]])
    parents: set[UUID] = field(default_factory=set[UUID])
    positions: set[int] = field(default_factory=set[int])
    types: bool = False
    principals: bool = False

    def add(self, command: Command) -> None:  # noqa: C901 - one case a command
        """Add what `command` needs."""
        match command:
            case cmd.Remember():
                for claim in command.claims:
                    self._slot(claim.about, claim.property, claim.value)
                    self._stated(claim.stated)
                for link in command.links:
                    self._link(link.src, link.type, link.dst)
                    self._stated(link.stated)
            case cmd.Retract():
                self._slot(command.about, command.property, command.value)
            case cmd.Unrelate():
                self._link(command.src, command.type, command.dst)
            case cmd.EnsureObject():
                self._ref(command.ref)
            case cmd.Rename():
                self._ref(command.about)
                self.refs.add(Ref(name=command.name, canonical=canonical_name(command.name)))
            case cmd.SetStatus():
                self._ref(command.about)
            case cmd.Merge():
                self._ref(command.loser)
                self._ref(command.survivor)
            case cmd.Unmerge():
                self._ref(command.loser)
            case cmd.Redact():
                self.positions.update(command.positions)
            case cmd.ChangePrincipal() | cmd.IssueToken() | cmd.RevokeToken():
                self.principals = True

    def _ref(self, ref: Ref) -> None:
        self.refs.add(ref)
        if (ref.type is not None and ref.type not in TYPES) or ref.type == "Type":
            self.types = True

    def _slot(self, about: Ref, name: str, value: str | None) -> None:
        self._ref(about)
        many = is_many(name)
        self.slots.add((about, name, value_key(value) if many and value is not None else ""))

    def _link(self, src: Ref, link_type: str, dst: Ref) -> None:
        self._ref(src)
        self._ref(dst)
        self.links.add((src, link_type, dst))

    def _stated(self, stated: Stated) -> None:
        self.parents.update(stated.derived_from)
