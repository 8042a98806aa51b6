"""Owns how the hot statements are carried out at fifty thousand claims: by index, never by scan.

A session keeps the plan of a statement for as long as nothing tells it better. So the plans looked
at are those of sessions that were opened while the tables were empty, of others opened later, and
of others again after statistics were gathered, all without the values of parameters.
"""

from __future__ import annotations

from typing import Final

import pytest

from muniment.actions import Actions, WriterSettings
from muniment.reads import Reads
from muniment.store.database import Connection, Database
from muniment.store.statements import load
from muniment.surfaces.principal import Principal
from tests.conftest import MakeAgent
from tests.integration.core import calls
from tests.integration.core.calls import claim, ensure, link
from tests.integration.plans.conftest import fill, name, open_sessions
from tests.integration.plans.watch import Watch, listen
from tests.integration.reads.desk import Desk

pytestmark = pytest.mark.filterwarnings("ignore:.*active log listener")

BIG: Final = {
    "assertion_history",
    "assertions",
    "idempotency_keys",
    "link_history",
    "links",
    "object_aliases",
    "object_events",
    "objects",
    "search_documents",
}
"""Tables that grow with the log, or with its use."""
MOST_ROWS: Final = 2_000
"""A statement here is about a few objects, or about one batch of a hundred commands."""
PASSES: Final = 200_000
"""Without statistics, search may pass over all documents once for each word, and no more often."""
SEARCHES: Final = {
    load(file)[name].splitlines()[0][3:]
    for file, name in (
        ("read/objects.sql", "list_objects"),
        ("read/recall.sql", "find_names"),
        ("read/recall.sql", "count_documents"),
        ("read/recall.sql", "rank_documents"),
    )
}
"""Statements whose work depends on how common something is, which only statistics tell."""
INDEXES: Final = {
    ("write/load.sql", "objects"): {"objects_pkey", "objects_head", "object_aliases_pkey"},
    ("write/load.sql", "claims"): {"assertions_head"},
    ("write/load.sql", "parents"): {"assertions_event", "assertion_history_event"},
    ("write/commit.sql", "commit"): {"assertions_pkey", "search_documents_pkey"},
    ("write/commit.sql", "links"): {"links_pkey"},
    ("write/after.sql", "move_documents"): {"objects_pkey", "search_documents_object"},
    ("read/lens.sql", "links_from"): {"links_src_head"},
    ("read/lens.sql", "links_to"): {"links_dst_head"},
}
"""What certain statements must use."""


async def _write(desk: Desk, mark: str) -> None:
    """Write each kind of thing once, on objects that the fill has made."""
    actions, who = desk.actions, desk.who.actor
    one, two = [await calls.create(actions, who, "Person", f"{mark} {n}") for n in "ab"]
    first = await actions.perform(who, claim(one, "email", "a"), key=f"{mark}1")
    for command in (
        claim(one, "email", "b"),
        claim(name(7, 3), "note", f"{mark} anew", type="Note"),
        claim(name(7, 4), "tag", f"{mark} anew"),
        claim(
            one,
            "summary",
            "c",
            class_="derived",
            derived_from=[calls.result_of(first.answer)["id"]],
        ),
        link(one, "related_to", two),
        link(one, "related_to", two, evidence="https://example.org/a"),
        link(one, "related_to", name(9, 1)),
        calls.retract(one, "summary"),
        calls.merge(one, two),
        claim(one, "note", "redirected"),
        calls.unmerge(one),
        calls.rename(name(11, 2) if mark == "empty" else one, f"{mark} renamed"),
        calls.set_status(two, "archived"),
        calls.set_status(two, "active"),
    ):
        await actions.perform(who, command, key=f"{mark}{id(command)}")
    bulk = [(claim(name(n, 5), "note", f"{mark} bulk {n}", type="Note"), None) for n in range(100)]
    await actions.perform_many(who, bulk)
    await actions.perform_many(who, [(ensure("Note", f"{mark} {n}"), None) for n in range(100)])


