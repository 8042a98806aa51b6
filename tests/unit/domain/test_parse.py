"""Raw arguments to commands: each bad input has its code, its field, its limit and a next step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.domain import limits, parse
from muniment.domain.commands import ClaimInput, Redact, Ref, Retract, Stated, Unrelate
from muniment.domain.errors import Malformed, TooLarge
from muniment.domain.evidence import EvidenceClass
from muniment.domain.model import Status

ID = "0b7e1c1e-3d5b-4a53-8a50-4d4b8c9f0a11"
OTHER = "1b7e1c1e-3d5b-4a53-8a50-4d4b8c9f0a12"
CLAIM: dict[str, object] = {"about": "Ann", "property": "email", "value": "a@example.org"}
LINK: dict[str, object] = {"from": "Ann", "link": "owns", "to": "Muniment"}
Raw = Mapping[str, object]
Parser = Callable[[Raw], object]


def _claim(**more: object) -> ClaimInput:
    return parse.parse_remember({"claims": [CLAIM | more]}).claims[0]


def _refused(parser: Parser, raw: Mapping[str, object]) -> Malformed:
    with pytest.raises(Malformed) as caught:
        parser(raw)
    error = caught.value
    assert error.next_step
    assert error.as_dict()["code"] == error.code
    return error


def _refused_claim(**more: object) -> Malformed:
    return _refused(parse.parse_remember, {"claims": [CLAIM | more]})


def test_claim_with_everything_stated() -> None:
    made = _claim(
        type="Person",
        **{
            "class": "derived",
            "evidence": "https://example.org/x",
            "source": "git:x",
            "valid_from": "2021",
            "valid_to": "2022-05",
            "derived_from": [ID, ID.upper(), OTHER],
            "audience": f"project:{ID}",
            "expected_version": 0,
        },
    )
    assert made.about == Ref(type="Person", name="Ann", canonical="ann")
    assert made.value == '"a@example.org"'
    assert made.stated.evidence_class is EvidenceClass.DERIVED
    assert made.stated.derived_from == (UUID(ID), UUID(OTHER))
    assert made.stated.expected_version == 0
    assert made.stated.valid_from is not None
    assert made.stated.valid_from.text == "2021"


def test_claim_with_nothing_stated_states_nothing() -> None:
    assert _claim().stated == Stated()
    assert _claim(value=None).value == "null"
    assert _claim(about=ID).about == Ref(object_id=UUID(ID))


@pytest.mark.parametrize(
    ("more", "code", "field", "limit"),
    [
        ({"value": "a\x00b"}, "nul_character", "claims[0].value", None),
        ({"value": ["\ud800"]}, "lone_surrogate", "claims[0].value", None),
        ({"value": float("nan")}, "not_finite", "claims[0].value", None),
        ({"value": float("-inf")}, "not_finite", "claims[0].value", None),
        ({"value": 2**63}, "integer_range", "claims[0].value", limits.INT_MAX),
        ({"value": 10**999}, "integer_range", "claims[0].value", limits.INT_MAX),
        (
            {"value": "x" * (256 * 1024)},
            "too_large",
            "claims[0].value",
            limits.VALUE_BYTES,
        ),
        ({"about": "x" * 513}, "too_large", "claims[0].about", limits.NAME_BYTES),
        ({"about": "a\x00"}, "nul_character", "claims[0].about", None),
        ({"about": "a\u200bb"}, "invisible_character", "claims[0].about", None),
        ({"about": " "}, "empty", "claims[0].about", None),
        ({"about": 7}, "wrong_type", "claims[0].about", None),
        ({"about": ["Ann"]}, "wrong_type", "claims[0].about", None),
        ({"property": "E-Mail"}, "bad_property", "claims[0].property", limits.PROPERTY_CHARS),
        ({"property": None}, "missing_argument", "claims[0].property", None),
        ({"class": "certain"}, "unknown_class", "claims[0].class", None),
        ({"class": "corroborated"}, "unknown_class", "claims[0].class", None),
        ({"class": 1}, "wrong_type", "claims[0].class", None),
        ({"source": ""}, "empty", "claims[0].source", None),
        ({"source": "x" * 201}, "too_large", "claims[0].source", limits.SOURCE_BYTES),
        ({"evidence": "x\ny"}, "invisible_character", "claims[0].evidence", None),
        ({"evidence": "x" * 2001}, "too_large", "claims[0].evidence", limits.EVIDENCE_BYTES),
        ({"valid_from": "44 BC"}, "bad_date", "claims[0].valid_from", "0001 to 9998"),
        ({"valid_from": "infinity"}, "bad_date", "claims[0].valid_from", "0001 to 9998"),
        ({"valid_to": "2021-01-01T00:00:00"}, "bad_date", "claims[0].valid_to", "0001 to 9998"),
        ({"valid_to": 2021}, "wrong_type", "claims[0].valid_to", None),
        (
            {"valid_from": "2022", "valid_to": "2021"},
            "bad_interval",
            "claims[0].valid_to",
            None,
        ),
        ({"derived_from": "x"}, "wrong_type", "claims[0].derived_from", None),
        ({"derived_from": []}, "wrong_type", "claims[0].derived_from", None),
        ({"derived_from": [1]}, "wrong_type", "claims[0].derived_from", None),
        ({"derived_from": [ID] * 33}, "wrong_type", "claims[0].derived_from", None),
        ({"audience": "everyone"}, "bad_audience", "claims[0].audience", None),
        ({"audience": "project:x"}, "bad_audience", "claims[0].audience", None),
        ({"expected_version": -1}, "wrong_type", "claims[0].expected_version", None),
        ({"expected_version": True}, "wrong_type", "claims[0].expected_version", None),
        ({"expected_version": 2**63}, "wrong_type", "claims[0].expected_version", None),
        ({"expected_version": 1.0}, "wrong_type", "claims[0].expected_version", None),
    ],
)
def test_bad_claim_is_refused_with_code_field_and_limit(
    more: dict[str, object], code: str, field: str, limit: object
) -> None:
    error = _refused_claim(**more)
    assert (error.code, error.field, error.limit) == (code, field, limit)


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("propety", "'property'"),
        ("sources", "'source'"),
        ("VALUE", "'value'"),
        ("expectedVersion", "'expected_version'"),
    ],
)
def test_misspelt_argument_is_refused_with_the_nearest(wrong: str, nearest: str) -> None:
    error = _refused_claim(**{wrong: "x"})
    assert (error.code, error.field) == ("unknown_argument", f"claims[0].{wrong}")
    assert error.next_step == f"Did you mean {nearest}?"


@pytest.mark.promise("P7")
@pytest.mark.parametrize(
    "extra",
    [
        "actor", "Actor", "actor_id", "reader", "band", "trust", "recorded_at", "recordedAt",
        "pos", "workspace", "workspace_id", "principal", "as_user", "on_behalf_of", "user", "role",
        "via", "rule", "root", "event_id", "id", "first_observed", "last_observed", "times",
    ],
)  # fmt: skip
def test_identity_band_and_recorded_time_are_no_arguments_of_any_command(extra: str) -> None:
    reason = {"reason": "Because."}
    calls: list[tuple[Parser, Raw]] = [
        (parse.parse_remember, {"claims": [CLAIM | {extra: "operator"}]}),
        (parse.parse_remember, {"links": [LINK | {extra: "operator"}]}),
        (parse.parse_remember, {"claims": [CLAIM], extra: "operator"}),
        (parse.parse_relate, LINK | {extra: "operator"}),
        (parse.parse_retract, {"about": "x", "property": "y", extra: "operator"} | reason),
        (parse.parse_retract, LINK | {extra: "operator"} | reason),
        (parse.parse_ensure, {"name": "x", "type": "Note", extra: "operator"}),
        (parse.parse_rename, {"about": "x", "name": "y", extra: "operator"} | reason),
        (parse.parse_set_status, {"about": "x", "status": "active", extra: "o"} | reason),
        (parse.parse_merge, {"loser": "x", "survivor": "y", extra: "operator"} | reason),
        (parse.parse_unmerge, {"loser": "x", extra: "operator"} | reason),
        (parse.parse_redact, {"positions": [1], extra: "operator"} | reason),
    ]
    for parser, raw in calls:
        error = _refused(parser, raw)
        assert error.code == "unknown_argument"
        assert (error.field or "").endswith(extra)


def test_argument_like_no_other_is_refused_with_the_list() -> None:
    error = _refused(parse.parse_ensure, {"name": "x", "type": "Note", "qqq": 1})
    assert error.next_step == "The arguments are: name, type, audience."
    long = _refused(parse.parse_ensure, {"name": "x", "type": "Note", "q" * 10_000: 1})
    assert len(long.message) < 200


@pytest.mark.parametrize("count", [0, 101])
def test_call_takes_1_to_100_claims_and_links(count: int) -> None:
    error = _refused(parse.parse_remember, {"claims": [CLAIM] * count})
    assert isinstance(error, TooLarge)
    assert (error.code, error.field) == ("claims_per_call", "claims")
    assert error.limit == limits.CLAIMS_PER_CALL
    made = parse.parse_remember({"claims": [CLAIM] * 60, "links": [LINK] * 40})
    assert (len(made.claims), len(made.links)) == (60, 40)
    assert _refused(
        parse.parse_remember, {"claims": [CLAIM] * 60, "links": [LINK] * 41}
    ).code == "claims_per_call"  # fmt: skip


@pytest.mark.parametrize("wrong", ["x", {"about": "x"}, [1], [[CLAIM]], 7])
def test_claims_that_are_no_list_of_objects_are_refused(wrong: object) -> None:
    for name in ("claims", "links"):
        error = _refused(parse.parse_remember, {name: wrong})
        assert (error.code, error.field) == ("wrong_type", name)


@pytest.mark.parametrize("name", ["from", "link", "to"])
def test_link_needs_both_ends_and_a_type(name: str) -> None:
    raw = {key: part for key, part in LINK.items() if key != name}
    error = _refused(parse.parse_relate, raw)
    assert (error.code, error.field) == ("missing_argument", name)
    nested = _refused(parse.parse_remember, {"links": [raw]})
    assert nested.field == f"links[0].{name}"


def test_retract_is_of_a_claim_or_of_a_link() -> None:
    claim = parse.parse_retract(
        {"about": "Ann", "property": "tag", "value": "x", "reason": "Wrong."}
    )
    assert isinstance(claim, Retract)
    assert (claim.value, claim.source) == ('"x"', None)
    link = parse.parse_retract(LINK | {"reason": "Wrong.", "source": "git:x"})
    assert isinstance(link, Unrelate)
    assert link.source == "git:x"
    mixed = _refused(parse.parse_retract, LINK | {"property": "x", "reason": "Wrong."})
    assert mixed.code == "unknown_argument"


@pytest.mark.parametrize("reason", [None, "", "  ", "\n"])
def test_every_act_on_identity_or_lifecycle_needs_a_reason(reason: object) -> None:
    calls: list[tuple[Parser, Raw]] = [
        (parse.parse_retract, {"about": "x", "property": "y"}),
        (parse.parse_retract, LINK),
        (parse.parse_rename, {"about": "x", "name": "y"}),
        (parse.parse_set_status, {"about": "x", "status": "retired"}),
        (parse.parse_merge, {"loser": "x", "survivor": "y"}),
        (parse.parse_unmerge, {"loser": "x"}),
        (parse.parse_redact, {"positions": [1]}),
    ]
    for parser, raw in calls:
        error = _refused(parser, {**raw, "reason": reason})
        assert (error.code, error.field) == ("reason_required", "reason")
        assert _refused(parser, {**raw, "reason": "x" * 2001}).limit == limits.REASON_BYTES
        assert _refused(parser, {**raw, "reason": 5}).code == "wrong_type"


@pytest.mark.parametrize("status", ["merged", "deleted", "", "Active"])
def test_status_that_cannot_be_set_is_refused_with_the_list(status: str) -> None:
    raw = {"about": "x", "status": status, "reason": "Because."}
    error = _refused(parse.parse_set_status, raw)
    assert (error.code, error.field) == ("unknown_status", "status")
    assert "retired" in (error.next_step or "")


def test_acts_of_the_operator_are_read_in_full() -> None:
    status = parse.parse_set_status(
        {"about": "x", "type": "Note", "status": "retired", "reason": "Old.", "expected_version": 4}
    )
    assert (status.status, status.expected_version) == (Status.RETIRED, 4)
    rename = parse.parse_rename({"about": ID, "name": " New  name ", "reason": "So called."})
    assert (rename.about.object_id, rename.name) == (UUID(ID), "New name")
    merge = parse.parse_merge(
        {
            "loser": "a",
            "survivor": "b",
            "loser_type": "Note",
            "survivor_type": "Task",
            "reason": "One.",
            "expected_version": 9,
        }
    )
    assert (merge.loser.type, merge.survivor.type, merge.expected_version) == ("Note", "Task", 9)
    unmerge = parse.parse_unmerge({"loser": "a", "type": "Note", "reason": "Two."})
    assert unmerge.loser.type == "Note"
    ensure = parse.parse_ensure({"name": "a", "type": "Note", "audience": "fleet"})
    assert (ensure.ref.name, ensure.audience) == ("a", "fleet")
    redact = parse.parse_redact({"positions": [3, 1], "reason": "Secret."})
    assert redact == Redact(positions=(3, 1), reason="Secret.")


@pytest.mark.parametrize("positions", ["1", [], [0], [-1], [True], ["1"], [2**63], [1] * 1001])
def test_positions_to_redact_are_a_list_of_whole_numbers(positions: object) -> None:
    error = _refused(parse.parse_redact, {"positions": positions, "reason": "Secret."})
    assert (error.code, error.field) == ("wrong_type", "positions")


@pytest.mark.parametrize("name", ["name", "type"])
def test_object_to_ensure_has_a_name_and_a_type(name: str) -> None:
    raw = {key: "Note" for key in ("name", "type") if key != name}
    assert _refused(parse.parse_ensure, raw).field == name


def test_type_of_a_reference_is_one_line_of_64_bytes() -> None:
    with pytest.raises(TooLarge) as caught:
        parse.parse_ref("x", "T" * 65)
    assert (caught.value.field, caught.value.limit) == ("type", 64)


def test_references_show_what_was_asked_for() -> None:
    assert parse.parse_ref(ID).shown() == ID
    assert parse.parse_ref("Ann").shown() == "'Ann'"
    assert parse.parse_ref("Ann", "Person").shown() == "Person 'Ann'"


@pytest.mark.parametrize("raw", [0, -1, 101, 10**9, 2**70, True, "10", 5.0, [], float("nan")])
def test_limit_out_of_range_is_refused_and_never_cut_down(raw: object) -> None:
    with pytest.raises(Malformed) as caught:
        parse.parse_limit(raw, default=20)
    assert (caught.value.code, caught.value.field) == ("bad_limit", "limit")
    assert caught.value.limit == limits.RESULTS_MAX
    assert caught.value.next_step


def test_limit_in_range_is_taken() -> None:
    assert parse.parse_limit(None, default=20) == 20
    assert parse.parse_limit(1, default=20) == 1
    assert parse.parse_limit(100, default=20) == 100


@pytest.mark.parametrize(
    ("raw", "code"),
    [("", "empty"), ("x" * 201, "too_large"), ("a\x00", "nul_character"), (5, "wrong_type")],
)
def test_bad_idempotency_key_is_refused(raw: object, code: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse.parse_key(raw)
    assert (caught.value.code, caught.value.field) == (code, "key")
    assert parse.parse_key(None) is None
    assert parse.parse_key("k-1") == "k-1"


@pytest.mark.parametrize("raw", ["'; DROP TABLE objects; --", "%_%", "a' OR '1'='1", "$1", "{}"])
def test_metacharacters_are_text(raw: str) -> None:
    assert _claim(about=raw, value=raw).about.name == raw


JSON_LIKE: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
NAMES = st.sampled_from([*CLAIM, *LINK, "claims", "links", "reason", "class", "type", "positions"])
PARSERS: list[Parser] = [
    parse.parse_remember, parse.parse_relate, parse.parse_retract, parse.parse_ensure,
    parse.parse_rename, parse.parse_set_status, parse.parse_merge, parse.parse_unmerge,
    parse.parse_redact,
]  # fmt: skip


def _error(parser: Parser, raw: Raw) -> Malformed | None:
    try:
        parser(raw)
    except Malformed as error:
        return error
    return None


@given(
    st.sampled_from(PARSERS),
    st.dictionaries(NAMES | st.text(max_size=8), JSON_LIKE, max_size=6),
)
def test_any_json_is_a_command_or_a_typed_error(parser: Parser, raw: dict[str, object]) -> None:
    error = _error(parser, raw)
    assert error is None or (error.code and error.field is not None and error.next_step)


@given(st.dictionaries(NAMES, JSON_LIKE, max_size=6))
def test_any_json_is_a_claim_or_a_typed_error(raw: dict[str, object]) -> None:
    error = _error(parse.parse_remember, {"claims": [CLAIM | raw]})
    assert error is None or error.next_step
