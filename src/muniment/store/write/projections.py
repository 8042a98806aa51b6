"""The projections as tables of tuples: read in key order, emptied, and filled.

Rows have the columns of `COLUMNS`, in that order, without the workspace. `verify` compares them
with a fold, `rebuild` writes a fold's, `dump` prints them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final
from uuid import UUID

from muniment.store.database import Connection
from muniment.store.statements import load

_READ = load("write/projections_read.sql")
_FILL = load("write/projections_fill.sql")
_CHUNK: Final = 2_000

_GROUNDS: Final = (
    "actor_id class rule band root evidence derived_from valid_from valid_to valid_since "
    "valid_until first_observed last_observed times audience"
)
_CLAIM: Final = f"object_id property value_key source head_id pos event_id value digest {_GROUNDS}"
_LINK: Final = f"src_id type dst_id source src_head_id dst_head_id pos event_id {_GROUNDS}"
_CLOSED: Final = "closed_pos closing"

COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    table: tuple(columns.split())
    for table, columns in {
        "objects": "object_id type name canonical status merged_into head_id audience created_by "
        "created_at created_pos version",
        "object_aliases": "canonical type audience object_id name is_current pos",
        "assertions": _CLAIM,
        "assertion_history": f"{_CLAIM} {_CLOSED}",
        "links": _LINK,
        "link_history": f"{_LINK} {_CLOSED}",
        "principals": "principal_id name role audiences owned_sources default_audience version",
        "catalog_types": "name added_pos",
        "search_documents": "doc_pos object_id head_id type property audience head_audience active "
        "closed_pos valid_since valid_until length tokenizer tsv",
    }.items()
}
KEY_WIDTHS: Final = {
    "objects": 1,
    "object_aliases": 3,
    "assertions": 4,
    "assertion_history": 0,
    "links": 4,
    "link_history": 0,
    "principals": 1,
    "catalog_types": 1,
    "search_documents": 1,
}
"""Leading columns that name a row; 0: the pos does."""


def key_of(table: str, row: Sequence[Any]) -> Any:
    """Return what names a row within its table."""
    width = KEY_WIDTHS[table]
    return row[COLUMNS[table].index("pos")] if width == 0 else tuple(row[:width])


async def read_rows(
    connection: Connection, workspace_id: UUID, table: str
) -> AsyncGenerator[list[Sequence[Any]]]:
    """Yield the rows of a projection in key order, in pages. Needs a transaction."""
    cursor = await connection.cursor(_READ[table], workspace_id)
    while page := await cursor.fetch(_CHUNK):
        yield [tuple(row) for row in page]


async def differing_documents(
    connection: Connection, workspace_id: UUID, made: Sequence[tuple[int, str]]
) -> list[int]:
    """Return the positions of documents whose text vector is not the given one."""
    wrong: list[int] = []
    for start in range(0, len(made), _CHUNK):
        positions, vectors = zip(*made[start : start + _CHUNK], strict=True)
        rows = await connection.fetch(
            _READ["differing_documents"], workspace_id, positions, vectors
        )
        wrong.extend(row["doc_pos"] for row in rows)
    return wrong


async def empty_table(connection: Connection, workspace_id: UUID, table: str) -> None:
    """Remove a workspace's rows of a projection."""
    await connection.execute(_FILL[f"empty_{table}"], workspace_id, timeout=3600)


async def fill_table(
    connection: Connection, workspace_id: UUID, table: str, rows: Sequence[Sequence[Any]]
) -> None:
    """Write rows of a projection that is empty."""
    for start in range(0, len(rows), _CHUNK):
        columns = zip(*rows[start : start + _CHUNK], strict=True)
        await connection.execute(_FILL[f"fill_{table}"], workspace_id, *columns, timeout=3600)
