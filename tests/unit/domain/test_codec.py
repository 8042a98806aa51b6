"""Events as bytes and back: exact for every value, and a chain that any change breaks."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.domain import codec
from muniment.domain import events as ev
from muniment.domain.canonical import value_text
from muniment.domain.evidence import Band, EvidenceClass
from muniment.domain.identity import Role
from muniment.domain.model import Status

TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=30)
TRICKY = st.sampled_from(
    [',"value":', '"},"value":1', '\\",\\"value\\":', '{"value":', "\u2028", "]}", ',"value":null}']
)
WORDS = TEXT | TRICKY
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
IDS = st.uuids()
POSITIONS = st.integers(1, 2**62)
GROUNDS = st.builds(
    ev.Grounds,
    source=WORDS,
    evidence_class=st.sampled_from(EvidenceClass),
    rule=WORDS,
    band=st.sampled_from(Band),
    root=WORDS,
    evidence=st.none() | WORDS,
    derived_from=st.lists(IDS, max_size=3).map(tuple),
    valid_from=st.none() | WORDS,
    valid_to=st.none() | WORDS,
)
EVENTS: st.SearchStrategy[ev.Event] = st.one_of(
    st.builds(ev.ObjectCreated, object_id=IDS, type=WORDS, name=st.none() | WORDS),
    st.builds(ev.ObjectRenamed, object_id=IDS, name=st.none() | WORDS),
    st.builds(
        ev.StatusChanged,
        object_id=IDS,
        before=st.sampled_from(Status),
        after=st.sampled_from(Status),
    ),
    st.builds(ev.Merged, object_id=IDS, survivor_id=IDS),
    st.builds(ev.Unmerged, object_id=IDS, survivor_id=IDS),
    st.builds(
        ev.Asserted,
        object_id=IDS,
        property=WORDS,
        value=st.none() | VALUES.map(value_text),
        many=st.booleans(),
        grounds=GROUNDS,
        replaces=st.none() | POSITIONS,
    ),
    st.builds(ev.Reobserved, object_id=IDS, of_pos=POSITIONS),
    st.builds(ev.Retracted, object_id=IDS, of_pos=POSITIONS),
    st.builds(
        ev.Linked,
        object_id=IDS,
        type=WORDS,
        dst_id=IDS,
        grounds=st.none() | GROUNDS,
        replaces=st.none() | POSITIONS,
    ),
    st.builds(ev.Unlinked, object_id=IDS, dst_id=IDS, of_pos=POSITIONS),
    st.builds(
        ev.Redacted,
        targets=st.lists(POSITIONS, max_size=3).map(tuple),
        skeletons=st.lists(WORDS, max_size=3).map(tuple),
    ),
    st.builds(
        ev.PrincipalChanged,
        principal_id=IDS,
        change=st.sampled_from(ev.PrincipalChange),
        name=WORDS,
        role=st.sampled_from([role.value for role in Role]),
        audiences=st.lists(WORDS, max_size=3).map(tuple),
        owned_sources=st.lists(WORDS, max_size=3).map(tuple),
        default_audience=WORDS,
        token_id=st.none() | IDS,
        expires_at=st.none() | WORDS,
    ),
)
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001


def _read(event: ev.Event, payload: str) -> tuple[ev.Event, str | None]:
    kind = codec.kind_of(event)
    return codec.parse_payload(kind, payload, codec.object_of(event), codec.related_of(event))


@given(EVENTS, st.none() | WORDS, st.none() | WORDS)
def test_event_reads_back_exactly(event: ev.Event, reason: str | None, salt: str | None) -> None:
    payload = codec.payload_text(event, reason=reason, salt=salt)
    assert _read(event, payload) == (event, reason)


@given(EVENTS, WORDS)
def test_payload_is_canonical_json_with_its_value_last(event: ev.Event, reason: str) -> None:
    payload = codec.payload_text(event, reason=reason, salt="s")
    parts = json.loads(payload)
    assert list(parts) == sorted(parts, key=lambda key: (key == "value", key))
    if isinstance(event, ev.Asserted) and event.value is not None:
        assert payload.endswith(event.value + "}")
        assert list(parts)[-1] == "value"


@given(EVENTS)
def test_skeleton_keeps_no_words_and_reads_back(event: ev.Event) -> None:
    read, reason = _read(event, codec.skeleton(event))
    assert reason is None
    match read:
        case ev.ObjectCreated() | ev.ObjectRenamed():
            assert read.name is None
        case ev.Asserted():
            assert read.value is None
            assert read.grounds.evidence is None
            assert (read.grounds.root, read.grounds.derived_from) == ("-", ())
            assert (read.grounds.valid_from, read.grounds.valid_to) == (None, None)
        case ev.Linked():
            assert read.grounds is None
        case _:
            assert read == event


@given(MOMENTS)
def test_microseconds_are_exact(moment: datetime) -> None:
    assert codec.from_micros(codec.micros(moment)) == moment


def test_claim_whose_words_look_like_the_end_of_a_payload_reads_back() -> None:
    grounds = ev.Grounds(
        source=',"value":"forged"}',
        evidence_class=EvidenceClass.DERIVED,
        rule="r",
        band=Band.OBSERVED,
        root="x",
        evidence='","value":1}',
    )
    event = ev.Asserted(
        object_id=UUID(int=1),
        property="note",
        value=value_text({"value": ',"value":', "a": '"value":2}'}),
        many=True,
        grounds=grounds,
    )
    payload = codec.payload_text(event, reason=',"value":', salt="s")
    assert _read(event, payload) == (event, ',"value":')


@pytest.mark.parametrize(
    ("kind", "payload", "object_id", "related_id"),
    [
        ("held", "{}", UUID(int=1), UUID(int=2)),
        ("leased", "{}", None, None),
        ("nonsense", "{}", UUID(int=1), None),
        ("asserted", "{}", UUID(int=1), None),
        ("asserted", "", UUID(int=1), None),
        ("merged", "{}", UUID(int=1), None),
        ("linked", "not json", UUID(int=1), UUID(int=2)),
        ("status_changed", '{"after":"gone","before":"active"}', UUID(int=1), None),
        ("principal_changed", "{}", None, None),
        ("redacted", "{}", None, None),
    ],
)
def test_payload_of_another_kind_or_version_is_refused(
    kind: str, payload: str, object_id: UUID | None, related_id: UUID | None
) -> None:
    with pytest.raises((ValueError, KeyError)):
        codec.parse_payload(kind, payload, object_id, related_id)


def test_each_part_of_the_header_changes_the_hash() -> None:
    plain = {
        "pos": 7,
        "event_id": UUID(int=1),
        "kind": "asserted",
        "object_id": UUID(int=2),
        "related_id": None,
        "actor_id": UUID(int=3),
        "via": "mcp",
        "audience": "fleet",
        "receipt_id": None,
        "recorded_micros": 5,
    }
    other = {
        "pos": 8,
        "event_id": UUID(int=9),
        "kind": "retracted",
        "object_id": None,
        "related_id": UUID(int=2),
        "actor_id": UUID(int=4),
        "via": "console",
        "audience": None,
        "receipt_id": UUID(int=5),
        "recorded_micros": 6,
    }

    def hashed(**parts: object) -> bytes:
        header = codec.header_bytes(**parts)  # pyright: ignore[reportArgumentType]
        return codec.link_hash(b"p" * 32, header, codec.payload_digest("{}"))

    hashes = {hashed(**plain)} | {hashed(**plain | {key: other[key]}) for key in plain}
    assert len(hashes) == 1 + len(plain)
    header = codec.header_bytes(**plain)  # pyright: ignore[reportArgumentType]
    assert codec.link_hash(b"q" * 32, header, codec.payload_digest("{}")) not in hashes
    assert codec.link_hash(b"p" * 32, header, codec.payload_digest("{ }")) not in hashes
