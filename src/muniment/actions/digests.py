"""The digest of a request: the same command gives the same, another one another."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from muniment.domain.commands import Command


def request_digest(command: Command) -> bytes:
    """Return the SHA-256 of a command's name and fields (32 bytes)."""
    fields = orjson.dumps(command, default=_plain)
    return hashlib.sha256(type(command).__name__.encode() + b"\n" + fields).digest()


def _plain(part: Any) -> Any:
    """Return as JSON what orjson does not know: bytes, and ids of other classes."""
    return part.hex() if isinstance(part, bytes) else str(part)
