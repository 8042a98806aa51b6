"""Claims and links: made, said again, corrected, withdrawn.

One source's correction supersedes that source's claim alone; what others say stands beside it and
is named in the answer.
"""

from __future__ import annotations

import json
from typing import Any, Final, cast
from uuid import UUID

from muniment.domain.canonical import Json, digest, value_key
from muniment.domain.catalog import is_many, require_link
from muniment.domain.commands import ClaimInput, LinkInput, Remember, Retract, Stated, Unrelate
from muniment.domain.decide import resolve
from muniment.domain.decide.session import Session
from muniment.domain.errors import NotFound, Refused
from muniment.domain.events import Asserted, Grounds, Linked, Reobserved, Retracted, Unlinked
from muniment.domain.evidence import Band, EvidenceClass, trust_rule
from muniment.domain.identity import FLEET, Role, Via
from muniment.domain.model import Claim, ClaimKey, Link, LinkKey, ObjectRow, Provenance
from muniment.domain.outcomes import (
    ASSERTED,
    LINKED,
    REOBSERVED,
    RETRACTED,
    SUPERSEDED,
    UNCHANGED,
    UNLINKED,
    Outcome,
)
from muniment.domain.text import canonical_name

OWN_ACTS: Final = frozenset({"Decision", "Task", "Question", "Message", "Handoff", "Note"})
"""Types of which an agent may declare its own: what it decided, asked, sent or left behind."""

Result = dict[str, Json]


def remember(session: Session, command: Remember) -> Outcome:
    """Decide all claims and links of one call; the first that is refused refuses the call."""
    results: list[Json] = []
    quotes: list[int] = []
    for index, claim in enumerate(command.claims):
        results.append(_claim(session, claim, f"claims[{index}]", quotes))
    for index, link in enumerate(command.links):
        results.append(_link(session, link, f"links[{index}]"))
    answer: Result = {"results": results}
    if session.emitted:
        answer["pos"] = session.emitted[-1].pos
    _bound_quotes(answer, results)
    return Outcome(answer=answer, quotes=tuple(quotes))


def _bound_quotes(answer: Result, results: list[Json]) -> None:
    """Leave quoted values out of an answer that would be too long to give after the write."""
    quoted = [
        quote
        for result in cast("list[dict[str, Any]]", results)
        for quote in (result.get("replaced"), *result.get("disagrees", ()))
        if quote is not None and "value" in quote
    ]
    if sum(len(json.dumps(quote["value"])) for quote in quoted) <= QUOTED_IN_ALL:
        return
    for quote in quoted:
        del quote["value"]
    answer["note"] = (
        "Quoted values are left out, since they are long: open the objects to see them."
    )


def retract(session: Session, command: Retract) -> Outcome:
    """Withdraw a claim of one's own source, wherever in a merged group it stands."""
    source = _retractable_source(session, command.source)
    row = resolve.require(session, command.about, "about")
    many = is_many(command.property)
    if many and command.value is None:
        raise Refused(
            f"{command.property} holds several values.",
            code="value_required",
            field="value",
            next_step="Say which value to withdraw.",
        )
    stands_under = value_key(command.value) if many and command.value is not None else ""
    for object_id in _group_from(session, row):
        claim = session.state.claims.get(
            ClaimKey(object_id, command.property, source, stands_under)
        )
        if claim is None or not session.actor.reader.may_see(claim.provenance.audience):
            continue
        if command.value is not None and claim.digest != digest(command.value):
            continue
        event = Retracted(object_id=object_id, of_pos=claim.pos)
        at = session.emit(event, audience=claim.provenance.audience, reason=command.reason)
        return Outcome(
            answer={
                "outcome": RETRACTED,
                "pos": at.pos,
                "object": resolve.Target(row=session.state.head(row), named=row).as_json(),
                "property": command.property,
            }
        )
    raise NotFound(
        f"{source} has no such claim of {command.property} on {command.about.shown()}.",
        field="property",
        next_step="Open the object: only a source's own current claims can be retracted.",
    )


def unrelate(session: Session, command: Unrelate) -> Outcome:
    """Withdraw a link of one's own source."""
    source = _retractable_source(session, command.source)
    src = resolve.require(session, command.src, "from")
    dst = resolve.require(session, command.dst, "to")
    link_type = require_link(command.type)
    for src_id in _group_from(session, src):
        for dst_id in _group_from(session, dst):
            link = session.state.links.get(LinkKey(src_id, link_type, dst_id, source))
            if link is None or not session.actor.reader.may_see(link.provenance.audience):
                continue
            event = Unlinked(object_id=src_id, dst_id=dst_id, of_pos=link.pos)
            at = session.emit(event, audience=link.provenance.audience, reason=command.reason)
            return Outcome(answer={"outcome": UNLINKED, "pos": at.pos, "link": link_type})
    raise NotFound(
        f"{source} has no such link {link_type}.",
        field="link",
        next_step="Open the object: only a source's own current links can be retracted.",
    )


