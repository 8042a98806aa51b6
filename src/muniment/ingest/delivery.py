"""Hands commands to the writer in batches and keeps the count of what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast
from uuid import UUID

from muniment.actions import Actions
from muniment.domain import limits
from muniment.domain.commands import ClaimInput, Command, LinkInput, Remember
from muniment.domain.errors import Busy, CapabilityDenied, MunimentError, Refused, Unavailable
from muniment.domain.identity import Actor
from muniment.domain.outcomes import CREATED, FOUND, Outcome
from muniment.ingest.report import Skipped, Tally

Item: TypeAlias = ClaimInput | LinkInput

_BATCH_ITEMS: Final = 2_000
"""Claims and links of one call to the writer: enough to fill its batches, small in memory."""
_BATCH_BYTES: Final = 4 * 1024 * 1024
_STOPPING: Final = (Unavailable, Busy, CapabilityDenied)
"""What no other command of the run would fare better with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One command and what to call it in the report. `line`: where it came from, if in a file."""

    command: Command
    what: str
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A place that a claim or link of the source stands in.

    name: the property or the link's type. dst_id: the link's target, None for a claim.
    """

    object_id: UUID
    name: str
    dst_id: UUID | None = None


def require_owner(actor: Actor, source: str) -> None:
    """Refuse a run whose every claim would be refused.

    Raises:
        Refused: `source_not_owned`, the actor does not speak for `source`.
    """
    if not actor.owns(source):
        raise Refused(
            f"Your credential does not speak for the source {source!r}.",
            code="source_not_owned",
            field="source",
            next_step="Use a credential that owns it: muniment token create --role ingestor "
            f"--source {source}.",
        )


def remembers(items: Iterable[Item]) -> list[Remember]:
    """Return commands that make all `items`, as few as the limit of one call lets them be."""
    listed = list(items)
    return [
        _remember(listed[at : at + limits.CLAIMS_PER_CALL])
        for at in range(0, len(listed), limits.CLAIMS_PER_CALL)
    ]


class Delivery:
    """Collects commands, sends them when a batch is full, and tallies the answers.

    splits: a Remember that is refused is sent again claim by claim, so that a retired file does
    not take down what else its commit says. Without it, a refused command writes nothing at all.
    touched: where claims and links of this run stand, for who asks what is left over.
    failed: what parcels were called of which something was refused.
    """

    def __init__(self, actions: Actions, actor: Actor, *, splits: bool) -> None:
        self._actions = actions
        self._actor = actor
        self._splits = splits
        self._parcels: list[Parcel] = []
        self._items = 0
        self._bytes = 0
        self._created: set[str] = set()
        self.tally = Tally()
        self.touched: set[Slot] = set()
        self.failed: set[str] = set()

    async def add(self, parcel: Parcel) -> None:
        """Take one command, and send the batch if it is full.

        Raises:
            Unavailable, Busy, CapabilityDenied: nothing more can be written now.
        """
        self._parcels.append(parcel)
        if isinstance(parcel.command, Remember):
            self._items += len(parcel.command.claims) + len(parcel.command.links)
            self._bytes += sum(len(claim.value) for claim in parcel.command.claims)
        else:
            self._items += 1
        if self._items >= _BATCH_ITEMS or self._bytes >= _BATCH_BYTES:
            await self.flush()

    async def flush(self) -> None:
        """Send what is left. Raises as `add`."""
        parcels, self._parcels = self._parcels, []
        self._items = self._bytes = 0
        again = await self._send(parcels, self._splits)
        await self._send(again, False)
        self.tally.objects_created = len(self._created)

    async def _send(self, parcels: Sequence[Parcel], splits: bool) -> list[Parcel]:
        """Send parcels and return the refused ones in parts, if that is asked for."""
        again: list[Parcel] = []
        answers = await self._actions.perform_many(
            self._actor, [(parcel.command, None) for parcel in parcels]
        )
        for parcel, answer in zip(parcels, answers, strict=True):
            if isinstance(answer, Outcome):
                self._count(answer)
            else:
                again += self._refused(parcel, answer, splits)
        return again

    def _refused(self, parcel: Parcel, error: MunimentError, splits: bool) -> list[Parcel]:
        if isinstance(error, _STOPPING):
            raise error
        command = parcel.command
        if splits and isinstance(command, Remember):
            parts = [_remember([item]) for item in (*command.claims, *command.links)]
            if len(parts) > 1:
                return [Parcel(command=part, what=parcel.what, line=parcel.line) for part in parts]
        self.failed.add(parcel.what)
        self.tally.refused += 1
        self.tally.skip(Skipped.of(error, parcel.what, parcel.line))
        return []

    def _count(self, outcome: Outcome) -> None:
        results = outcome.answer.get("results")
        if not isinstance(results, list):
            self._count_single(cast("dict[str, object]", outcome.answer))
            return
        for result in results:
            shown = cast("dict[str, dict[str, object]]", result)
            self.tally.count(str(shown["outcome"]))
            ends = [shown[end] for end in ("object", "from", "to") if end in shown]
            for end in ends:
                if "created" in end:
                    self._created.add(str(end["id"]))
            self.touched.add(
                Slot(
                    object_id=_named(ends[0]),
                    name=str(shown["link"] if "link" in shown else shown["property"]),
                    dst_id=_named(ends[1]) if len(ends) > 1 else None,
                )
            )

    def _count_single(self, answer: dict[str, object]) -> None:
        about = answer.get("object")
        if answer["outcome"] == CREATED and isinstance(about, dict):
            self._created.add(str(cast("dict[str, object]", about)["id"]))
        elif answer["outcome"] != FOUND:
            self.tally.count(str(answer["outcome"]))


def _remember(items: Sequence[Item]) -> Remember:
    return Remember(
        claims=tuple(item for item in items if isinstance(item, ClaimInput)),
        links=tuple(item for item in items if isinstance(item, LinkInput)),
    )


def _named(end: dict[str, object]) -> UUID:
    return UUID(str(end["id"]))
