"""Owns P6 and P8: what left `active` is in no route, and what is hidden changes no answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from muniment.domain import parse
from muniment.domain.errors import MunimentError, NotFound
from tests.integration.reads.conftest import MakeDesk
from tests.integration.reads.desk import Answer, Desk, names, text, values

WORDS = "quetzal feathers glow"

Leave = Callable[[Desk, str], Awaitable[object]]


async def _archive(desk: Desk, about: str) -> object:
    return await desk.set_status(about, "archived")


async def _retire(desk: Desk, about: str) -> object:
    return await desk.set_status(about, "retired")


async def _make_historical(desk: Desk, about: str) -> object:
    return await desk.set_status(about, "historical")


async def _merge(desk: Desk, about: str) -> object:
    return await desk.merge(about, "Survivor")


async def _redact(desk: Desk, about: str) -> object:
    events = (await desk.trace(about))["events"]
    await desk.do(parse.parse_rename({"about": about, "name": "Gone", "reason": "It must go."}))
    positions = [event["pos"] for event in events]
    await desk.do(parse.parse_redact({"positions": positions, "reason": "It must go."}))
    return await desk.set_status(about, "retired")


WAYS_OUT: dict[str, Leave] = {
    "archived": _archive,
    "retired": _retire,
    "historical": _make_historical,
    "merged": _merge,
    "redacted": _redact,
}


async def _everything(desk: Desk, target: str) -> dict[str, bytes]:
    """Return the bytes of each read that could lead to the target from elsewhere."""
    queries = {
        "id": target,
        "name": "Quetzal Bird",
        "prefix": "quetzal bi",
        "trigram": "Quetzel Bird",
        "strict": WORDS,
        "relaxed": f"{WORDS} unheard of",
        "name and value": "quetzal bird feathers",
        "tag": "plumage",
    }
    found = {f"recall by {how}": await desk.recall(q) for how, q in queries.items()}
    found |= {
        f"recall by {how}, closed too": await desk.recall(q, include_superseded=True)
        for how, q in queries.items()
    }
    found["recall with untrusted"] = await desk.recall(WORDS, untrusted=True)
    found["recall as of"] = await desk.recall(WORDS, as_of="9000")
    found["recall by scope"] = await desk.recall(WORDS, type="Concept", property="note")
    found["neighbours"] = await desk.neighbours("Neighbour")
    found["dossier of a neighbour"] = await desk.open("Neighbour")
    found["list"] = await desk.list(type="Concept")
    found["stale list"] = await desk.list(stale_before="9000")
    counts = await desk.reads.count_objects(desk.who.reader)
    found["count"] = {"active": counts["active"]}
    return {how: text(answer) for how, answer in found.items()}


async def _put(desk: Desk) -> str:
    await desk.make("Concept", "Survivor", "Neighbour")
    (target,) = await desk.make("Concept", "Quetzal Bird")
    await desk.say(target, "note", WORDS)
    await desk.say(target, "description", f"older {WORDS}")
    await desk.say(target, "description", f"newer {WORDS}")
    await desk.say(target, "tag", "plumage")
    await desk.link("Neighbour", "related_to", target)
    await desk.link(target, "uses", "Neighbour")
    await desk.link("Neighbour", "part_of", "Survivor")
    return target


@pytest.mark.promise("P6")
@pytest.mark.parametrize("way", WAYS_OUT)
async def test_what_left_active_is_gone_from_every_route_list_count_and_neighbour(
    desk: Desk, way: str
) -> None:
    target = await _put(desk)
    before = await _everything(desk, target)
    assert all(
        target.encode() in found for how, found in before.items() if not how.startswith("count")
    )
    await WAYS_OUT[way](desk, target)
    after = await _everything(desk, target)
    for how, found in after.items():
        shown = found.split(b'"sufficiency"')[0]
        assert target.encode() not in shown, how
        if way == "merged":
            continue
        for word in (b"Quetzal Bird", b"feathers glow", b"plumage"):
            assert word not in shown, (how, word)
    assert b'"Concept":3' in before["count"]
    assert b'"Concept":2' in after["count"]


@pytest.mark.promise("P5")
async def test_merged_objects_text_is_found_under_the_survivor_on_every_text_route(
    desk: Desk,
) -> None:
    target = await _put(desk)
    await desk.merge(target, "Survivor")
    for query in (WORDS, f"{WORDS} unheard of", "Quetzal Bird", "quetzal bi", "Quetzel Bird"):
        found = await desk.recall(query)
        assert set(names(found)) == {"Survivor"}, query
        assert all(hit["via_name"] == "Quetzal Bird" for hit in found["hits"]), query
    links = (await desk.open("Survivor"))["links"]
    assert [one["name"] for one in links["out"]["uses"]] == ["Neighbour"]
    assert links["out"]["uses"][0]["via_name"] == "Quetzal Bird"


@pytest.mark.promise("P6")
async def test_what_came_back_is_found_again(desk: Desk) -> None:
    target = await _put(desk)
    before = await _everything(desk, target)
    for leave in (_archive, _retire, _make_historical):
        await leave(desk, target)
        await desk.set_status(target, "active")
    await desk.merge(target, "Survivor")
    await desk.unmerge(target)
    assert await _everything(desk, target) == before


async def _looks(desk: Desk, shared: str) -> dict[str, bytes]:
    """Return the bytes of each read that a reader can make of what it sees."""
    found: dict[str, Answer] = {}
    for query in ("phoenix", "phoenix rises again", "Billing", "billng", "phoenix unheard of"):
        found[f"recall {query}"] = await desk.recall(query, limit=3)
        found[f"recall all {query}"] = await desk.recall(query, limit=100)
        found[f"recall closed {query}"] = await desk.recall(query, include_superseded=True)
        found[f"recall untrusted {query}"] = await desk.recall(query, untrusted=True)
        found[f"recall names {query}"] = await desk.recall(query, names_only=True)
        found[f"recall as of {query}"] = await desk.recall(query, as_of="2500")
    found["recall by object"] = await desk.recall("phoenix", about=shared)
    found["nothing"] = await desk.recall("hiddenword")
    found["open"] = await desk.open(shared)
    found["open by name"] = await desk.open("Billing", type="Service")
    found["open as of"] = await desk.open(shared, as_of="2500")
    found["open known"] = await desk.open(shared, known_at=10_000_000)
    found["trace"] = await desk.trace(shared, limit=2)
    found["trace all"] = await desk.trace(shared, limit=100)
    found["history"] = await desk.trace(shared, property="owner")
    found["neighbours"] = await desk.neighbours(shared)
    found["list"] = await desk.list(limit=5)
    found["list retired"] = await desk.list(status="retired")
    found["list merged"] = await desk.list(status="merged")
    found["stale"] = await desk.list(stale_before="9000")
    found["count"] = await desk.reads.count_objects(desk.who.reader)
    return {how: text(answer) for how, answer in found.items()}


@pytest.mark.promise("P8")
async def test_hidden_rows_change_no_byte_of_any_answer(desk: Desk, make_desk: MakeDesk) -> None:
    bob = await make_desk("bob")
    eve = await make_desk("eve")
    (shared,) = await desk.make("Service", "Billing")
    ledger, web = await desk.make("Service", "Ledger", "Phoenix web")
    await desk.say(shared, "owner", "phoenix team")
    await desk.say(shared, "owner", "phoenix crew")
    await bob.say(shared, "owner", "griffin team")
    await desk.say(shared, "note", "phoenix rises again")
    await desk.link(shared, "uses", ledger)
    await desk.say_many(
        {"about": f"doc {n}", "type": "Document", "property": "text", "value": f"phoenix {n}"}
        for n in range(12)
    )
    before = await _looks(bob, shared)

    hidden = desk.of(eve.who)
    private = {"audience": f"principal:{eve.who.reader.principal_id}"}
    await hidden.say(shared, "owner", "griffin team", **private)
    await hidden.say(shared, "note", "phoenix rises again", **private)
    await hidden.say(shared, "tag", "hiddenword", **private)
    await hidden.make("Service", "Billing", "Billng", "Ledger", **private)
    await hidden.make("Project", "Billing", "Phoenix", **private)
    await hidden.link(shared, "uses", web, **private)
    await hidden.link(web, "depends_on", shared, **private)
    await hidden.say_many(
        {"about": f"h{n}", "type": "Document", "property": "text", "value": "phoenix rises again"}
        | private
        for n in range(1_500)
    )
    (one, two) = await hidden.make("Document", "hiddenword one", "hiddenword two", **private)
    await desk.merge(one, two)
    (three,) = await hidden.make("Document", "hiddenword three", **private)
    await desk.set_status(three, "retired")

    after = await _looks(bob, shared)
    assert {how: found for how, found in after.items() if found != before[how]} == {}


@pytest.mark.promise("P8")
async def test_hidden_and_absent_objects_give_the_same_error(
    desk: Desk, make_desk: MakeDesk
) -> None:
    eve = await make_desk("eve", audience="private")
    bob = await make_desk("bob")
    (hidden,) = await eve.make("Service", "Hidden thing")
    absent = hidden[:-4] + ("0000" if hidden[-4:] != "0000" else "1111")

    async def error_of(read: Awaitable[Answer]) -> dict[str, object]:
        with pytest.raises(NotFound) as error:
            await read
        return dict(MunimentError.as_dict(error.value))

    for read in (bob.open, bob.trace, bob.neighbours):
        by_id = await error_of(read(hidden))
        assert text(by_id).replace(hidden.encode(), b"") == text(
            await error_of(read(absent))
        ).replace(absent.encode(), b"")
        by_name = await error_of(read("Hidden thing"))
        assert text(by_name).replace(b"Hidden", b"") == text(
            await error_of(read("Absent thing"))
        ).replace(b"Absent", b"")
    assert (await bob.recall(hidden))["hits"] == []
    assert (await eve.open(hidden))["object"]["id"] == hidden


@pytest.mark.promise("P8")
async def test_private_object_of_the_same_name_stands_beside_the_visible_one(
    desk: Desk, make_desk: MakeDesk
) -> None:
    eve = await make_desk("eve", audience="private")
    bob = await make_desk("bob")
    await eve.say("Plan", "text", "phoenix in private", type="Document")
    await bob.say("Plan", "text", "phoenix for all", type="Document")
    assert values(await bob.recall("phoenix")) == ["phoenix for all"]
    assert sorted(map(str, values(await eve.recall("phoenix")))) == [
        "phoenix for all",
        "phoenix in private",
    ]
    assert (await bob.open("plan"))["object"]["id"] != (await eve.open("plan"))["object"]["id"]
