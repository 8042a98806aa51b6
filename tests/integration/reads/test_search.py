"""Owns what search finds: any script, any punctuation, and why each hit is there."""

from __future__ import annotations

import asyncpg
import pytest

from muniment.reads import search
from muniment.store.database import Connection, Database
from tests.integration.reads.conftest import MakeDesk
from tests.integration.reads.desk import Desk, names, refused, values

TYPED = (
    ("即适者生存，不适者淘汰", "适者生存"),
    ("注意健康与休息", "健康"),
    ("注意健康与休息", "健"),
    ("重跑gen-itgc后再看", "itgc"),
    ("the bot's messages are lost", "bot's messages"),
    ("never run rm -rf / as root", "rm -rf"),
    ("it is written in C++ today", "C++"),
    ("start it by crew:run", "crew:run"),
    ("see task_tools for more", "task_tools"),
    ("answers come from gpt-4o", "gpt-4o"),
    ("it fails at foo/bar.py:12", "foo/bar.py:12"),
    ("it fails at foo/bar.py:12", "bar.py"),
    ("Документы лежат здесь", "документы"),
    ("100% of a_b are \\ here", "100% a_b"),
)


async def test_value_is_found_by_what_a_person_would_type(desk: Desk) -> None:
    for n, value in enumerate(dict.fromkeys(value for value, _ in TYPED)):
        await desk.say(f"Document {n}", "text", value, type="Document")
    for value, query in TYPED:
        found = await desk.recall(query)
        assert values(found)[0] == value, query
        assert found["hits"][0]["routes"] == ["strict"], query
        assert found["sufficiency"]["uncovered"] == [], query


async def test_name_is_found_in_any_letter_case_and_width(desk: Desk) -> None:
    await desk.make("Project", "Tianda", "Other")
    for query in ("tianda", "TIANDA", "Ｔｉａｎｄａ", "  tianda  "):
        assert names(await desk.recall(query)) == ["Tianda"]


async def test_misspelt_name_is_found_by_its_trigrams(desk: Desk) -> None:
    await desk.make("Project", "Muniment Server", "Something Else")
    found = await desk.recall("Munimant Server")
    assert names(found)[0] == "Muniment Server"
    assert "trigram" in found["hits"][0]["routes"]


async def test_beginning_of_a_name_is_found(desk: Desk) -> None:
    await desk.make("Service", "postgres-primary", "valkey")
    found = await desk.recall("postg")
    assert names(found) == ["postgres-primary"]
    assert found["hits"][0]["routes"] == ["prefix"]


async def test_object_is_found_by_its_id(desk: Desk) -> None:
    (made, _) = await desk.make("Service", "alpha", "beta")
    found = await desk.recall(made)
    assert names(found)[0] == "alpha"
    assert "id" in found["hits"][0]["routes"]


async def test_exact_name_ranks_above_names_that_only_look_like_it(desk: Desk) -> None:
    await desk.make("Concept", "C", "C#", "C++", "C++ style")
    for query in ("C++", "c#", "c"):
        assert names(await desk.recall(query))[0].casefold() == query.casefold()


async def test_nothing_found_names_what_was_perhaps_meant(desk: Desk) -> None:
    await desk.make("Project", "Observability")
    found = await desk.recall("observablety stack for the whole fleet of machines")
    assert found["hits"] == []
    assert found["did_you_mean"] == [{"name": "Observability", "type": "Project"}]


async def test_relaxed_route_finds_what_has_some_of_the_words_and_says_which_are_missing(
    desk: Desk,
) -> None:
    await desk.say("Target", "text", "the scheduler drops heartbeats", type="Document")
    found = await desk.recall("heartbeats vanish mysteriously")
    assert values(found) == ["the scheduler drops heartbeats"]
    assert found["hits"][0]["routes"] == ["relaxed"]
    assert found["sufficiency"] == {
        "covered": ["heartbeats"],
        "uncovered": ["vanish", "mysteriously"],
    }


