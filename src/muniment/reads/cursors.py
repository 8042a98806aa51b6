"""Cursors: where the next page starts, sealed so that nobody can read, change or borrow one.

A cursor is enciphered and authenticated with the workspace's secret, and bound to the reader and
to the question it belongs to: for another reader or question it is as bad as a forged one. The
same page of the same question gives the same bytes, so a cursor tells nothing by how it changes.

    tag    = HMAC-SHA256(key, "tag" || context || payload)[:16]
    stream = HMAC-SHA256(key, "stream" || tag || 0), HMAC-SHA256(key, "stream" || tag || 1), ...
    cursor = base64url(tag || payload XOR stream)
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import Any, Final

import orjson

from muniment.domain.errors import Malformed
from muniment.domain.identity import Reader

_TAG_BYTES: Final = 16
_BLOCK_BYTES: Final = 32
_CURSOR_CHARS: Final = 8_000

Place = dict[str, Any]
"""Where a page starts, as the read that made it understands it."""


def seal(secret: bytes, reader: Reader, question: bytes, place: Place) -> str:
    """Return the cursor for `place` of the question that this reader asked."""
    payload = orjson.dumps(place)
    tag = _tag(secret, reader, question, payload)
    sealed = base64.urlsafe_b64encode(tag + _crypt(secret, tag, payload))
    return sealed.rstrip(b"=").decode()


def unseal(secret: bytes, reader: Reader, question: bytes, cursor: str) -> Place:
    """Return the place that `seal` was given.

    Raises:
        Malformed: `bad_cursor`, for anything that `seal` did not make for this reader and question.
    """
    try:
        raw = base64.b64decode(
            cursor[:_CURSOR_CHARS].encode() + b"=" * (-len(cursor) % 4), b"-_", validate=True
        )
    except (binascii.Error, ValueError):
        raise _bad() from None
    tag, sealed = raw[:_TAG_BYTES], raw[_TAG_BYTES:]
    payload = _crypt(secret, tag, sealed)
    if len(tag) < _TAG_BYTES or not hmac.compare_digest(
        tag, _tag(secret, reader, question, payload)
    ):
        raise _bad()
    place: Place = orjson.loads(payload)
    return place


def question(kind: str, **arguments: object) -> bytes:
    """Return the digest of what was asked, without how much of it and from where."""
    asked = orjson.dumps([kind, arguments], default=str, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(asked).digest()


def _tag(secret: bytes, reader: Reader, asked: bytes, payload: bytes) -> bytes:
    whose = reader.workspace_id.bytes + reader.principal_id.bytes
    return hmac.digest(secret, b"tag" + whose + asked + payload, "sha256")[:_TAG_BYTES]


def _crypt(secret: bytes, tag: bytes, text: bytes) -> bytes:
    blocks = range(-(-len(text) // _BLOCK_BYTES))
    stream = b"".join(
        hmac.digest(secret, b"stream" + tag + block.to_bytes(4), "sha256") for block in blocks
    )
    return bytes(a ^ b for a, b in zip(text, stream, strict=False))


def _bad() -> Malformed:
    return Malformed(
        "The cursor is not one that this question gave to you.",
        code="bad_cursor",
        field="cursor",
        next_step="Ask again without a cursor, with the arguments as they were.",
    )