def _claim(session: Session, claim: ClaimInput, at: str, quotes: list[int]) -> Result:
    stated = claim.stated
    target = resolve.settle(session, claim.about, f"{at}.about", stated.audience)
    grounds, audience = _grounds(session, stated, target.row, at)
    many = is_many(claim.property)
    key = ClaimKey(
        target.row.object_id, claim.property, grounds.source, value_key(claim.value) if many else ""
    )
    standing = session.state.claims.get(key)
    current = standing if _seen(session, standing) else None
    resolve.require_version(
        current.pos if current else 0, stated.expected_version, f"{at}.expected_version"
    )
    _require_audience(current, audience, at)
    result: Result = {"object": target.as_json(), "property": claim.property}
    if current is not None and current.digest == digest(claim.value):
        settled = _say_again(session, current.provenance, grounds, audience, key.object_id)
        if settled is not None:
            return settled | result
    event = Asserted(
        object_id=target.row.object_id,
        property=claim.property,
        value=claim.value,
        many=many,
        grounds=grounds,
        replaces=standing.pos if many and standing else None,
    )
    made = session.emit(event, audience=audience)
    result = {"outcome": SUPERSEDED if current else ASSERTED, "pos": made.pos} | result
    result["id"] = str(made.event_id)
    result["class"] = grounds.evidence_class.value
    if current is not None:
        result["replaced"] = _quoted(current)
        quotes.append(current.pos)
    if not many:
        _disagreements(session, target.row, key, digest(claim.value), result, quotes)
    return result


def _link(session: Session, link: LinkInput, at: str) -> Result:
    stated = link.stated
    link_type = require_link(link.type, f"{at}.link")
    src = resolve.settle(session, link.src, f"{at}.from", stated.audience)
    dst = resolve.settle(session, link.dst, f"{at}.to", stated.audience)
    grounds, audience = _grounds(session, stated, src.row, at)
    if audience == FLEET:
        audience = dst.row.audience
    key = LinkKey(src.row.object_id, link_type, dst.row.object_id, grounds.source)
    standing = session.state.links.get(key)
    current = standing if _seen(session, standing) else None
    resolve.require_version(
        current.pos if current else 0, stated.expected_version, f"{at}.expected_version"
    )
    _require_audience(current, audience, at)
    result: Result = {"from": src.as_json(), "link": link_type, "to": dst.as_json()}
    if current is not None:
        settled = _say_again(session, current.provenance, grounds, audience, key.src_id)
        if settled is not None:
            return settled | result
    event = Linked(
        object_id=key.src_id,
        type=link_type,
        dst_id=key.dst_id,
        grounds=grounds,
        replaces=standing.pos if standing else None,
    )
    made = session.emit(event, audience=audience)
    outcome = SUPERSEDED if current else LINKED
    return {"outcome": outcome, "pos": made.pos, "id": str(made.event_id)} | result


def _seen(session: Session, row: Claim | Link | None) -> bool:
    """Say whether the actor may know what stands in the slot it writes to.

    Two principals may own one source. What one of them said for fewer eyes is superseded by the
    other like anything of that source, but the answer is that of an empty slot.
    """
    return row is not None and session.actor.reader.may_see(row.provenance.audience)


def _require_audience(current: Claim | Link | None, audience: str, at: str) -> None:
    """Refuse a correction under another audience.

    It would close what one audience reads by something that it may not see.
    """
    if current is not None and current.provenance.audience != audience:
        raise Refused(
            f"Your claim at pos {current.pos} has the audience {current.provenance.audience}, "
            f"and this one {audience}.",
            code="audience_differs",
            field=f"{at}.audience",
            next_step="Retract the former claim first, or keep its audience.",
        )


def _say_again(
    session: Session, current: Provenance, grounds: Grounds, audience: str, object_id: UUID
) -> Result | None:
    """Return what saying the same again comes to, or None when it is not the same."""
    same = (
        current.evidence_class is grounds.evidence_class
        and current.band == grounds.band
        and current.valid_from == grounds.valid_from
        and current.valid_to == grounds.valid_to
        and current.audience == audience
    )
    if not same:
        return None
    settled: Result = {"outcome": UNCHANGED, "pos": current.pos, "id": str(current.event_id)}
    if session.now - current.last_observed >= session.reobserve_after:
        event = Reobserved(object_id=object_id, of_pos=current.pos)
        session.emit(event, audience=current.audience)
        settled["outcome"] = REOBSERVED
    if grounds.evidence != current.evidence:
        settled["note"] = "The evidence differs and was not recorded: nothing else changed."
    return settled


