"""The lines of an archive: a header, then each event of the log as it is stored, in order.

An archive is the log and nothing else: every projection is a fold of it. A line is canonical JSON
and is accepted only in that form, so that an archive which went in comes out to the byte. Payloads
are the text that was hashed, inside a string; hashes are hex; `recorded_at` is in microseconds
since 1970, since a float or a rounded text would break the chain.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn, cast
from uuid import UUID

from muniment.domain.canonical import Json, canonical_json
from muniment.domain.errors import Malformed

FORMAT: Final = "archive"
VERSION: Final = 1
HASH_BYTES: Final = 32
LINE_BYTES: Final = 4 * 1024 * 1024
"""Longest line that is read: a payload of the largest value, escaped twice, and room around it."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TICK: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveHeader:
    """The first line: what the chain starts from, and where it must end.

    genesis: what the hash of the first event continues (32 bytes).
    pos, hash: the head; pos 0 and the genesis where the log is empty.
    """

    genesis: bytes
    pos: int
    hash: bytes

    def to_line(self) -> str:
        """Return the header as one line, without its line end."""
        return canonical_json(
            {
                "muniment": FORMAT,
                "version": VERSION,
                "genesis": self.genesis.hex(),
                "head": {"pos": self.pos, "hash": self.hash.hex()},
            }
        )

    @staticmethod
    def from_line(line: str) -> ArchiveHeader:
        """Return the header that `line` holds.

        Raises:
            Malformed: not the header of a muniment archive, or of a version not known here.
        """
        fields = _fields(line, 1)
        if fields.get("muniment") != FORMAT:
            _refuse(1, "it does not start with the header of a muniment archive")
        if fields.get("version") != VERSION:
            raise Malformed(
                f"The archive is of version {fields.get('version')!s:.20}; known here: {VERSION}.",
                code="archive_version",
                field="version",
                next_step="Import it with the muniment that wrote it, or a newer one.",
            )
        head = fields.get("head")
        if not isinstance(head, dict):
            _refuse(1, "head is missing")
        header = ArchiveHeader(
            genesis=_hash(fields, "genesis", 1),
            pos=_whole(cast("dict[str, object]", head), "pos", 1),
            hash=_hash(cast("dict[str, object]", head), "hash", 1),
        )
        if header.to_line() != line:
            _refuse(1, "it is not in canonical form")
        return header


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveRow:
    """One event as the log stores it.

    pos: its place, dense from 1. payload: the canonical JSON that `payload_hash` was taken of,
    None once redacted. recorded_at: aware, UTC, to the microsecond. hash: of the chain up to here.
    """

    pos: int
    event_id: UUID
    kind: str
    object_id: UUID | None
    related_id: UUID | None
    actor_id: UUID
    via: str
    audience: str | None
    receipt_id: UUID | None
    recorded_at: datetime
    payload: str | None
    payload_hash: bytes
    hash: bytes

    def to_line(self) -> str:
        """Return the event as one line, without its line end; absent parts are left out."""
        parts: dict[str, Json] = {
            "pos": self.pos,
            "event_id": str(self.event_id),
            "kind": self.kind,
            "actor_id": str(self.actor_id),
            "via": self.via,
            "recorded_at": (self.recorded_at - _EPOCH) // _TICK,
            "payload_hash": self.payload_hash.hex(),
            "hash": self.hash.hex(),
        }
        for name, known in (
            ("object_id", self.object_id),
            ("related_id", self.related_id),
            ("receipt_id", self.receipt_id),
        ):
            if known is not None:
                parts[name] = str(known)
        if self.audience is not None:
            parts["audience"] = self.audience
        if self.payload is not None:
            parts["payload"] = self.payload
        return canonical_json(parts)

    @staticmethod
    def from_line(line: str, number: int) -> ArchiveRow:
        """Return the event that `line` holds; `number` is the line's, for the error.

        Raises:
            Malformed: anything that `to_line` would not have written.
        """
        fields = _fields(line, number)
        row = ArchiveRow(
            pos=_whole(fields, "pos", number),
            event_id=_uuid(fields, "event_id", number),
            kind=_text(fields, "kind", number),
            object_id=_optional_uuid(fields, "object_id", number),
            related_id=_optional_uuid(fields, "related_id", number),
            actor_id=_uuid(fields, "actor_id", number),
            via=_text(fields, "via", number),
            audience=_text(fields, "audience", number) if "audience" in fields else None,
            receipt_id=_optional_uuid(fields, "receipt_id", number),
            recorded_at=_moment(fields, "recorded_at", number),
            payload=_text(fields, "payload", number) if "payload" in fields else None,
            payload_hash=_hash(fields, "payload_hash", number),
            hash=_hash(fields, "hash", number),
        )
        if row.to_line() != line:
            _refuse(number, "it is not in canonical form")
        return row


def _fields(line: str, number: int) -> dict[str, object]:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        _refuse(number, "it is not JSON")
    if not isinstance(value, dict):
        _refuse(number, "it is not a JSON object")
    return cast("dict[str, object]", value)


def _text(fields: dict[str, object], name: str, number: int) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        _refuse(number, f"{name} is missing or not text", name)
    # A surrogate that came escaped would fail in the encoder with no line to name.
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        _refuse(number, f"{name} holds half of a surrogate pair", name)
    return value


def _whole(fields: dict[str, object], name: str, number: int) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        _refuse(number, f"{name} is missing or not a whole number", name)
    return value


def _uuid(fields: dict[str, object], name: str, number: int) -> UUID:
    try:
        return UUID(_text(fields, name, number))
    except ValueError:
        _refuse(number, f"{name} is not a UUID", name)


def _optional_uuid(fields: dict[str, object], name: str, number: int) -> UUID | None:
    return _uuid(fields, name, number) if name in fields else None


def _hash(fields: dict[str, object], name: str, number: int) -> bytes:
    try:
        value = bytes.fromhex(_text(fields, name, number))
    except ValueError:
        value = b""
    if len(value) != HASH_BYTES:
        _refuse(number, f"{name} is not {HASH_BYTES} bytes in hex", name)
    return value


def _moment(fields: dict[str, object], name: str, number: int) -> datetime:
    try:
        return _EPOCH + _whole(fields, name, number) * _TICK
    except OverflowError:
        _refuse(number, f"{name} is past the last year that can be kept", name)


def _refuse(number: int, why: str, field: str | None = None) -> NoReturn:
    raise Malformed(
        f"Line {number} of the archive cannot be read: {why}.",
        code="archive_line",
        field=field,
        next_step="Export the archive again; it was changed or cut since it was written.",
        details={"line": number},
    )
