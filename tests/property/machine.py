"""Random commands against a log, and what must hold after each: the machine that both floors share.

A floor is where commands are carried out: a log in memory or the writer on a real Postgres. The
machine keeps a model of its own, of claims alone: which source says what. A step may change it
only as that step's answer says, so a correction that touches another source's claim is found.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from muniment.domain import parse
from muniment.domain.canonical import Json, value_key
from muniment.domain.catalog import is_many
from muniment.domain.commands import Command, Redact, Remember, Retract
from muniment.domain.errors import MunimentError
from muniment.domain.identity import Actor, Role, Via, private_audience
from muniment.domain.outcomes import Outcome
from tests.unit.domain.desk import ALICE, BOB, OPERATOR, actor

SECRET = "project:00000000-0000-0000-0000-0000000000aa"
CAROL = actor("carol", audiences=(SECRET,), audience=SECRET)
DIARIST = actor("alice", audience="private")
CI = actor("ci", Role.INGESTOR, owned=("git:*",))
CD = actor("cd", Role.INGESTOR, owned=("git:*",), audiences=(SECRET,))
IMPORTER = actor("operator", Role.OPERATOR, via=Via.IMPORT, source="import")
WRITERS = [OPERATOR, OPERATOR, ALICE, BOB, CAROL, DIARIST, CI, CD, IMPORTER]
AUDIENCES = [None, None, None, "fleet", SECRET, private_audience(ALICE.principal_id)]

ClaimAt: TypeAlias = tuple[str, str, str, str]
Said: TypeAlias = dict[ClaimAt, tuple[str, int]]
Result: TypeAlias = Outcome | MunimentError


class Floor(Protocol):
    """Where commands are carried out."""

    def perform(self, commands: Sequence[tuple[Actor, Command]]) -> list[Result]:
        """Carry out commands as one batch, in order, each on its own."""
        ...

    def claims(self) -> Said:
        """Return (value, pos) of each current claim by object, property, source and value key."""
        ...

    def retracted_at(self, pos: int) -> int:
        """Return the pos of the claim that the event at `pos` withdrew."""
        ...

    def length(self) -> int:
        """Return how many events the log has."""
        ...

    def dump(self) -> object:
        """Return all projections, in a form that compares."""
        ...

    def check(self) -> None:
        """Fail unless every projection is the fold of the log."""
        ...


NAMES = st.sampled_from(["Ann", "ann", "Bob", "Straße", "Muniment", "東京", "Zoë"])
TYPES = st.sampled_from(["Person", "Project", "Note"])
PROPERTIES = st.sampled_from(["email", "summary", "note", "tag"])
LINKS = st.sampled_from(["related_to", "works_on", "same_as"])
VALUES: st.SearchStrategy[Json] = st.sampled_from(
    ["one", "two", ',"value":', "", None, 7, -0.0, {"a": [1, "é"]}, "x" * 2_500]
)
CLASSES = st.sampled_from(["derived", "co_occurrence"])
STATUSES = st.sampled_from(["active", "active", "archived", "retired", "historical"])
PICK = st.integers(0, 11)
STATED = st.fixed_dictionaries(
    {},
    optional={
        "class": CLASSES | st.just("self_declared"),
        "valid_from": st.sampled_from(["2020", "2021-05-03"]),
        "audience": st.sampled_from([a for a in AUDIENCES if a is not None]),
        "expected_version": st.sampled_from([0, 3, 9]),
    },
)
WHO = st.sampled_from(WRITERS)


class LogMachine(RuleBasedStateMachine):
    """The rules. A subclass gives the floor."""

    floor: Floor
    steps: int = 0

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.types: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.linked: list[tuple[Actor, str, str, str]] = []
        self.said: Said = {}
        self.waiting: list[tuple[Actor, Command]] = []

    def settle(self) -> None:
        """Begin with a few things, two of which not everybody sees."""
        for who, type, name in (
            (ALICE, "Person", "Ann"),
            (BOB, "Person", "Bob"),
            (BOB, "Person", "Robert"),
            (ALICE, "Person", "Zoë"),
            (CAROL, "Person", "Ann"),
            (CAROL, "Person", "Carol"),
            (CI, "Project", "Muniment"),
        ):
            self._do(who, parse.parse_ensure({"type": type, "name": name}))

    @rule(who=WHO, type=TYPES, name=NAMES, audience=st.sampled_from(AUDIENCES))
    def create(self, who: Actor, type: str, name: str, audience: str | None) -> None:
        raw: dict[str, Json] = {"type": type, "name": name}
        if audience is not None:
            raw["audience"] = audience
        self._do(who, parse.parse_ensure(raw))

    @rule(who=WHO, at=PICK, property=PROPERTIES, value=VALUES, stated=STATED)
    def say(
        self, who: Actor, at: int, property: str, value: Json, stated: Mapping[str, Json]
    ) -> None:
        claim = {"about": self._id(at), "property": property, "value": value} | dict(stated)
        if who in (CI, CD):
            claim["source"] = "git:x"
        self._do(who, parse.parse_remember({"claims": [claim]}))

    @rule(who=WHO, name=NAMES, type=TYPES, property=PROPERTIES, value=VALUES, at=PICK, link=LINKS)
    def say_more(
        self, who: Actor, name: str, type: str, property: str, value: Json, at: int, link: str
    ) -> None:
        """Create by name, claim twice and link, all in one call."""
        about = {"about": name, "type": type, "property": property}
        call = {
            "claims": [about | {"value": "before"}, about | {"value": value}],
            "links": [{"from": name, "from_type": type, "link": link, "to": self._id(at)}],
        }
        self._do(who, parse.parse_remember(call))

    @rule(who=WHO, src=PICK, link=LINKS, dst=PICK, stated=STATED)
    def relate(self, who: Actor, src: int, link: str, dst: int, stated: Mapping[str, Json]) -> None:
        ends: dict[str, Json] = {"from": self._id(src), "link": link, "to": self._id(dst)}
        self._do(who, parse.parse_relate(ends | dict(stated)))

    @rule(who=WHO, at=PICK, property=PROPERTIES, value=VALUES, exact=st.booleans())
    def retract(self, who: Actor, at: int, property: str, value: Json, exact: bool) -> None:
        raw: dict[str, Json] = {"about": self._id(at), "property": property, "reason": "Wrong."}
        if exact or is_many(property):
            raw["value"] = value
        if who in (CI, CD):
            raw["source"] = "git:x"
        self._do(who, parse.parse_retract(raw))

    @precondition(lambda self: self.said)
    @rule(at=PICK, exact=st.booleans())
    def retract_what_was_said(self, at: int, exact: bool) -> None:
        keys = self._in_order()
        object_id, property, source, value_key = keys[at % len(keys)]
        raw: dict[str, Json] = {"about": object_id, "property": property, "reason": "Wrong."}
        if exact or value_key:
            raw["value"] = json.loads(self.said[keys[at % len(keys)]][0])
        who = next(who for who in (*WRITERS, CD) if who.owns(source))
        self._do(who, parse.parse_retract(raw | {"source": source}))

    @precondition(lambda self: self.said)
    @rule(at=PICK, class_=CLASSES)
    def say_again(self, at: int, class_: str) -> None:
        """The same source, the same value: unchanged, or a restatement on other grounds."""
        keys = self._in_order()
        object_id, property, source, _ = key = keys[at % len(keys)]
        value = json.loads(self.said[key][0])
        claim = {"about": object_id, "property": property, "value": value, "class": class_}
        who = next(who for who in (*WRITERS, CD) if who.owns(source))
        self._do(who, parse.parse_remember({"claims": [claim | {"source": source}]}))

    @precondition(lambda self: self.linked)
    @rule(at=PICK, class_=CLASSES)
    def relate_again(self, at: int, class_: str) -> None:
        who, src, link, dst = self.linked[at % len(self.linked)]
        ends = {"from": src, "link": link, "to": dst, "class": class_}
        self._do(who, parse.parse_relate(ends))

    @precondition(lambda self: self.linked)
    @rule(at=PICK)
    def unrelate(self, at: int) -> None:
        who, src, link, dst = self.linked[at % len(self.linked)]
        ends = {"from": src, "link": link, "to": dst, "reason": "Wrong."}
        self._do(who, parse.parse_retract(ends))

    @rule(at=PICK, name=NAMES)
    def rename(self, at: int, name: str) -> None:
        raw = {"about": self._id(at), "name": name, "reason": "So called."}
        self._do(OPERATOR, parse.parse_rename(raw))

    @rule(at=PICK, name=NAMES)
    def rename_to_and_fro(self, at: int, name: str) -> None:
        """Give a name, the former one again, and the new one."""
        about = self._id(at, "Person")
        former = self.names.get(about, "Ann")
        for each in (name, former, name):
            raw = {"about": about, "name": each, "reason": "So called."}
            self._do(OPERATOR, parse.parse_rename(raw))

    @rule(at=PICK, status=STATUSES)
    def set_status(self, at: int, status: str) -> None:
        raw = {"about": self._id(at), "status": status, "reason": "As it is."}
        self._do(OPERATOR, parse.parse_set_status(raw))

    @rule(loser=PICK, survivor=PICK)
    def merge(self, loser: int, survivor: int) -> None:
        self._do(OPERATOR, self._merge(loser, survivor))

    @rule(at=PICK)
    def unmerge(self, at: int) -> None:
        self._do(OPERATOR, self._unmerge(at))

    @precondition(lambda self: not self.waiting)
    @rule(loser=PICK, survivor=PICK)
    def merge_and_unmerge(self, loser: int, survivor: int) -> None:
        """P5: merge, then its reverse, is the identity on every projection."""
        before = self.floor.dump()
        (merged,) = self._perform([(OPERATOR, self._merge(loser, survivor))])
        if isinstance(merged, MunimentError):
            assert self.floor.dump() == before
            return
        assert self.floor.dump() != before
        undo = parse.parse_unmerge({"loser": self._id(loser, "Person"), "reason": "Two."})
        (unmerged,) = self._perform([(OPERATOR, undo)])
        assert isinstance(unmerged, Outcome)
        assert unmerged.answer["outcome"] == "unmerged"
        assert self.floor.dump() == before

    @precondition(lambda self: self.said)
    @rule(at=PICK)
    def redact_what_was_said(self, at: int) -> None:
        positions = sorted(pos for _, pos in self.said.values())
        raw = {"positions": [positions[at % len(positions)]], "reason": "It was a secret."}
        self._do(OPERATOR, parse.parse_redact(raw))

    @rule(back=st.integers(0, 3))
    def redact_what_is_new(self, back: int) -> None:
        if (length := self.floor.length()) > back:
            raw = {"positions": [length - back], "reason": "It was a secret."}
            self._do(OPERATOR, parse.parse_redact(raw))

    @rule(seed=st.lists(st.integers(1, 60), min_size=1, max_size=3))
    def redact(self, seed: list[int]) -> None:
        length = self.floor.length()
        if length:
            positions = [1 + at % length for at in seed]
            raw = {"positions": positions, "reason": "It was a secret."}
            self._do(OPERATOR, parse.parse_redact(raw))

    @rule()
    def gather(self) -> None:
        """Let the next commands wait, so that they are decided as one batch."""
        self.waiting.append((OPERATOR, parse.parse_ensure({"type": "Note", "name": "Batch"})))

    @precondition(lambda self: self.waiting)
    @rule()
    def send(self) -> None:
        self._send()

    @invariant()
    def every_projection_is_the_fold_of_the_log(self) -> None:
        if not self.waiting:
            self.floor.check()

    def teardown(self) -> None:
        if self.waiting:
            self._send()
            self.floor.check()

    def _send(self) -> None:
        batch, self.waiting = self.waiting, []
        self._perform(batch)

    def _do(self, who: Actor, command: Command) -> None:
        if not self.waiting:
            self._perform([(who, command)])
        else:
            self.waiting.append((who, command))
            if len(self.waiting) > 8:
                self._send()

    def _perform(self, batch: Sequence[tuple[Actor, Command]]) -> list[Result]:
        type(self).steps += len(batch)
        before = self.floor.length()
        results = self.floor.perform(batch)
        wrote = False
        expected = dict(self.said)
        now = self.floor.claims()
        for (who, command), result in zip(batch, results, strict=True):
            if isinstance(result, MunimentError):
                assert result.code not in ("internal", "store_refused"), result.as_dict()
                assert result.next_step
                continue
            wrote = wrote or "pos" in result.answer
            self._learn(who, result.answer)
            self._expect(expected, who, command, result.answer)
        if not wrote:
            assert self.floor.length() == before
        assert now == expected
        self.said = now
        return results

    def _expect(
        self, expected: Said, who: Actor, command: Command, answer: Mapping[str, Any]
    ) -> None:
        """Change the model as the answer says, and no further."""
        match command:
            case Remember():
                for claim, result in zip(command.claims, answer["results"], strict=False):
                    if result["outcome"] in ("asserted", "superseded"):
                        many = is_many(claim.property)
                        key = (
                            result["object"]["id"],
                            claim.property,
                            claim.stated.source or who.source,
                            value_key(claim.value) if many else "",
                        )
                        expected[key] = (claim.value, result["pos"])
            case Retract():
                of_pos = self.floor.retracted_at(answer["pos"])
                (gone,) = [key for key, (_, pos) in expected.items() if pos == of_pos]
                assert gone[1:3] == (command.property, command.source or who.source)
                assert command.value in (None, expected[gone][0])
                del expected[gone]
            case Redact() if answer["outcome"] == "redacted":
                for key, (_, pos) in list(expected.items()):
                    if pos in answer["positions"]:
                        del expected[key]
            case _:
                pass

    def _in_order(self) -> list[ClaimAt]:
        """Return the keys of what is said by pos: ids differ from run to run."""
        return sorted(self.said, key=lambda key: self.said[key][1])

    def _learn(self, who: Actor, answer: Mapping[str, Any]) -> None:
        shown = [answer, *answer.get("results", ())]
        for part in shown:
            for name in ("object", "from", "to"):
                if name in part and part[name]["id"] not in self.types:
                    self.ids.append(part[name]["id"])
                    self.types[part[name]["id"]] = part[name]["type"]
                if name in part:
                    self.names[part[name]["id"]] = part[name]["name"]
            if part.get("outcome") == "linked":
                self.linked.append((who, part["from"]["id"], part["link"], part["to"]["id"]))

    def _id(self, at: int, type: str | None = None) -> str:
        ids = [i for i in self.ids if type is None or self.types[i] == type]
        return ids[at % len(ids)] if ids else "Nobody"

    def _merge(self, loser: int, survivor: int) -> Command:
        one, other = self._id(loser, "Person"), self._id(survivor, "Person")
        return parse.parse_merge({"loser": one, "survivor": other, "reason": "One."})

    def _unmerge(self, at: int) -> Command:
        return parse.parse_unmerge({"loser": self._id(at, "Person"), "reason": "Two."})
