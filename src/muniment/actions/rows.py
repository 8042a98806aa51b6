"""A folded state as rows of the projections, for comparison and for a rebuild."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final

from muniment.domain.dates import parse_world_date
from muniment.domain.model import Claim, Closed, Link, Provenance, Status
from muniment.domain.state import State
from muniment.domain.tokens import TOKENIZER_VERSION, document, indexed_text, object_document

Row = tuple[Any, ...]


def rows_of(table: str, state: State) -> Iterator[Row]:
    """Yield the rows that `table` must hold, columns as `store.write.projections` has them."""
    return _ROWS[table](state)


def validity(provenance: Provenance) -> tuple[datetime, datetime | None]:
    """Return when a claim starts and ends to hold; an open start is its first observation."""
    since = provenance.first_observed
    until = None
    if provenance.valid_from is not None:
        since = parse_world_date(provenance.valid_from, "valid_from").earliest
    if provenance.valid_to is not None:
        until = parse_world_date(provenance.valid_to, "valid_to").latest
    return since, until


def _objects(state: State) -> Iterator[Row]:
    for row in state.objects.values():
        yield (
            row.object_id,
            row.type,
            row.name,
            row.canonical,
            row.status.value,
            row.merged_into,
            row.head_id,
            row.audience,
            row.created_by,
            row.created_at,
            row.created_pos,
            row.version,
        )


def _names(state: State) -> Iterator[Row]:
    for key, row in state.names.items():
        yield (*key, row.object_id, row.name, row.current, row.pos)


def _claim(state: State, claim: Claim) -> Row:
    key = claim.key
    return (
        key.object_id,
        key.property,
        key.value_key,
        key.source,
        state.objects[key.object_id].head_id,
        claim.pos,
        claim.provenance.event_id,
        claim.value,
        claim.digest,
        *_grounds(claim.provenance),
    )


def _link(state: State, link: Link) -> Row:
    key = link.key
    return (
        *key,
        state.objects[key.src_id].head_id,
        state.objects[key.dst_id].head_id,
        link.pos,
        link.provenance.event_id,
        *_grounds(link.provenance),
    )


def _grounds(provenance: Provenance) -> Row:
    return (
        provenance.actor_id,
        provenance.evidence_class.value,
        provenance.rule,
        int(provenance.band),
        provenance.root,
        provenance.evidence,
        "{" + ",".join(map(str, provenance.derived_from)) + "}",
        provenance.valid_from,
        provenance.valid_to,
        *validity(provenance),
        provenance.first_observed,
        provenance.last_observed,
        provenance.times,
        provenance.audience,
    )


def _closed(state: State, kind: type[Claim] | type[Link]) -> Iterator[Row]:
    for shut in state.closed.values():
        if isinstance(shut.row, kind):
            row = shut.row
            columns = _claim(state, row) if isinstance(row, Claim) else _link(state, row)
            yield (*columns, shut.closed_pos, shut.closing.value)


def _principals(state: State) -> Iterator[Row]:
    for row in state.principals.values():
        yield (
            row.principal_id,
            row.name,
            row.role.value,
            text_array(row.audiences),
            text_array(row.owned_sources),
            row.default_audience,
            row.version,
        )


def _documents(state: State) -> Iterator[Row]:
    for row in state.objects.values():
        names = [state.names[key] for key in state.names_of.get(row.object_id, ())]
        names.sort(key=lambda name: (not name.current, name.pos, name.key.canonical))
        made = object_document([name.name for name in names] or [row.name])
        head = state.head(row)
        yield (
            row.created_pos,
            row.object_id,
            row.head_id,
            row.type,
            None,
            row.audience,
            head.audience,
            head.status is Status.ACTIVE,
            None,
            row.created_at,
            None,
            made.length,
            TOKENIZER_VERSION,
            made.tsv,
        )
    for claim in state.claims.values():
        yield _document(state, claim, None)
    for shut in state.closed.values():
        if isinstance(shut.row, Claim):
            yield _document(state, shut.row, shut)


def _document(state: State, claim: Claim, shut: Closed | None) -> Row:
    row = state.objects[claim.key.object_id]
    head = state.head(row)
    made = document(row.name, claim.key.property, indexed_text(claim.value or ""))
    return (
        claim.pos,
        row.object_id,
        row.head_id,
        row.type,
        claim.key.property,
        claim.provenance.audience,
        head.audience,
        head.status is Status.ACTIVE,
        shut.closed_pos if shut else None,
        *validity(claim.provenance),
        made.length,
        TOKENIZER_VERSION,
        made.tsv,
    )


def text_array(items: tuple[str, ...]) -> str:
    """Return Postgres' text form of a text[] whose items may need quotes."""
    return "{" + ",".join(map(_array_item, items)) + "}"


def _array_item(item: str) -> str:
    plain = item and not set(item) & set('{}",\\ \t\n\r\v\f') and item.upper() != "NULL"
    return item if plain else '"' + item.replace("\\", "\\\\").replace('"', '\\"') + '"'


_ROWS: Final[dict[str, Callable[[State], Iterator[Row]]]] = {
    "objects": _objects,
    "object_aliases": _names,
    "assertions": lambda state: (_claim(state, claim) for claim in state.claims.values()),
    "assertion_history": lambda state: _closed(state, Claim),
    "links": lambda state: (_link(state, link) for link in state.links.values()),
    "link_history": lambda state: _closed(state, Link),
    "principals": _principals,
    "catalog_types": lambda state: iter(list(state.types.items())),
    "search_documents": _documents,
}
