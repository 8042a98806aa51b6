"""Write a batch: one compare-and-set statement, and for rarer things more in its transaction."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import orjson

from muniment.domain.tokens import TOKENIZER_VERSION, document, indexed_text, object_document
from muniment.store.database import Connection
from muniment.store.statements import load
from muniment.store.write.delta import Delta, Rows

_COMMIT = load("write/commit.sql")
_AFTER = load("write/after.sql")

_CLAIM_KEY: Final = "object_id property value_key source"
_LINK_KEY: Final = "src_id type dst_id source"
_GROUNDS: Final = (
    "actor_id class rule band root evidence derived_from valid_from valid_to valid_since "
    "valid_until times audience"
)
_CLAIM: Final = f"{_CLAIM_KEY} head_id pos event_id value digest {_GROUNDS}"
_LINK: Final = f"{_LINK_KEY} src_head_id dst_head_id pos event_id {_GROUNDS}"
_CLOSED: Final = "closed_pos closing"

_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    kind: tuple(columns.split())
    for kind, columns in {
        "events": "pos event_id kind object_id related_id actor_id via audience payload "
        "payload_hash hash",
        "objects": "object_id type name canonical status merged_into head_id audience created_by "
        "created_pos version",
        "names": "canonical type audience object_id name is_current pos",
        "claims_archived": f"{_CLAIM_KEY} {_CLOSED}",
        "claims_dropped": _CLAIM_KEY,
        "claims_touched": f"{_CLAIM_KEY} times",
        "claims": _CLAIM,
        "documents_closed": "doc_pos closed_pos",
        "documents": "doc_pos object_id head_id type property audience head_audience closed_pos "
        "valid_since valid_until length tokenizer tsv",
        "retries": "principal_id key request_digest answer quotes",
        "links_archived": f"{_LINK_KEY} {_CLOSED}",
        "links_dropped": _LINK_KEY,
        "links_touched": f"{_LINK_KEY} times",
        "links": _LINK,
        "claims_closed": f"{_CLAIM} {_CLOSED}",
        "links_closed": f"{_LINK} {_CLOSED}",
    }.items()
}
"""Columns of each kind of row, in the order in which `Delta` has them."""


async def commit(connection: Connection, workspace_id: UUID, delta: Delta) -> bool:
    """Write `delta` if the log stands where it was decided; say whether it did.

    All or nothing. False: another process appended first, and nothing was written.

    Raises:
        asyncpg.PostgresError: a row was refused, and nothing was written.
        OSError, asyncpg.InterfaceError: the connection broke; whether it was written is unknown.
    """
    if delta.is_simple:
        return await _commit(connection, workspace_id, delta)
    async with connection.transaction():
        if not await _commit(connection, workspace_id, delta):
            return False
        await _write_links(connection, workspace_id, delta)
        await _write_closed(connection, workspace_id, delta)
        await _move(connection, workspace_id, delta)
        await _redact(connection, workspace_id, delta)
        await _rename(connection, workspace_id, delta)
        await _administer(connection, workspace_id, delta)
    return True


async def _commit(connection: Connection, workspace_id: UUID, delta: Delta) -> bool:
    written = await connection.fetchval(
        _COMMIT["commit"],
        workspace_id,
        delta.before_pos,
        delta.pos,
        delta.hash,
        delta.now,
        _json("events", delta.events),
        _json("objects", delta.objects),
        _json("names", delta.names),
        _json("claims_archived", delta.claims_archived),
        _json("claims_dropped", delta.claims_dropped),
        _json("claims_touched", delta.claims_touched),
        _json("claims", delta.claims),
        _json("documents_closed", delta.documents_closed),
        _json("documents", delta.documents),
        _json("retries", delta.retries),
    )
    return written is not None


async def _write_links(connection: Connection, workspace_id: UUID, delta: Delta) -> None:
    if not delta.has_links:
        return
    await connection.execute(
        _COMMIT["links"],
        workspace_id,
        delta.now,
        _json("links_archived", delta.links_archived),
        _json("links_dropped", delta.links_dropped),
        _json("links_touched", delta.links_touched),
        _json("links", delta.links),
    )


async def _write_closed(connection: Connection, workspace_id: UUID, delta: Delta) -> None:
    for name in ("claims_closed", "links_closed"):
        rows: Rows = getattr(delta, name)
        if rows:
            await connection.execute(_COMMIT[name], workspace_id, delta.now, _json(name, rows))
    for name, rows in (
        ("touch_closed_claims", delta.closed_claims_touched),
        ("touch_closed_links", delta.closed_links_touched),
    ):
        if rows:
            positions, times = zip(*rows, strict=True)
            await connection.execute(_AFTER[name], workspace_id, delta.now, positions, times)


async def _move(connection: Connection, workspace_id: UUID, delta: Delta) -> None:
    if delta.moved:
        objects, heads = zip(*delta.moved, strict=True)
        for name in (
            "move_claims",
            "move_closed_claims",
            "move_links_from",
            "move_links_to",
            "move_closed_links_from",
            "move_closed_links_to",
        ):
            await connection.execute(_AFTER[name], workspace_id, objects, heads)
    if stirred := {row[0] for row in delta.moved} | delta.restated:
        await connection.execute(_AFTER["move_documents"], workspace_id, list(stirred))


async def _redact(connection: Connection, workspace_id: UUID, delta: Delta) -> None:
    if delta.names_dropped:
        columns = zip(*delta.names_dropped, strict=True)
        await connection.execute(_AFTER["drop_names"], workspace_id, *columns)
    for pos, targets in delta.redactions:
        for name in ("redact_claims", "redact_links", "redact_documents", "redact_answers"):
            await connection.execute(_AFTER[name], workspace_id, targets)
        await connection.execute(_AFTER["empty_payloads"], workspace_id, pos)


async def _rename(connection: Connection, workspace_id: UUID, delta: Delta) -> None:
    """Make the documents of renamed objects anew: each holds the object's name."""
    for object_id in delta.renamed:
        names = await connection.fetch(_AFTER["names_of"], workspace_id, object_id)
        if not names:
            continue
        name: str = names[0]["name"]
        made = object_document(row["name"] for row in names)
        rows: Rows = [(names[0]["created_pos"], made.tsv, made.length, TOKENIZER_VERSION)]
        for claim in await connection.fetch(_AFTER["claims_of"], workspace_id, object_id):
            made = document(name, claim["property"], indexed_text(claim["value"]))
            rows.append((claim["pos"], made.tsv, made.length, TOKENIZER_VERSION))
        await connection.execute(
            _AFTER["replace_documents"], workspace_id, *zip(*rows, strict=True)
        )


