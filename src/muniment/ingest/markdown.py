"""`ingest markdown`: documents, their sections and decision records, of the source `file:<root>`.

Each run says everything anew; what is the same answers `unchanged`. What the source said of files
and sections that are no longer there is retracted, with the reason. A file that cannot be read
keeps what was said of it, and the report names it.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

from muniment.actions import Actions
from muniment.domain.commands import Command, Ref, Retract, Unrelate
from muniment.domain.errors import Refused
from muniment.domain.identity import Actor
from muniment.ingest.decision_records import DecisionRecord, decision_record
from muniment.ingest.delivery import Delivery, Item, Parcel, Slot, remembers, require_owner
from muniment.ingest.git import source_name
from muniment.ingest.markdown_claims import MarkdownClaims
from muniment.ingest.markdown_files import Folder, is_covered, open_folder
from muniment.ingest.markdown_outline import outline
from muniment.ingest.names import visible
from muniment.ingest.report import Progress, Report, Skipped
from muniment.store.database import Database
from muniment.store.sources import SourceSlot, source_claims, source_slots

ROOT_TYPES = ("Repository", "Document")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownSource:
    """A folder to be ingested, or one file of it. `source`: what the actor must own."""

    folder: Folder
    name: str

    @property
    def source(self) -> str:
        return f"file:{self.name}"


def markdown_source(path: Path, name: str | None = None) -> MarkdownSource:
    """Return the documents at `path` under `name`, by default that of the folder.

    Raises:
        NotFound: there is nothing at `path`.
        Malformed: `name` is not legal for a root.
    """
    folder = open_folder(path)
    return MarkdownSource(folder=folder, name=source_name(name or folder.root.name))


async def ingest_markdown(
    actions: Actions,
    database: Database,
    actor: Actor,
    documents: MarkdownSource,
    *,
    moved: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Remember what the documents say, and retract what they no longer do.

    actor: must own the documents' source. moved: the folder was ingested from another place
    before, and is the same one. progress: called as files are read.

    Raises:
        Refused: `source_not_owned` by the actor; `source_taken`: another folder has its name.
        Unavailable, Busy, CapabilityDenied: the writer did not take it.
    """
    require_owner(actor, documents.source)
    await _require_same(database, actor, documents, moved)
    run = _Run(actions, database, actor, documents, await _claims(database, actor, documents))
    found = await asyncio.to_thread(lambda: list(documents.folder.files()))
    paths = [entry for entry in found if isinstance(entry, str)]
    for entry in found:
        if isinstance(entry, Skipped):
            run.skip(entry)
    await run.begin()
    for done, path in enumerate(paths):
        if progress is not None:
            progress(done, len(paths))
        await run.document(path)
    await run.finish()
    if progress is not None:
        progress(len(paths), len(paths))
    return run.report()


class _Run:
    """One pass over a folder."""

    def __init__(
        self,
        actions: Actions,
        database: Database,
        actor: Actor,
        documents: MarkdownSource,
        claims: MarkdownClaims,
    ) -> None:
        self._database = database
        self._actor = actor
        self._documents = documents
        self._claims = claims
        self._delivery = Delivery(actions, actor, splits=True)
        self._skipped: list[Skipped] = []
        self._read: set[str] = set()
        self._sections = 0
        self._records: dict[str, DecisionRecord] = {}

    def skip(self, entry: Skipped) -> None:
        self._skipped.append(entry)
        self._delivery.tally.skip(entry)

    async def begin(self) -> None:
        location = self._documents.folder.root.as_uri()
        await self._deliver(self._claims.folder(location), self._documents.name)

    async def document(self, path: str) -> None:
        """Read one file and say what it says."""
        text = await asyncio.to_thread(self._documents.folder.read, path)
        if isinstance(text, Skipped):
            self.skip(text)
            return
        parsed = await asyncio.to_thread(outline, text)
        items = self._claims.document(path, parsed)
        record = decision_record(path, parsed)
        if record is not None:
            items += self._claims.decision(path, parsed, record)
            self._records[path] = record
        self._read.add(visible(path))
        self._sections += len(parsed.sections)
        await self._deliver(items, visible(path))

    async def finish(self) -> None:
        """Link the decisions, and retract what is left over from the last run."""
        for path, record in self._records.items():
            links = self._claims.supersession(path, record, set(self._records))
            await self._deliver(links, visible(path))
        await self._delivery.flush()
        slots = await source_slots(
            self._database.reader,
            self._actor.reader,
            self._documents.source,
            ("Document", "Decision"),
        )
        for slot in slots:
            reason = self._obsolete(slot)
            if reason is not None:
                command = _withdrawal(slot, self._documents.source, reason)
                await self._delivery.add(Parcel(command=command, what=slot.name))
        await self._delivery.flush()

    def report(self) -> Report:
        return Report(
            verb="ingest markdown",
            source=self._documents.source,
            read={
                "documents": len(self._read),
                "sections": self._sections,
                "decisions": len(self._records),
            },
            tally=self._delivery.tally,
        )

    def _obsolete(self, slot: SourceSlot) -> str | None:
        """Return why what stands in `slot` holds no more, or None while it does."""
        place = Slot(object_id=slot.object_id, name=slot.key, dst_id=slot.dst_id)
        prefix = self._claims.evidence("")
        if place in self._delivery.touched or not (slot.evidence or "").startswith(prefix):
            return None
        path = (slot.evidence or "").removeprefix(prefix)
        if path in self._read:
            if path in self._delivery.failed:
                return None
            return f"It is no longer in {path}."[:500]
        if self._documents.folder.only is not None or is_covered(path, self._skipped):
            return None
        return f"The file {path[:400]} is no longer there."

    async def _deliver(self, items: list[Item], what: str) -> None:
        for command in remembers(items):
            await self._delivery.add(Parcel(command=command, what=what))


def _withdrawal(slot: SourceSlot, source: str, reason: str) -> Command:
    about = Ref(object_id=slot.object_id)
    if slot.dst_id is None:
        return Retract(about=about, property=slot.key, value=None, source=source, reason=reason)
    target = Ref(object_id=slot.dst_id)
    return Unrelate(src=about, type=slot.key, dst=target, source=source, reason=reason)


async def _claims(database: Database, actor: Actor, documents: MarkdownSource) -> MarkdownClaims:
    known: dict[str, dict[str, str]] = {}
    for type_ in ("Document", "Decision"):
        rows = await source_claims(database.reader, actor.reader, documents.source, type_, ["path"])
        known[type_] = {row.name: str(json.loads(row.value)) for row in rows}
    repository = await asyncio.to_thread((documents.folder.root / ".git").exists)
    return MarkdownClaims(
        documents.name,
        ROOT_TYPES[0] if repository else ROOT_TYPES[1],
        documents.source,
        known["Document"],
        known["Decision"],
    )


async def _require_same(
    database: Database, actor: Actor, documents: MarkdownSource, moved: bool
) -> None:
    """Refuse to let one folder retract what another of the same name said."""
    here = documents.folder.root.as_uri()
    for root_type in ROOT_TYPES:
        rows = await source_claims(
            database.reader, actor.reader, documents.source, root_type, ["location"]
        )
        for row in rows:
            before = json.loads(row.value)
            if before != here and not moved:
                raise Refused(
                    f"The folder {before} was ingested as {documents.name!r} before.",
                    code="source_taken",
                    field="name",
                    next_step="Give this one a name of its own with --name, or say --moved if it "
                    "is the same one in a new place.",
                )