async def _read(desk: Desk, mark: str) -> None:
    """Take each route and each lens."""
    one = f"{mark} renamed"
    for query in (one, "thing44x4", "thnig44x4", "word44x4x4", "word44x4x4 unheard"):
        await desk.recall(query)
    await desk.recall("word44x4x4", type="Note", property="tag")
    await desk.recall("word44x4x4", about=name(44, 4), known_at=40_000)
    await desk.recall("anew", include_superseded=True, untrusted=True)
    for about in (name(7, 3), name(44, 4)):
        await desk.open(about)
        await desk.open(about, known_at=50_000)
        await desk.trace(about)
        await desk.trace(about, property="note")
        await desk.neighbours(about)
    await desk.list(type="Note", limit=20)


async def _exercise(database: Database, who: Principal, agent: Principal, mark: str) -> None:
    actions = Actions(database, WriterSettings(documents=True))
    for principal in (who, agent):
        desk = Desk(who=principal, actions=actions, reads=Reads(database))
        if principal is who:
            await _write(desk, mark)
        await _read(desk, mark)
    await actions.close()


def _faults(phase: str, watch: Watch, *, analyzed: bool) -> list[str]:
    """Return what is wrong with the plans that were heard."""
    faults: list[str] = []
    for statement, plans in watch.plans.items():
        most = PASSES if statement in SEARCHES and not analyzed else MOST_ROWS
        for plan in plans:
            if not plan.generic:
                faults.append(f"{phase}: {statement}: not generic\n{plan.text}")
            if plan.scanned & BIG:
                faults.append(f"{phase}: {statement}: scans {plan.scanned & BIG}\n{plan.text}")
            elif plan.most_rows > most:
                faults.append(f"{phase}: {statement}: {plan.most_rows:.0f} rows\n{plan.text}")
    return faults


async def test_hot_statements_take_their_indexes_whenever_they_were_prepared(
    telling: Connection, dsn: str, operator: Principal, make_agent: MakeAgent
) -> None:
    agent = await make_agent("agent")
    early = await open_sessions(dsn)
    await _begin(early, operator)
    await _exercise(early, operator, agent, "empty")
    actions = Actions(early)
    await fill(actions, operator)
    await actions.close()
    heard = {"prepared while empty": await _heard(early, operator, agent, "early")}
    heard["prepared later"] = await _heard(await open_sessions(dsn), operator, agent, "later")
    await telling.execute("VACUUM ANALYZE")
    heard["analyzed"] = await _heard(await open_sessions(dsn), operator, agent, "analyzed")
    faults = [
        fault
        for phase, watch in heard.items()
        for fault in _faults(phase, watch, analyzed=phase == "analyzed")
    ]
    assert not faults, "\n\n".join(faults)
    _require_indexes(heard)


async def _heard(database: Database, who: Principal, agent: Principal, mark: str) -> Watch:
    """Exercise a database's sessions, close them and return the plans that they told."""
    watch = listen(database)
    await _exercise(database, who, agent, mark)
    await database.close()
    return watch


async def _begin(database: Database, who: Principal) -> None:
    """Make what the exercise names, since it runs before the fill as well."""
    actions = Actions(database)
    for call, number in ((7, 3), (7, 4), (9, 1), (11, 2), (44, 4)):
        await calls.create(actions, who.actor, "Note", name(call, number))
    await actions.close()


def _require_indexes(heard: dict[str, Watch]) -> None:
    """Require the indexes that were made for a statement."""
    for phase, watch in heard.items():
        for (file, statement), wanted in INDEXES.items():
            purpose = load(file)[statement].splitlines()[0][3:]
            for plan in watch.plans[purpose]:
                assert wanted <= plan.indexes, (phase, statement, plan.text)
    text = load("read/recall.sql")["rank_documents"].splitlines()[0][3:]
    assert any("search_documents_text" in p.indexes for p in heard["analyzed"].plans[text])
