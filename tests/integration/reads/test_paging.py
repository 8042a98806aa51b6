"""Owns cursors: pages that miss nothing and double nothing, and cursors that nobody can bend."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from functools import partial

from muniment.reads.search import NO_TERMS
from tests.integration.reads.conftest import MakeDesk
from tests.integration.reads.desk import Answer, Desk, refused, text


async def test_a_thousand_equal_scores_are_paged_without_a_double_or_a_miss_while_writes_go_on(
    desk: Desk,
) -> None:
    await desk.say_many(
        {"about": f"n{n:04}", "type": "Note", "property": "note", "value": "same words here"}
        for n in range(1_000)
    )
    seen: list[str] = []
    cursor: dict[str, object] = {}
    for page in range(1_000):
        found = await desk.recall("same words here", limit=37, **cursor)
        seen += [hit["id"] for hit in found["hits"]]
        await desk.say(f"new {page}", "note", "same words here", type="Note")
        await desk.say(f"n{page:04}", "tag", "touched")
        if "cursor" not in found:
            break
        cursor = {"cursor": found["cursor"]}
    assert len(seen) == len(set(seen)) == 1_000


async def test_pages_of_all_sizes_give_the_same_hits_in_the_same_order(desk: Desk) -> None:
    chance = random.Random(5)
    words = ["alpha", "beta", "gamma", "delta"]
    await desk.say_many(
        {
            "about": f"doc {n}",
            "type": "Document",
            "property": "text",
            "value": " ".join(chance.choices(words, k=chance.randint(1, 9))),
        }
        for n in range(120)
    )
    whole = (await desk.recall("alpha gamma", limit=100))["hits"]
    for limit in (1, 7, 30):
        pages = await desk.pages("alpha gamma", limit=limit)
        hits = [hit for page in pages for hit in page["hits"]]
        assert all(len(page["hits"]) == limit for page in pages[:-1])
        assert hits[:100] == whole


async def test_what_does_not_fit_into_the_answer_is_behind_its_cursor(desk: Desk) -> None:
    await desk.say_many(
        {
            "about": f"big {n}",
            "type": "Document",
            "property": "text",
            "value": "flood " + "x" * 280,
        }
        for n in range(40)
    )
    pages = await desk.pages("flood", limit=40, max_chars=3_000)
    assert len(pages) > 1
    assert all(len(text(page["hits"])) < 4_000 for page in pages)
    assert all("cut" in page for page in pages[:-1])
    ids = [hit["id"] for page in pages for hit in page["hits"]]
    assert len(ids) == len(set(ids)) == 40


async def test_twelve_megabytes_of_hits_give_a_bounded_answer(desk: Desk) -> None:
    await desk.say_many(
        {
            "about": f"huge {n}",
            "type": "Document",
            "property": "text",
            "value": f"flood {n} " + "lorem ipsum " * 10_000,
        }
        for n in range(100)
    )
    found = await desk.recall("flood", limit=100)
    assert len(text(found)) < 300_000
    assert len(found["hits"]) == 100 or "cursor" in found
    (object_id,) = await desk.make("Document", "Container")
    await desk.say_many(
        {"about": object_id, "property": "note", "value": f"{n} " + "lorem ipsum " * 10_000}
        for n in range(100)
    )
    for answer in (await desk.open(object_id), await desk.trace(object_id, limit=100)):
        assert len(text(answer)) < 400_000
        assert "cursor" in answer or "claims_cursor" in answer or b'"truncated"' in text(answer)


async def test_cursor_that_was_changed_or_borrowed_is_refused(
    desk: Desk, make_desk: MakeDesk
) -> None:
    ada = await make_desk("ada")
    await desk.say_many(
        {"about": f"n{n}", "type": "Note", "property": "note", "value": "same words"}
        for n in range(30)
    )
    cursor = (await desk.recall("same words", limit=5))["cursor"]
    assert (await desk.recall("same words", limit=9, cursor=cursor))["hits"]
    chance = random.Random(3)
    for _ in range(40):
        at = chance.randrange(len(cursor))
        other = chance.choice([c for c in "ABCxyz019-_" if c != cursor[at]])
        async with refused("bad_cursor"):
            await desk.recall("same words", cursor=cursor[:at] + other + cursor[at + 1 :])
    for bad in ("", "!", cursor[:-4], cursor + "AAAA", "é" * 50, "A" * 20_000):
        async with refused("bad_cursor"):
            await desk.recall("same words", cursor=bad)
    for other in (
        ada.recall("same words", cursor=cursor),
        desk.recall("same word", cursor=cursor),
        desk.recall("same words", type="Note", cursor=cursor),
        desk.list(cursor=cursor),
        desk.trace("n1", cursor=cursor),
        desk.open("n1", cursor=cursor),
        desk.neighbours("n1", cursor=cursor),
    ):
        async with refused("bad_cursor"):
            await other


async def all_pages(read: Callable[..., Awaitable[Answer]]) -> list[Answer]:
    """Follow the cursors of a read to its end."""
    pages = [await read()]
    while cursor := pages[-1].get("cursor"):
        pages.append(await read(cursor=cursor))
    return pages


async def test_trace_list_and_neighbours_page_through_everything_once(desk: Desk) -> None:
    (hub,) = await desk.make("Service", "hub")
    spokes = await desk.make("Service", *(f"spoke {n}" for n in range(60)))
    for n, spoke in enumerate(spokes):
        await desk.link(spoke, "depends_on" if n % 3 else "uses", hub)
        await desk.link(hub, "owns", spoke)

    events = [
        e["pos"]
        for page in await all_pages(partial(desk.trace, hub, limit=9))
        for e in page["events"]
    ]
    assert events == sorted(set(events))
    assert len(events) == 1 + 2 * 60
    listed = [
        o["id"]
        for page in await all_pages(partial(desk.list, type="Service", limit=7))
        for o in page["objects"]
    ]
    assert sorted(listed) == sorted([hub, *spokes])
    links = [
        (direction, link, one["id"])
        for page in await all_pages(partial(desk.neighbours, hub, limit=11))
        for direction, types in page["links"].items()
        for link, ones in types.items()
        for one in ones
    ]
    assert len(links) == len(set(links)) == 120
    (one_way,) = await all_pages(partial(desk.neighbours, hub, direction="in", link="uses"))
    assert len(one_way["links"]["in"]["uses"]) == 20


async def test_dossier_marks_links_and_claims_that_it_cuts_and_gives_the_rest(desk: Desk) -> None:
    (hub,) = await desk.make("Service", "hub")
    spokes = await desk.make("Service", *(f"spoke {n}" for n in range(50)))
    for spoke in spokes:
        await desk.link(spoke, "uses", hub)
    await desk.say_many(
        {"about": hub, "property": "note", "value": f"note number {n}"} for n in range(450)
    )
    dossier = await desk.open(hub)
    (cut,) = dossier["links_cut"]
    shown = dossier["links"]["in"]["uses"]
    assert cut["shown"] == len(shown) == 20
    rest = await desk.open(hub, cursor=cut["cursor"])
    ids = [one["id"] for one in [*shown, *rest["links"]["in"]["uses"]]]
    assert sorted(ids) == sorted(spokes)
    notes: list[str] = []
    answer = dossier
    while True:
        notes += [claim["value"] for group in answer["claims"] for claim in group["claims"]]
        if "claims_cursor" not in answer:
            break
        answer = await desk.open(hub, cursor=answer["claims_cursor"])
    assert sorted(notes) == sorted(f"note number {n}" for n in range(450))


async def test_five_hundred_odd_queries_are_answered(desk: Desk) -> None:
    await desk.say("Target", "text", "plain words % _ \\ & | ! <-> :* 'q' \"w\"", type="Document")
    chance = random.Random(11)
    punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ \t\n"
    scripts = "aZ9éßЖщ漢字かなハ한국ไทยहिं🚀\u200b\u0301\u202e\ufdfa\U0001d400"
    for _ in range(500):
        alphabet = punctuation if chance.random() < 0.4 else punctuation + scripts
        query = "".join(chance.choices(alphabet, k=chance.randint(1, 60)))
        if query.strip():
            found = await desk.recall(query)
            assert found["routes"]["strict"] in ("ran", NO_TERMS), query
