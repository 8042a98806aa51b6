"""The tables of the domain: statuses, evidence, trust, roles, the catalog."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

import pytest

from muniment.domain import catalog
from muniment.domain.errors import Malformed, MunimentError, Refused
from muniment.domain.evidence import (
    CONFIDENCE,
    TRUST_RULES,
    Band,
    EvidenceClass,
    corroborated,
    parse_class,
    trust_rule,
    winner_order,
)
from muniment.domain.identity import (
    CAPABILITIES,
    Capability,
    Role,
    Via,
    private_audience,
    project_audience,
)
from muniment.domain.lifecycle import (
    require_active,
    require_mergeable,
    require_transition,
    successors,
)
from muniment.domain.model import ObjectRow, Status
from tests.unit.domain.desk import ALICE, OPERATOR, START, actor

ROW = ObjectRow(
    object_id=UUID(int=1),
    type="Person",
    name="Ann",
    canonical="ann",
    status=Status.ACTIVE,
    merged_into=None,
    head_id=UUID(int=1),
    audience="fleet",
    created_by=UUID(int=9),
    created_at=START,
    created_pos=1,
    version=1,
)
POSSIBLE = {
    (Status.ACTIVE, Status.ARCHIVED),
    (Status.ACTIVE, Status.RETIRED),
    (Status.ACTIVE, Status.HISTORICAL),
    (Status.ARCHIVED, Status.ACTIVE),
    (Status.ARCHIVED, Status.RETIRED),
    (Status.ARCHIVED, Status.HISTORICAL),
    (Status.HISTORICAL, Status.ACTIVE),
    (Status.HISTORICAL, Status.ARCHIVED),
    (Status.HISTORICAL, Status.RETIRED),
    (Status.RETIRED, Status.ACTIVE),
}


@pytest.mark.parametrize("before", Status)
@pytest.mark.parametrize("after", Status)
def test_transition_is_in_the_table_or_refused(before: Status, after: Status) -> None:
    row = replace(ROW, status=before)
    if (before, after) in POSSIBLE:
        require_transition(row, after)
        return
    with pytest.raises(Refused) as caught:
        require_transition(row, after)
    assert caught.value.next_step
    if before is Status.MERGED:
        assert "unmerge" in (caught.value.next_step or "").lower()
    else:
        assert (caught.value.code, caught.value.field) == ("illegal_transition", "status")
        assert all(s.value in (caught.value.next_step or "") for s in successors(before))


def test_object_out_of_use_is_refused_with_its_reason_and_the_way_back() -> None:
    require_active(ROW, None, "about")
    for why, said in (("It left.", ": It left."), (None, ".")):
        with pytest.raises(Refused) as caught:
            require_active(replace(ROW, status=Status.RETIRED), why, "about")
        error = caught.value
        assert (error.code, error.field) == ("object_retired", "about")
        assert error.message == f"Person 'Ann' is retired{said}"
        assert str(ROW.object_id) in (error.next_step or "")
        assert error.details["status"] == "retired"


@pytest.mark.parametrize(
    ("loser", "survivor", "code", "field"),
    [
        ({}, {"object_id": UUID(int=1)}, "merge_self", "survivor"),
        ({}, {"type": "Note"}, "merge_types", "survivor"),
        ({}, {"audience": "project:x"}, "merge_audiences", "survivor"),
        ({"status": Status.RETIRED}, {}, "merge_retired", "loser"),
        ({}, {"status": Status.ARCHIVED}, "merge_archived", "survivor"),
        ({}, {"status": Status.HISTORICAL}, "merge_historical", "survivor"),
        ({}, {"status": Status.MERGED, "merged_into": UUID(int=5)}, "merge_merged", "survivor"),
        ({"status": Status.MERGED, "merged_into": UUID(int=5)}, {}, "merge_merged", "loser"),
    ],
)
def test_merge_that_makes_no_sense_is_refused(
    loser: dict[str, object], survivor: dict[str, object], code: str, field: str
) -> None:
    one = replace(ROW, **loser)  # pyright: ignore[reportArgumentType]
    other = replace(ROW, **({"object_id": UUID(int=2)} | survivor))  # pyright: ignore[reportArgumentType]
    with pytest.raises(Refused) as caught:
        require_mergeable(one, other)
    assert (caught.value.code, caught.value.field) == (code, field)
    assert caught.value.next_step


def test_confidence_orders_the_classes_as_the_design_has_them() -> None:
    assert [c.value for c in sorted(CONFIDENCE, key=lambda c: -CONFIDENCE[c])] == [
        "self_declared",
        "authoritative_api",
        "corroborated",
        "direct_observation",
        "derived",
        "co_occurrence",
    ]
    assert set(CONFIDENCE) == set(EvidenceClass)


@pytest.mark.promise("P9")
@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("via", Via)
def test_door_and_role_give_the_band_or_are_refused(role: Role, via: Via) -> None:
    expected = {
        (Role.OPERATOR, Via.CONSOLE): Band.ELEVATED,
        (Role.OPERATOR, Via.MCP): Band.ELEVATED,
        (Role.OPERATOR, Via.INGEST): Band.OBSERVED,
        (Role.OPERATOR, Via.IMPORT): Band.UNTRUSTED,
        (Role.AGENT, Via.MCP): Band.OBSERVED,
        (Role.AGENT, Via.CONSOLE): Band.OBSERVED,
        (Role.INGESTOR, Via.INGEST): Band.OBSERVED,
        (Role.SYSTEM, Via.INTERNAL): Band.OBSERVED,
    }
    who = actor("x", role, via=via)
    if (role, via) in expected:
        rule = trust_rule(who)
        assert rule.band is expected[role, via]
        assert rule.band.label == rule.band.name.lower()
        return
    with pytest.raises(Malformed) as caught:
        trust_rule(who)
    assert caught.value.code == "provenance_illegal"
    assert caught.value.next_step


def test_no_two_trust_rules_have_one_triple() -> None:
    triples = {(r.origin, r.channel, r.confirmation) for r in TRUST_RULES.values()}
    assert len(triples) == len(TRUST_RULES)


@dataclass(frozen=True, kw_only=True)
class Ranked:
    evidence_class: EvidenceClass
    last_observed = START
    pos: int = 1


def test_winner_is_the_surest_then_the_latest_seen_then_the_latest_written() -> None:
    weak = Ranked(evidence_class=EvidenceClass.DERIVED, pos=9)
    strong = Ranked(evidence_class=EvidenceClass.SELF_DECLARED)
    later = replace(strong, pos=2)
    assert winner_order(strong) > winner_order(weak)
    assert winner_order(later) > winner_order(strong)
    assert winner_order(strong)[1] + timedelta(1) > winner_order(later)[1]


@pytest.mark.promise("P11")
def test_corroboration_needs_two_roots_that_are_each_observed() -> None:
    page, tool = ("https://x", Band.OBSERVED), ("tool:1", Band.ELEVATED)
    assert corroborated([page, tool])
    assert not corroborated([page, page, page])
    assert not corroborated([page, ("https://y", Band.UNTRUSTED)])
    assert not corroborated([])


def test_corroborated_cannot_be_declared() -> None:
    for raw in ("corroborated", "Derived", ""):
        with pytest.raises(Malformed) as caught:
            parse_class(raw)
        assert (caught.value.code, caught.value.field) == ("unknown_class", "class")
        assert "derived" in (caught.value.next_step or "")
    assert parse_class("derived") is EvidenceClass.DERIVED


def test_roles_hold_what_the_design_gives_them() -> None:
    assert CAPABILITIES[Role.OPERATOR] == frozenset(Capability)
    assert CAPABILITIES[Role.AGENT] == {Capability.READ, Capability.REMEMBER}
    assert CAPABILITIES[Role.READER] == {Capability.READ}
    assert set(CAPABILITIES) == set(Role)
    assert ALICE.can(Capability.REMEMBER)
    assert not ALICE.can(Capability.LIFECYCLE)
    assert OPERATOR.can(Capability.ADMINISTER)


def test_source_is_owned_by_name_or_by_prefix() -> None:
    who = actor("ci", Role.INGESTOR, owned=("git:muniment", "file:*"))
    assert who.owns("ingestor:ci")
    assert who.owns("git:muniment")
    assert not who.owns("git:muniment2")
    assert who.owns("file:/etc")
    assert not who.owns("files")
    assert not ALICE.owns("agent:bob")


def test_reader_sees_its_audiences_and_the_operator_all() -> None:
    project = project_audience(UUID(int=5))
    assert ALICE.reader.may_see("fleet")
    assert ALICE.reader.may_see(private_audience(ALICE.principal_id))
    assert not ALICE.reader.may_see(project)
    assert actor(audiences=(project,)).reader.may_see(project)
    assert OPERATOR.reader.may_see(project)


@pytest.mark.parametrize(
    ("wrong", "nearest"), [("Persn", "Person"), ("projects", "Project"), ("Repo", None)]
)
def test_unknown_type_is_refused_with_the_nearest(wrong: str, nearest: str | None) -> None:
    with pytest.raises(Malformed) as caught:
        catalog.require_type(wrong)
    assert (caught.value.code, caught.value.field) == ("unknown_type", "type")
    if nearest is not None:
        assert caught.value.details == {"nearest": nearest}
        assert caught.value.next_step == f"Did you mean {nearest!r}?"
    assert caught.value.next_step


def test_unknown_link_is_refused_with_the_nearest_or_the_list() -> None:
    with pytest.raises(Malformed) as caught:
        catalog.require_link("depend_on")
    assert caught.value.next_step == "Did you mean 'depends_on'?"
    with pytest.raises(Malformed) as strange:
        catalog.require_link("zzzz")
    assert "depends_on" in (strange.value.next_step or "")
    assert strange.value.details == {}


def test_case_of_a_type_or_link_does_not_matter() -> None:
    assert catalog.require_type("PERSON") == "Person"
    assert catalog.require_type("vessel", ["Vessel"]) == "Vessel"
    assert catalog.require_link("Depends_On") == "depends_on"


@pytest.mark.parametrize("raw", ["vessel", "", "A b", "A" * 65, "Été", "A-b"])
def test_name_of_a_type_is_pascal_case(raw: str) -> None:
    with pytest.raises(Malformed) as caught:
        catalog.require_type_name(raw)
    assert (caught.value.code, caught.value.field) == ("bad_type_name", "name")
    assert catalog.require_type_name("Vessel2") == "Vessel2"


def test_every_kind_of_error_is_flat_json_with_a_code() -> None:
    def tree(base: type[MunimentError]) -> list[type[MunimentError]]:
        return [base, *(kind for sub in base.__subclasses__() for kind in tree(sub))]

    for kind in tree(MunimentError):
        plain = kind("Said.")
        assert plain.as_dict() == {"code": kind.default_code, "message": "Said."}
    full = MunimentError("Said.", field="f", limit=1, next_step="Do.", details={"x": 1})
    assert full.as_dict() == {
        "code": "error",
        "message": "Said.",
        "field": "f",
        "limit": 1,
        "next_step": "Do.",
        "x": 1,
    }
