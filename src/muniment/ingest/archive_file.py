"""Reads an archive line by line. Whether the lines continue a log is for the log to say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final, NoReturn, cast

from muniment.domain.archive import LINE_BYTES, ArchiveHeader, ArchiveRow
from muniment.domain.codec import VIAS, parse_payload
from muniment.domain.errors import Malformed, NotFound
from muniment.domain.events import Kind
from muniment.ingest.names import visible

_AUDIENCE: Final = re.compile(r"fleet|(?:project|principal):[0-9a-f-]{36}")
_KINDS: Final = frozenset(kind.value for kind in Kind)


class ArchiveReader:
    """An archive that is being read: the header first, then each event. A context manager."""

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
        """Yield each event that its line holds; what only the whole can show comes at the end.

        Raises:
            Malformed: a line is no event, or the content of an event and the redactions do not
                agree; `details` has the line.
        """
        emptied: set[int] = set()
        redacted: set[int] = set()
        number = 1
        while (line := self._line(number + 1)) is not None:
            number += 1
            row = ArchiveRow.from_line(line, number)
            _require_event(row, number)
            if row.payload is None:
                emptied.add(row.pos)
            elif row.kind == Kind.REDACTED:
                redacted.update(cast("dict[str, Any]", json.loads(row.payload))["targets"])
            yield row
        for pos in sorted(emptied ^ redacted):
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


def _require_event(row: ArchiveRow, number: int) -> None:
    """Refuse what the database would, while the line can still be named."""
    if row.kind not in _KINDS or row.via not in VIAS:
        _refuse(number, f"{visible(row.kind)[:40]!r} through {visible(row.via)[:40]!r} is no event")
    if row.audience is not None and not _AUDIENCE.fullmatch(row.audience):
        _refuse(number, "its audience is none")
    if row.payload is None:
        return
    if "\x00" in row.payload:
        _refuse(number, "its payload holds NUL")
    try:
        parse_payload(row.kind, row.payload, row.object_id, row.related_id)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        _refuse(number, f"its payload is not that of {row.kind}")


def _refuse(number: int, why: str) -> NoReturn:
    raise Malformed(
        f"Line {number} of the archive is not as it was written: {why}.",
        code="archive_line",
        next_step="Nothing was imported. Export it again, or use another copy.",
        details={"line": number},
    )
