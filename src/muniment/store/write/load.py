"""Load the part of the projections that a batch touches, as of one moment of the log.

The head comes with the first statement. Whatever is read after it may be newer; then the head has
moved, the compare-and-set of `commit` finds that out, and the batch is decided anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import asyncpg

from muniment.domain import codec
from muniment.domain.decide import Known, Logged, Parent
from muniment.domain.decide.needs import Named, Needs
from muniment.domain.evidence import Band, EvidenceClass
from muniment.domain.identity import Role
from muniment.domain.model import (
    Claim,
    ClaimKey,
    Link,
    LinkKey,
    NameKey,
    NameRow,
    ObjectRow,
    PrincipalRow,
    Provenance,
    Status,
)
from muniment.domain.state import State
from muniment.store.database import Connection
from muniment.store.statements import load

_SQL = load("write/load.sql")
_CLASSES: Final = {c.value: c for c in EvidenceClass}
_BANDS: Final = {int(b): b for b in Band}
_STATUSES: Final = {s.value: s for s in Status}


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """The answer that an idempotency key got, and the digest of what it was asked with."""

    request_digest: bytes
    answer: str


@dataclass(slots=True, kw_only=True)
class Loaded:
    """What a batch is decided on.

    pos, hash: the head of the log. now: the database's clock.
    retries: earlier answers by (principal, key).
    """

    state: State
    known: Known
    pos: int
    hash: bytes
    now: datetime
    retries: dict[tuple[UUID, str], Retry]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose names a batch may mean: all audiences of its actors together."""

    audiences: Sequence[str]
    sees_all: bool


async def load_batch(
    connection: Connection,
    workspace_id: UUID,
    needs: Needs,
    scope: Scope,
    keys: Sequence[tuple[UUID, str]],
) -> Loaded:
    """Return what is needed to decide a batch.

    Raises:
        asyncpg.PostgresError, OSError: the database failed; nothing was read.
    """
    rows = await connection.fetch(
        _SQL["objects"],
        workspace_id,
        list(needs.ids),
        list(needs.names),
        scope.audiences,
        scope.sees_all,
        [principal for principal, _ in keys],
        [key for _, key in keys],
        needs.all_names,
    )
    loaded = _objects(rows)
    state = loaded.state
    heads = _Heads(state)
    await _load_claims(connection, workspace_id, needs, heads, state)
    await _load_links(connection, workspace_id, needs, heads, state)
    if needs.types:
        for row in await connection.fetch(_SQL["types"], workspace_id):
            state.types.put(row["name"], row["added_pos"])
    loaded.known = await _load_known(connection, workspace_id, needs, loaded)
    _forget(state)
    return loaded


async def lock_head(connection: Connection, workspace_id: UUID) -> None:
    """Hold the head of the log for this transaction."""
    await connection.fetchval(_SQL["lock_head"], workspace_id)


async def hash_at(connection: Connection, workspace_id: UUID, pos: int) -> bytes | None:
    """Return the hash of the event at `pos`, if there is one."""
    return await connection.fetchval(_SQL["hash_at"], workspace_id, pos)


class _Heads:
    """From ids and names to the heads that they may mean."""

    def __init__(self, state: State) -> None:
        self._state = state

    def of(self, named: Named) -> Iterable[UUID]:
        state = self._state
        if isinstance(named, UUID):
            row = state.objects.get(named)
            return () if row is None else (row.head_id,)
        keys = state.named.get(named, ())
        return {state.objects[state.names[key].object_id].head_id for key in keys}


def _objects(rows: Iterable[asyncpg.Record]) -> Loaded:
    state = State(journaled=True)
    reasons: dict[UUID, str] = {}
    retries: dict[tuple[UUID, str], Retry] = {}
    head: asyncpg.Record | None = None
    for row in rows:
        match row["tag"]:
            case "object":
                _put_object(state, row)
            case "name":
                key = NameKey(row["a"], row["b"], row["c"])
                state.put_name(
                    NameRow(
                        key=key,
                        object_id=row["id"],
                        name=row["d"],
                        current=row["flag"],
                        pos=row["n"],
                    )
                )
            case "reason":
                if row["a"]:
                    reasons[row["id"]] = row["a"]
            case "merge":
                state.merged_at.put(row["id"], row["n"])
            case "retry":
                retries[row["id"], row["a"]] = Retry(request_digest=row["bytes"], answer=row["b"])
            case _:
                head = row
    if head is None:
        raise LookupError("the workspace has no log")
    return Loaded(
        state=state,
        known=Known(reasons=reasons),
        pos=head["n"],
        hash=head["bytes"],
        now=head["moment"],
        retries=retries,
    )


def _put_object(state: State, row: asyncpg.Record) -> None:
    made = ObjectRow(
        object_id=row["id"],
        type=row["a"],
        name=row["b"],
        canonical=row["c"],
        status=_STATUSES[row["d"]],
        merged_into=row["other"],
        head_id=row["head"],
        audience=row["e"],
        created_by=row["maker"],
        created_at=row["moment"],
        created_pos=row["n"],
        version=row["m"],
    )
    state.objects.put(made.object_id, made)
    if made.head_id != made.object_id:
        members = state.members.get(made.head_id, frozenset())
        state.members.put(made.head_id, members | {made.object_id})


