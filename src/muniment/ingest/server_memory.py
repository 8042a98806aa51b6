"""`import server-memory`: the file of the reference MCP memory server.

It holds entities and relations, one JSON object a line, or all of them in one object. What
another program remembered is taken as just that: it comes through the import door, so it is
untrusted, and it says nothing of how anything was known. A line is taken whole or not at all; an
object that was retired here stays retired.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from muniment.actions import Actions
from muniment.domain import limits
from muniment.domain.canonical import Json
from muniment.domain.commands import Command, EnsureObject, Ref
from muniment.domain.errors import Malformed, NotFound, TooLarge
from muniment.domain.identity import Actor
from muniment.domain.jsondoor import loads_strict
from muniment.domain.text import canonical_name, display_name
from muniment.ingest.delivery import Delivery, Item, Parcel, remembers, require_owner
from muniment.ingest.names import bounded, visible
from muniment.ingest.report import Progress, Report, Skipped
from muniment.ingest.statements import Speaker, claim, link
from muniment.ingest.vocabulary import nearest_link, nearest_type

SOURCE: Final = "import:server-memory"
"""What the actor must own. One for all such files: they hold no claims that replace each other."""
FILE_BYTES: Final = 64 * 1024 * 1024
_ENTITY: Final = frozenset({"type", "name", "entityType", "observations"})
_RELATION: Final = frozenset({"type", "from", "to", "relationType"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """One entity or relation. what: what to call it. line: None in the one-object form."""

    what: str
    line: int | None
    fields: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entity:
    """An entity of the file, as an object here. tag: its type there, where ours says less."""

    ref: Ref
    tag: str | None
    notes: tuple[Json, ...]


@dataclass(slots=True)
class _Reading:
    """What was found so far. types: by canonical name. unknown: fields that mean nothing here."""

    types: dict[str, str] = field(default_factory=dict[str, str])
    unknown: Counter[str] = field(default_factory=Counter[str])
    entities: int = 0
    relations: int = 0


async def import_server_memory(
    actions: Actions, actor: Actor, path: Path, *, progress: Progress | None = None
) -> Report:
    """Take in a memory file.

    actor: must come through the import door and own `SOURCE`. progress: called as records are
    written.

    Raises:
        Refused: `source_not_owned` by the actor.
        NotFound: there is no file at `path`.
        TooLarge: it is over `FILE_BYTES`.
        Unavailable, Busy, CapabilityDenied: the writer did not take it.
    """
    require_owner(actor, SOURCE)
    delivery = Delivery(actions, actor, splits=False)
    reading = _Reading()
    raw = await asyncio.to_thread(_read, path)
    records: list[_Record] = []
    for entry in _records(raw):
        if isinstance(entry, Skipped):
            delivery.tally.skip(entry)
        else:
            records.append(entry)
    speaker = Speaker(source=SOURCE, evidence_class=None)
    name = visible(path.name)
    # Entities first: a relation must find the type of both its ends, wherever they stand.
    ordered = sorted(records, key=lambda record: record.fields.get("type") == "relation")
    for done, record in enumerate(ordered):
        if progress is not None and done % 100 == 0:
            progress(done, len(ordered))
        try:
            commands = _commands(record, reading, speaker, name)
        except Malformed as error:
            delivery.tally.skip(Skipped.of(error, record.what, record.line))
            continue
        for command in commands:
            await delivery.add(Parcel(command=command, what=record.what, line=record.line))
    await delivery.flush()
    delivery.tally.skipped.sort(key=lambda entry: entry.line or 0)
    if progress is not None:
        progress(len(ordered), len(ordered))
    left_out = [f"{key} ({count})" for key, count in sorted(reading.unknown.items())]
    return Report(
        verb="import server-memory",
        source=SOURCE,
        read={"entities": reading.entities, "relations": reading.relations},
        tally=delivery.tally,
        notes=(f"Fields with no meaning here were left out: {', '.join(left_out)}.",)
        if left_out
        else (),
    )


def _read(path: Path) -> bytes:
    try:
        with path.expanduser().open("rb") as file:
            raw = file.read(FILE_BYTES + 1)
    except OSError as error:
        raise NotFound(
            f"{visible(str(path))!r} cannot be read: {error.strerror}.",
            code="no_such_path",
            field="path",
            next_step="Give the file that MEMORY_FILE_PATH names, often memory.json or .jsonl.",
        ) from None
    if len(raw) > FILE_BYTES:
        raise TooLarge(
            f"The file is over {FILE_BYTES} bytes.",
            field="path",
            limit=FILE_BYTES,
            next_step="Split it between lines and import the parts, entities first.",
        )
    return raw.removeprefix(b"\xef\xbb\xbf")


def _records(raw: bytes) -> Iterator[_Record | Skipped]:
    whole = _whole(raw)
    if whole is not None:
        for kind, many in (("entity", "entities"), ("relation", "relations")):
            listed = whole.get(many, [])
            for at, value in enumerate(listed if isinstance(listed, list) else [listed]):
                what = f"{many}[{at}]"
                if isinstance(value, dict):
                    yield _Record(what=what, line=None, fields={"type": kind} | value)
                else:
                    yield Skipped(what=what, code="not_an_object", reason="It is no JSON object.")
        return
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            value = loads_strict(line)
        except Malformed as error:
            yield Skipped.of(error, "line", number)
            continue
        if isinstance(value, dict):
            yield _Record(what=_label(value), line=number, fields=value)
        else:
            yield Skipped(
                what="line", code="not_an_object", reason="It is no JSON object.", line=number
            )


def _whole(raw: bytes) -> dict[str, Json] | None:
    """Return the file as one object of entities and relations, or None if it has lines."""
    try:
        value = loads_strict(raw, limit=FILE_BYTES)
    except Malformed:
        return None
    if isinstance(value, dict) and "type" not in value and value.keys() & {"entities", "relations"}:
        return value
    return None


def _label(fields: dict[str, Json]) -> str:
    shown = fields.get("name") or fields.get("relationType")
    return f"{fields.get('type', 'line')} {visible(str(shown))[:80]}" if shown else "line"


def _commands(record: _Record, reading: _Reading, speaker: Speaker, file: str) -> list[Command]:
    kind = record.fields.get("type")
    place = f":{record.line}" if record.line is not None else f":{record.what}"
    if kind == "entity":
        entity = _entity(record.fields)
        reading.unknown.update(record.fields.keys() - _ENTITY)
        reading.entities += 1
        reading.types.setdefault(str(entity.ref.canonical), str(entity.ref.type))
        return _entity_commands(entity, speaker, f"import:{file}{place}")
    if kind == "relation":
        reading.unknown.update(record.fields.keys() - _RELATION)
        reading.relations += 1
        return list(remembers(_relation(record.fields, reading, speaker, f"import:{file}{place}")))
    raise Malformed(
        "It is neither an entity nor a relation.",
        code="unknown_record",
        field="type",
        next_step='Each line has "type": "entity" or "type": "relation".',
    )


def _entity(fields: dict[str, Json]) -> _Entity:
    name = display_name(_text(fields, "name"), "name")
    original = _text(fields, "entityType")
    type_ = nearest_type(original)
    notes = fields.get("observations", [])
    if not isinstance(notes, list):
        raise Malformed(
            "observations is not a list.",
            field="observations",
            next_step="Give a list of texts.",
        )
    return _Entity(
        ref=Ref(type=type_, name=name, canonical=canonical_name(name)),
        tag=original.strip() if original.strip().casefold() != type_.casefold() else None,
        notes=tuple(notes),
    )


def _entity_commands(entity: _Entity, speaker: Speaker, evidence: str) -> list[Command]:
    stated = speaker.stated(bounded(evidence, limit=limits.EVIDENCE_BYTES))
    items: list[Item] = [claim(entity.ref, "tag", entity.tag, stated)] if entity.tag else []
    items += [claim(entity.ref, "note", note, stated) for note in entity.notes]
    return list(remembers(items)) if items else [EnsureObject(ref=entity.ref)]


def _relation(
    fields: dict[str, Json], reading: _Reading, speaker: Speaker, evidence: str
) -> list[Item]:
    original = _text(fields, "relationType")
    ends = [_end(_text(fields, end), end, reading) for end in ("from", "to")]
    found = nearest_link(original)
    wording = "" if found.exact else f" ({json.dumps(original, ensure_ascii=False)})"
    stated = speaker.stated(bounded(f"{evidence}{wording}", limit=limits.EVIDENCE_BYTES))
    src, dst = reversed(ends) if found.turned else ends
    items: list[Item] = [link(src, found.link, dst, stated)]
    if found.link == "related_to" and not found.exact:
        # Between two things stands one such link, whatever the relations were called.
        items.append(claim(ends[0], "note", f"{original}: {ends[1].name}", stated))
    return items


def _end(raw: str, end: str, reading: _Reading) -> Ref:
    """Return one end of a relation; one that is not in the file must be in the graph."""
    name = display_name(raw, end)
    canonical = canonical_name(name)
    return Ref(type=reading.types.get(canonical), name=name, canonical=canonical)


def _text(fields: dict[str, Json], name: str) -> str:
    value = fields.get(name)
    if isinstance(value, str) and value.strip():
        return value
    raise Malformed(
        f"{name} is missing or not text.",
        code="malformed",
        field=name,
        next_step=f"Give {name} as a text that is not empty.",
    )
