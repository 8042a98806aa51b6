"""`export` and `import` of muniment's own archive: the log, chain included, as JSON lines.

An archive is taken in only where it continues what is here: into an empty workspace, or after the
last event that both have. The chain decides that, not the names. It is checked to its end before
the transaction that appends it may commit, so a bad line leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Final

from muniment.actions.maintenance import append_archive
from muniment.domain.archive import ArchiveHeader, ArchiveRow
from muniment.domain.canonical import Json
from muniment.domain.errors import CapabilityDenied, Malformed, NotFound, Refused
from muniment.domain.identity import Actor, Role
from muniment.ingest.archive_file import ArchiveReader
from muniment.ingest.names import visible
from muniment.ingest.report import Progress
from muniment.store.archive import log_view
from muniment.store.database import Database

EXPORTED: Final = "exported"
_CHUNK_ROWS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveReport:
    """What became of an archive.

    outcome: `exported`, `imported` into an empty log, `extended` one, or `already_there`.
    events: how many were written, to the file or to the log. head: of the archive.
    """

    outcome: str
    events: int
    head: ArchiveHeader

    def as_json(self) -> dict[str, Json]:
        """Return the report as JSON."""
        return {
            "outcome": self.outcome,
            "events": self.events,
            "head": {"pos": self.head.pos, "hash": self.head.hash.hex()},
        }


async def export_archive(
    database: Database, actor: Actor, path: Path, *, progress: Progress | None = None
) -> ArchiveReport:
    """Write the whole log of the actor's workspace to `path`, in place of what is there.

    The file appears when it is complete, for its owner's eyes alone: it holds every audience.

    Raises:
        CapabilityDenied: the actor is no operator.
        NotFound: the folder of `path` cannot be written.
    """
    _require_operator(actor)
    path = await asyncio.to_thread(lambda: path.expanduser().absolute())
    async with log_view(database, actor.workspace_id) as view:
        file, name = await asyncio.to_thread(_open_beside, path)
        try:
            file.write(view.header.to_line() + "\n")
            lines: list[str] = []
            async for row in view.rows():
                lines.append(row.to_line() + "\n")
                if len(lines) == _CHUNK_ROWS:
                    await asyncio.to_thread(file.writelines, lines)
                    lines.clear()
                    if progress is not None:
                        progress(row.pos, view.header.pos)
            file.writelines(lines)
            await asyncio.to_thread(_settle, file, name, path)
        finally:
            file.close()
            with suppress(FileNotFoundError):
                os.unlink(name)
    if progress is not None:
        progress(view.header.pos, view.header.pos)
    return ArchiveReport(outcome=EXPORTED, events=view.header.pos, head=view.header)


async def import_archive(
    database: Database, actor: Actor, path: Path, *, progress: Progress | None = None
) -> ArchiveReport:
    """Append what the archive at `path` has beyond the log of the actor's workspace; all or none.

    Raises:
        CapabilityDenied: the actor is no operator.
        NotFound: there is no such file.
        Malformed: a line is not as it was written, or does not continue the chain; it is named.
        Refused: `archive_diverges`, neither the archive nor the log continues the other.
    """
    _require_operator(actor)
    with await asyncio.to_thread(ArchiveReader, path) as archive:
        rows = _rows(archive, progress)
        try:
            done = await append_archive(database, actor.workspace_id, archive.header, rows)
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            raise Malformed(
                f"The archive's events do not fold into a graph: {error!r:.200}.",
                code="archive_damaged",
                field="path",
                next_step="Nothing was imported. Export it again, or use another copy.",
            ) from error
        return ArchiveReport(outcome=done.outcome, events=done.events, head=archive.header)


async def _rows(archive: ArchiveReader, progress: Progress | None) -> AsyncIterator[ArchiveRow]:
    rows = archive.rows()
    while chunk := await asyncio.to_thread(_take, rows):
        for row in chunk:
            yield row
        if progress is not None:
            progress(chunk[-1].pos, archive.header.pos)


def _take(rows: Iterator[ArchiveRow]) -> list[ArchiveRow]:
    return list(islice(rows, _CHUNK_ROWS))


def _require_operator(actor: Actor) -> None:
    if actor.role is not Role.OPERATOR or not actor.reader.sees_all:
        raise CapabilityDenied(
            "An archive holds every audience, so it is for the operator.",
            next_step="Run it as the operator.",
        )


def _open_beside(path: Path) -> tuple[IO[str], str]:
    if path.exists() and not path.is_file():
        # Replacing a device or a pipe would take it away from everyone.
        raise Refused(
            f"{visible(str(path))!r} is not an ordinary file.",
            code="not_a_file",
            field="path",
            next_step="Give the path of a file, new or to be replaced.",
        )
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    except OSError as error:
        raise NotFound(
            f"{visible(str(path.parent))!r} cannot be written: {error.strerror}.",
            code="no_such_path",
            field="path",
            next_step="Give a path in a folder that you may write to.",
        ) from None
    return open(handle, "w", encoding="utf-8", newline="\n"), name


def _settle(file: IO[str], name: str, path: Path) -> None:
    file.flush()
    os.fsync(file.fileno())
    file.close()
    os.replace(name, path)