async def _load_claims(
    connection: Connection, workspace_id: UUID, needs: Needs, heads: _Heads, state: State
) -> None:
    slots = {
        (head, name, value_key)
        for about, name, value_key in needs.slots
        for head in heads.of(about)
    }
    if not slots:
        return
    ids, names, value_keys = zip(*slots, strict=True)
    for row in await connection.fetch(_SQL["claims"], workspace_id, ids, names, value_keys):
        state.put_claim(_claim(row))


async def _load_links(
    connection: Connection, workspace_id: UUID, needs: Needs, heads: _Heads, state: State
) -> None:
    wanted = {
        (src, link_type, dst)
        for src_named, link_type, dst_named in needs.links
        for src in heads.of(src_named)
        for dst in heads.of(dst_named)
    }
    if not wanted:
        return
    sources, types, targets = zip(*wanted, strict=True)
    for row in await connection.fetch(_SQL["links"], workspace_id, sources, types, targets):
        _put_link(state, row)


async def _load_known(
    connection: Connection, workspace_id: UUID, needs: Needs, loaded: Loaded
) -> Known:
    known: dict[str, Any] = {"reasons": loaded.known.reasons}
    if needs.parents:
        rows = await connection.fetch(_SQL["parents"], workspace_id, list(needs.parents))
        known["parents"] = {
            row["event_id"]: Parent(band=_BANDS[row["band"]], audiences=tuple(row["audiences"]))
            for row in rows
        }
    if needs.positions:
        known["logged"] = await _load_logged(connection, workspace_id, needs, loaded.state)
    if needs.principals:
        for row in await connection.fetch(_SQL["principals"], workspace_id):
            loaded.state.principals.put(row["principal_id"], _principal(row))
        tokens = await connection.fetch(_SQL["live_tokens"], workspace_id)
        known["live_tokens"] = {row["token_id"]: row["principal_id"] for row in tokens}
    return Known(**known)


async def _load_logged(
    connection: Connection, workspace_id: UUID, needs: Needs, state: State
) -> dict[int, Logged]:
    positions = list(needs.positions)
    logged: dict[int, Logged] = {}
    for row in await connection.fetch(_SQL["logged"], workspace_id, positions):
        event = None
        if row["payload"] is not None:
            event, _ = codec.parse_payload(
                row["kind"], row["payload"], row["object_id"], row["related_id"]
            )
        logged[row["pos"]] = Logged(
            pos=row["pos"],
            kind=row["kind"],
            object_id=row["object_id"],
            audience=row["audience"],
            event=event,
        )
    for row in await connection.fetch(_SQL["claims_at"], workspace_id, positions):
        state.put_claim(_claim(row))
    for row in await connection.fetch(_SQL["links_at"], workspace_id, positions):
        _put_link(state, row)
    ids = [row.object_id for row in logged.values() if row.object_id is not None]
    rows = await connection.fetch(_SQL["objects"], workspace_id, ids, [], [], True, [], [], True)
    found = _objects(rows).state
    for object_id, row in found.objects.items():
        state.objects.put(object_id, row)
    for head_id, members in found.members.items():
        state.members.put(head_id, members)
    for name in found.names.values():
        state.put_name(name)
    return logged


def _claim(row: asyncpg.Record) -> Claim:
    return Claim(
        key=ClaimKey(row["object_id"], row["property"], row["source"], row["value_key"]),
        value=row["value"],
        digest=row["digest"],
        provenance=_provenance(row),
    )


def _put_link(state: State, row: asyncpg.Record) -> None:
    key = LinkKey(row["src_id"], row["type"], row["dst_id"], row["source"])
    state.links.put(key, Link(key=key, provenance=_provenance(row)))
    state.link_at.put(row["pos"], key)


def _provenance(row: asyncpg.Record) -> Provenance:
    return Provenance(
        pos=row["pos"],
        event_id=row["event_id"],
        source=row["source"],
        actor_id=row["actor_id"],
        evidence_class=_CLASSES[row["class"]],
        rule=row["rule"],
        band=_BANDS[row["band"]],
        root=row["root"],
        evidence=row["evidence"],
        derived_from=tuple(row["derived_from"]),
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
        first_observed=row["first_observed"],
        last_observed=row["last_observed"],
        times=row["times"],
        audience=row["audience"],
    )


def _principal(row: asyncpg.Record) -> PrincipalRow:
    return PrincipalRow(
        principal_id=row["principal_id"],
        name=row["name"],
        role=Role(row["role"]),
        audiences=tuple(row["audiences"]),
        owned_sources=tuple(row["owned_sources"]),
        default_audience=row["default_audience"],
        version=row["version"],
    )


def _forget(state: State) -> None:
    """Start the journal here: what was loaded is not a change."""
    if state.journal is not None:
        state.journal.clear()