def _grounds(session: Session, stated: Stated, row: ObjectRow, at: str) -> tuple[Grounds, str]:
    actor = session.actor
    source = _own_source(session, stated.source, f"{at}.source")
    audience = resolve.writable_audience(session, stated.audience)
    if row.audience != FLEET and (audience == FLEET or stated.audience is None):
        audience = row.audience
    rule = trust_rule(actor)
    band = rule.band
    for parent_id in stated.derived_from:
        parent = session.known.parents.get(parent_id)
        if parent is None or not all(actor.reader.may_see(a) for a in parent.audiences):
            raise NotFound(
                f"There is no claim {parent_id} to derive from.",
                field=f"{at}.derived_from",
                next_step="Give the ids of claims as recall and open show them.",
            )
        band = min(band, parent.band)
    grounds = Grounds(
        source=source,
        evidence_class=_class(session, stated, row, at),
        rule=rule.rule,
        band=Band(band),
        root=f"principal:{actor.principal_id}",
        evidence=stated.evidence,
        derived_from=stated.derived_from,
        valid_from=stated.valid_from.text if stated.valid_from else None,
        valid_to=stated.valid_to.text if stated.valid_to else None,
    )
    return grounds, audience


def _class(session: Session, stated: Stated, row: ObjectRow, at: str) -> EvidenceClass:
    """Return the evidence class: the declared one if it is legal here, else the weakest that fits.

    Raises:
        Refused: the class is not for this kind of principal, or lacks what it needs.
    """
    operator = session.actor.role is Role.OPERATOR
    ingest = session.actor.via is Via.INGEST or session.actor.role is Role.INGESTOR
    match stated.evidence_class:
        case None:
            at_console = operator and session.actor.via in (Via.CONSOLE, Via.MCP)
            return EvidenceClass.SELF_DECLARED if at_console else EvidenceClass.CO_OCCURRENCE
        case EvidenceClass.SELF_DECLARED if not (operator or _is_own(session, row)):
            problem = "self_declared is for what a principal says of itself or its own acts."
        case EvidenceClass.AUTHORITATIVE_API if not ingest:
            problem = "authoritative_api is for an ingestor that owns the source."
        case EvidenceClass.AUTHORITATIVE_API | EvidenceClass.DIRECT_OBSERVATION if (
            stated.evidence is None
        ):
            problem = f"{stated.evidence_class} needs evidence: an address that backs it."
        case legal:
            return legal
    raise Refused(
        problem,
        code="class_illegal",
        field=f"{at}.class",
        next_step="Leave the class out for the weakest, or give what it needs.",
    )


def _is_own(session: Session, row: ObjectRow) -> bool:
    if row.type == "Agent":
        return row.canonical == canonical_name(session.actor.reader.name)
    return row.type in OWN_ACTS and row.created_by == session.actor.principal_id


def _own_source(session: Session, asked: str | None, field: str = "source") -> str:
    source = asked if asked is not None else session.actor.source
    if session.actor.owns(source):
        return source
    raise Refused(
        f"Your credential does not speak for the source {source!r}.",
        code="source_not_owned",
        field=field,
        next_step="Leave the source out to speak for yourself.",
    )


def _retractable_source(session: Session, asked: str | None) -> str:
    """Return whose claim is withdrawn: one's own, or for an operator anyone's."""
    if asked is not None and session.actor.role is Role.OPERATOR:
        return asked
    return _own_source(session, asked)


def _disagreements(
    session: Session,
    row: ObjectRow,
    key: ClaimKey,
    mine: bytes,
    result: Result,
    quotes: list[int],
) -> None:
    others: list[Json] = []
    for claim in _slot(session, row, key.property):
        if claim.digest == mine or claim.key == key:
            continue
        quotes.append(claim.pos)
        shown: Result = {"source": claim.key.source, "class": claim.provenance.evidence_class.value}
        others.append(shown | _quoted(claim))
    if others:
        result["disagrees"] = others


def _slot(session: Session, row: ObjectRow, name: str) -> list[Claim]:
    """Return the visible claims of one property in the whole merged group, oldest first."""
    may_see = session.actor.reader.may_see
    group = session.state.group(row.object_id)
    return [
        claim
        for claim in session.state.slot(group, name)
        if may_see(claim.provenance.audience)
        and may_see(session.state.objects[claim.key.object_id].audience)
    ]


def _quoted(claim: Claim) -> Result:
    quoted: Result = {"pos": claim.pos}
    if claim.value is not None and len(claim.value) <= QUOTED_CHARS:
        quoted["value"] = json.loads(claim.value)
    return quoted


QUOTED_IN_ALL: Final = 60_000
"""Characters of JSON that the quotes of one answer may hold together."""
QUOTED_CHARS: Final = 2_000
"""Longer values are quoted by pos alone; `open` shows them."""


def _group_from(session: Session, row: ObjectRow) -> list[UUID]:
    """Return the ids of a merged group, the named object first."""
    group = session.state.group(session.state.head(row).object_id)
    return [row.object_id, *sorted(group - {row.object_id})]