async def _administer(connection: Connection, workspace_id: UUID, delta: Delta) -> None:
    for row in delta.principals:
        await connection.execute(
            _AFTER["put_principals"],
            workspace_id,
            row.principal_id,
            row.name,
            row.role.value,
            row.audiences,
            row.owned_sources,
            row.default_audience,
            row.version,
        )
    for token in delta.credentials:
        await connection.execute(
            _AFTER["put_credential"],
            workspace_id,
            token.token_id,
            token.principal_id,
            token.token_hash,
            delta.now,
            token.expires_at,
        )
    for token_id in delta.revoked:
        await connection.execute(_AFTER["revoke_credential"], workspace_id, token_id, delta.now)
    for name, pos in delta.types:
        await connection.execute(_AFTER["put_type"], workspace_id, name, pos)


def _json(kind: str, rows: Rows) -> str:
    """Return rows as the JSON array that the statements read."""
    if not rows:
        return "[]"
    columns = _COLUMNS[kind]
    named = [dict(zip(columns, row, strict=True)) for row in rows]
    return orjson.dumps(named, default=_plain).decode()


def _plain(cell: object) -> str:
    """Return as text what orjson does not know: ids of asyncpg's class, and bytes."""
    return f"\\x{cell.hex()}" if isinstance(cell, bytes) else str(cell)