async def test_quoted_words_are_a_phrase(desk: Desk) -> None:
    await desk.say("One", "text", "blue green deployment", type="Document")
    await desk.say("Two", "text", "green then blue deployment", type="Document")
    found = await desk.recall('"blue green" deployment')
    assert found["hits"][0]["object"]["name"] == "One"
    assert found["hits"][0]["routes"] == ["strict"]
    assert all(hit["routes"] == ["relaxed"] for hit in found["hits"][1:])


async def test_search_says_that_the_semantic_route_is_not_there(desk: Desk) -> None:
    found = await desk.recall("anything")
    assert found["routes"]["semantic"].startswith("unavailable:")
    assert found["routes"]["strict"] == "ran"


async def test_query_of_symbols_alone_is_answered(desk: Desk) -> None:
    await desk.make("Concept", "->")
    found = await desk.recall("->")
    assert names(found) == ["->"]
    assert found["routes"]["strict"].startswith("skipped")


async def test_hit_carries_its_provenance(desk: Desk, make_desk: MakeDesk) -> None:
    agent = await make_desk("ada")
    made = await agent.say(
        "Billing",
        "owner",
        "team phoenix",
        type="Service",
        evidence="https://example.org/owners",
        valid_from="2024-05",
        **{"class": "direct_observation"},
    )
    (hit,) = (await desk.recall("phoenix"))["hits"]
    assert hit["object"] == made["object"] | {"created": True} or hit["object"]["name"] == "Billing"
    assert hit["property"] == "owner"
    assert hit["source"] == "agent:ada"
    assert hit["class"] == "direct_observation"
    assert hit["confidence"] == 0.6
    assert hit["band"] == "observed"
    assert hit["roots"] == 1
    assert hit["observed"]["times"] == 1
    assert hit["valid"] == {"from": "2024-05"}
    assert hit["evidence"] == "https://example.org/owners"
    assert hit["id"] == made["id"]


async def test_agreement_of_two_principals_corroborates_and_one_with_two_sources_does_not(
    desk: Desk, make_desk: MakeDesk
) -> None:
    ada = await make_desk("ada", owned_sources=("file:*",))
    bob = await make_desk("bob")
    await ada.say("Billing", "owner", "team phoenix", type="Service")
    await ada.say("Billing", "owner", "team phoenix", source="file:x")
    (first, second) = (await desk.recall("phoenix"))["hits"]
    assert first["roots"] == second["roots"] == 1
    assert first["class"] == "co_occurrence"
    await bob.say("Billing", "owner", "team phoenix")
    for hit in (await desk.recall("phoenix"))["hits"]:
        assert hit["roots"] == 2
        assert hit["class"] == "corroborated"
        assert hit["declared"] == "co_occurrence"
        assert hit["confidence"] == 0.8


async def test_better_obtained_claim_ranks_higher_among_equals(
    desk: Desk, make_desk: MakeDesk
) -> None:
    weak = await make_desk("weak")
    await desk.say("Alpha", "owner", "team phoenix", type="Service")
    await weak.say("Omega", "owner", "team phoenix", type="Service")
    assert names(await desk.recall("phoenix")) == ["Alpha", "Omega"]


async def test_disagreement_is_flagged(desk: Desk, make_desk: MakeDesk) -> None:
    ada = await make_desk("ada")
    await desk.say("Billing", "owner", "team phoenix", type="Service")
    await ada.say("Billing", "owner", "team griffin")
    for word in ("phoenix", "griffin"):
        (hit,) = (await desk.recall(word))["hits"]
        assert hit["disagreement"] is True


async def test_superseded_claim_is_found_only_when_asked_and_names_its_successor(
    desk: Desk,
) -> None:
    await desk.say("Billing", "owner", "team phoenix", type="Service")
    newer = await desk.say("Billing", "owner", "team griffin")
    assert (await desk.recall("phoenix"))["hits"] == []
    (hit,) = (await desk.recall("phoenix", include_superseded=True))["hits"]
    assert hit["superseded"]["by"] == {
        "id": newer["id"],
        "pos": newer["pos"],
        "value": "team griffin",
    }


