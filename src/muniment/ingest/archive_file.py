"""Reads an archive line by line and believes none of it until its chain says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NoReturn, cast

from muniment.domain.archive import LINE_BYTES, ArchiveHeader, ArchiveRow
from muniment.domain.codec import header_bytes, link_hash, micros, payload_digest
from muniment.domain.errors import Malformed, NotFound
from muniment.ingest.names import visible


class ArchiveReader:
    """An archive that is being read: the header first, then each event, checked.

    The chain is followed from the genesis to the head, so a line that was changed, removed, added
    or moved is named. Use it as a context manager.
    """

    def __init__(self, path: Path) -> None:
        """Open the archive and read its header.

        Raises:
            NotFound: there is no such file.
            Malformed: it is no archive of a version known here.
        """
        try:
            self._file: IO[bytes] = path.expanduser().open("rb")
        except OSError as error:
            raise NotFound(
                f"{visible(str(path))!r} cannot be read: {error.strerror}.",
                code="no_such_path",
                field="path",
                next_step="Give the file that muniment export wrote.",
            ) from None
        try:
            self.header = ArchiveHeader.from_line(self._line(1) or "")
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> ArchiveReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def rows(self) -> Iterator[ArchiveRow]:
        """Yield each event after it was checked; what only the whole can show comes at the end.

        Raises:
            Malformed: the line at fault is in the message and in `details`.
        """
        previous = self.header.hash if self.header.pos == 0 else self.header.genesis
        if self.header.pos == 0 and self.header.hash != self.header.genesis:
            _refuse(1, "an empty log ends where it starts")
        emptied: dict[int, int] = {}
        redacted: set[int] = set()
        number = 1
        while (line := self._line(number + 1)) is not None:
            number += 1
            row = ArchiveRow.from_line(line, number)
            _check(row, previous, number)
            previous = row.hash
            if row.payload is None:
                emptied[row.pos] = number
            elif row.kind == "redacted":
                redacted.update(_targets(row.payload, number))
            yield row
        if number - 1 != self.header.pos:
            _refuse(number, f"the archive ends at event {number - 1} of {self.header.pos}")
        if previous != self.header.hash:
            _refuse(number, "its hash is not the head's")
        for pos in sorted(emptied.keys() ^ redacted):
            _refuse(pos + 1, "its content is gone and no redaction says so, or the other way round")

    def _line(self, number: int) -> str | None:
        raw = self._file.readline(LINE_BYTES + 1)
        if not raw:
            return None
        if len(raw) > LINE_BYTES:
            _refuse(number, f"it is over {LINE_BYTES} bytes")
        if not raw.endswith(b"\n"):
            _refuse(number, "it is cut off")
        try:
            return raw[:-1].decode("utf-8")
        except UnicodeDecodeError:
            _refuse(number, "it is not UTF-8")


def _check(row: ArchiveRow, previous: bytes, number: int) -> None:
    if row.pos != number - 1:
        _refuse(number, f"it holds event {row.pos} where event {number - 1} belongs")
    if row.payload is not None and payload_digest(row.payload) != row.payload_hash:
        _refuse(number, "its payload is not the one that was hashed")
    header = header_bytes(
        pos=row.pos,
        event_id=row.event_id,
        kind=row.kind,
        object_id=row.object_id,
        related_id=row.related_id,
        actor_id=row.actor_id,
        via=row.via,
        audience=row.audience,
        receipt_id=row.receipt_id,
        recorded_micros=micros(row.recorded_at),
    )
    if link_hash(previous, header, row.payload_hash) != row.hash:
        _refuse(number, "its hash does not continue the chain")


def _targets(payload: str, number: int) -> list[int]:
    try:
        parts = cast("dict[str, Any]", json.loads(payload))
        return [int(target) for target in parts["targets"]]
    except (ValueError, KeyError, TypeError):
        _refuse(number, "its payload is not that of a redaction")


def _refuse(number: int, why: str) -> NoReturn:
    raise Malformed(
        f"Line {number} of the archive is not as it was written: {why}.",
        code="archive_line",
        next_step="Export the archive again; nothing of this one was taken in.",
        details={"line": number},
    )