async def test_no_route_shows_a_superseded_claim_unasked(desk: Desk) -> None:
    for name in ("Billing", "Billing 2", "Billing 3", "Billing 4"):
        await desk.say(name, "owner", "team phoenix", type="Service")
        await desk.say(name, "owner", "team griffin")
    for query in ("phoenix", "phoenix team billing", "Billing owner phoenix"):
        found = await desk.recall(query)
        assert "team phoenix" not in values(found)
        flagged = await desk.recall(query, include_superseded=True, limit=30)
        old = [hit for hit in flagged["hits"] if hit.get("value") == "team phoenix"]
        assert len(old) == 4
        assert all("superseded" in hit for hit in old)


async def test_snippet_is_a_part_of_the_value_of_its_own_claim(desk: Desk) -> None:
    long = [
        f"section {n} " + "filler words " * 400 + f"needle{n} in the middle " + "more " * 400
        for n in range(5)
    ]
    for n, value in enumerate(long):
        await desk.say(f"Page {n}", "text", value, type="Document")
    for n, value in enumerate(long):
        hit = (await desk.recall(f"needle{n}"))["hits"][0]
        assert f"needle{n}" in hit["snippet"]
        assert hit["snippet"] in value
        assert hit["object"]["name"] == f"Page {n}"
        assert hit["truncated"] is True
        assert hit["bytes"] == len(value) + 2
        assert (await desk.trace(f"Page {n}", property="text", limit=1))["versions"][0][
            "value"
        ] == value


async def test_value_that_is_no_text_is_found_and_shown_as_it_is(desk: Desk) -> None:
    value = {"host": "db-17.internal", "ports": [5432, 6379]}
    await desk.say("Primary", "note", value, type="Service")
    assert values(await desk.recall("db-17.internal")) == [value]


async def test_what_was_just_written_is_found_at_once(desk: Desk, make_desk: MakeDesk) -> None:
    private = await make_desk("ada", audience="private")
    for writer in (desk, private):
        for n in range(10):
            value = f"freshly written {writer.who.name} {n}"
            await writer.say(f"Spot {n} {writer.who.name}", "note", value, type="Note")
            found = await writer.recall(value, limit=1)
            assert values(found) == [value]


BAD_ARGUMENTS: tuple[tuple[dict[str, object], str], ...] = (
    *(({"query": "x", "limit": n}, "bad_limit") for n in (0, -1, 101, 10**9, True, "5", 2.5)),
    ({"query": ""}, "empty"),
    ({"query": " \t"}, "empty"),
    ({"query": "x" * 10_001}, "too_large"),
    ({"query": "a\x00b"}, "nul_character"),
    ({"query": "\ud800"}, "lone_surrogate"),
    ({"query": "x", "querry": "y"}, "unknown_argument"),
    ({"query": "x", "reader": "operator"}, "unknown_argument"),
    ({"query": "x", "type": "Projekt"}, "unknown_type"),
    ({"query": "x", "class": "corroborated"}, "unknown_class"),
    ({"query": "x", "as_of": "2024-05-01T10:00:00"}, "bad_date"),
    ({"query": "x", "known_at": 0}, "wrong_type"),
    ({"query": "x", "cursor": "AAAA"}, "bad_cursor"),
    ({"query": "x", "about": "Nobody"}, "not_found"),
    ({"query": "x", "project": "Nothing"}, "not_found"),
    ({"query": "x", "untrusted": "yes"}, "wrong_type"),
    ({"query": "x", "max_chars": 10}, "bad_limit"),
)


async def test_bad_argument_is_refused_with_its_code(desk: Desk) -> None:
    for arguments, code in BAD_ARGUMENTS:
        async with refused(code):
            await desk.recall(**arguments)  # pyright: ignore[reportArgumentType]


async def test_search_that_takes_too_long_is_an_error_and_the_next_one_is_answered(
    database: Database, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.say("Target", "text", "the scheduler drops heartbeats", type="Document")
    found = await desk.recall("scheduler heartbeats")
    blocker: Connection = await asyncpg.connect(database.dsn)
    async with blocker.transaction():
        await blocker.execute("LOCK TABLE search_documents IN ACCESS EXCLUSIVE MODE")
        monkeypatch.setattr(search, "ROUTE_SECONDS", 0.2)
        async with refused("search_timeout"):
            await desk.recall("scheduler heartbeats")
    await blocker.close()
    monkeypatch.undo()
    assert await desk.recall("scheduler heartbeats") == found
