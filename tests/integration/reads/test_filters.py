"""Owns scope: each filter holds on each kind of hit, before anything is ranked or counted."""

from __future__ import annotations

from muniment.domain.identity import project_audience
from tests.integration.reads.conftest import MakeDesk
from tests.integration.reads.desk import Desk, names, refused, text, values


async def test_scope_holds_for_each_kind_of_hit(desk: Desk, make_desk: MakeDesk) -> None:
    ada = await make_desk("ada")
    await desk.say("Phoenix", "owner", "phoenix team", type="Project")
    await desk.say("Phoenix app", "owner", "phoenix team", type="Service")
    await ada.say("Phoenix app", "note", "phoenix rises")
    assert {
        h["object"]["type"] for h in (await desk.recall("phoenix", type="Service"))["hits"]
    } == {"Service"}
    by_property = await desk.recall("phoenix", property="note")
    assert values(by_property) == ["phoenix rises"]
    by_source = await desk.recall("phoenix", source="agent:ada")
    assert [hit["source"] for hit in by_source["hits"]] == ["agent:ada"]
    by_class = await desk.recall("phoenix", **{"class": "self_declared"})
    assert {hit["class"] for hit in by_class["hits"]} == {"self_declared"}
    by_object = await desk.recall("phoenix", about="Phoenix", about_type="Project")
    assert set(names(by_object)) == {"Phoenix"}
    by_name = await desk.recall("phoenix", names_only=True)
    assert sorted(names(by_name)) == ["Phoenix", "Phoenix app"]
    assert values(by_name) == []
    assert by_source["scope"] == {"source": "agent:ada"}


async def test_type_in_another_letter_case_is_the_same_scope(desk: Desk) -> None:
    await desk.make("Project", "Tianda")
    assert names(await desk.recall("tianda", type="project")) == ["Tianda"]
    async with refused("unknown_type"):
        await desk.recall("tianda", type="Projectt")


async def test_project_in_another_letter_case_is_the_same_scope_and_a_misspelt_one_is_named(
    desk: Desk,
) -> None:
    (project,) = await desk.make("Project", "Tianda")
    audience = f"project:{project}"
    await desk.say("Plan", "text", "secret phoenix plan", type="Document", audience=audience)
    await desk.say("Other", "text", "public phoenix plan", type="Document")
    for spelling in ("Tianda", "tianda", project):
        assert values(await desk.recall("phoenix", project=spelling)) == ["secret phoenix plan"]
    async with refused("not_found"):
        await desk.recall("phoenix", project="Tiandaa")


async def test_write_into_a_scope_is_read_from_that_scope(desk: Desk, make_desk: MakeDesk) -> None:
    (project,) = await desk.make("Project", "Tianda")
    audience = f"project:{project}"
    inside = await make_desk("inside", audiences=(audience,), audience=audience)
    outside = await make_desk("outside")
    await inside.say("Plan", "text", "phoenix plan", type="Document")
    assert values(await inside.recall("phoenix")) == ["phoenix plan"]
    assert values(await inside.recall("phoenix", project="Tianda")) == ["phoenix plan"]
    assert values(await inside.recall("phoenix", audience="fleet")) == []
    assert (await outside.recall("phoenix"))["hits"] == []
    assert (await outside.recall("phoenix", project="Tianda"))["hits"] == []
    assert project_audience(inside.who.reader.workspace_id) not in inside.who.reader.audiences


async def test_two_principals_do_not_see_each_others_private_claims(
    desk: Desk, make_desk: MakeDesk
) -> None:
    ada = await make_desk("ada", audience="private")
    bob = await make_desk("bob", audience="private")
    for who in (ada, bob):
        await who.say("Diary", "note", f"phoenix says {who.who.name}", type="Note")
    for who in (ada, bob):
        for found in (
            await who.recall("phoenix"),
            await who.recall("diary"),
            await who.recall("phoenix", audience="private"),
        ):
            assert values(found) == [f"phoenix says {who.who.name}"]
    assert len(values(await desk.recall("phoenix"))) == 2


async def test_one_visible_row_among_ten_thousand_hidden_ones_is_found(
    desk: Desk, make_desk: MakeDesk
) -> None:
    ada = await make_desk("ada", audience="private")
    bob = await make_desk("bob")
    await desk.say("Target", "text", "phoenix plan", type="Document")
    await ada.say_many(
        {"about": f"d{n}", "type": "Document", "property": "text", "value": "phoenix plan"}
        for n in range(10_000)
    )
    for query in ("phoenix", "phoenix plan", "the phoenix plan of the fleet"):
        found = await bob.recall(query)
        assert values(found) == ["phoenix plan"]
        assert "capped" not in found


async def test_one_row_of_a_source_among_thousands_of_others_is_found(
    desk: Desk, make_desk: MakeDesk
) -> None:
    ada = await make_desk("ada")
    await ada.say("Target", "text", "phoenix plan", type="Document")
    await desk.say_many(
        {"about": f"d{n}", "type": "Document", "property": "text", "value": "phoenix plan"}
        for n in range(3_000)
    )
    assert names(await desk.recall("phoenix", source="agent:ada")) == ["Target"]
    assert "capped" in await desk.recall("phoenix")


async def test_as_of_before_anything_was_known_finds_nothing_and_is_echoed(desk: Desk) -> None:
    await desk.say("Billing", "owner", "team phoenix", type="Service")
    for query in ("phoenix", "billing", "Billing owner"):
        found = await desk.recall(query, as_of="1900")
        assert found["hits"] == []
        assert found["as_of"] == "1900-12-31T23:59:59.999999Z"
    dossier = await desk.open("Billing", as_of="1900-01-01T00:00:00Z")
    assert dossier["claims"] == []
    assert dossier["as_of"] == "1900-01-01T00:00:00Z"
    assert dossier["not_in_force"] == 1
    assert "as_of" not in await desk.recall("phoenix")


async def test_as_of_selects_what_was_valid_then(desk: Desk, make_desk: MakeDesk) -> None:
    ada = await make_desk("ada")
    await desk.say(
        "Billing", "owner", "team phoenix", type="Service", valid_from="2019", valid_to="2021-06"
    )
    await ada.say("Billing", "owner", "team griffin", valid_from="2021-07")
    assert values(await desk.recall("team", as_of="2020")) == ["team phoenix"]
    assert values(await desk.recall("team", as_of="2023")) == ["team griffin"]
    assert values(await desk.recall("team")) == ["team griffin"]
    assert values(await desk.recall("team", as_of="2018")) == []


async def test_known_at_selects_what_the_log_held_then(desk: Desk) -> None:
    first = await desk.say("Billing", "owner", "team phoenix", type="Service")
    await desk.say("Billing", "owner", "team griffin")
    then = await desk.recall("team", known_at=first["pos"])
    assert values(then) == ["team phoenix"]
    assert then["known_at"] == first["pos"]
    assert values(await desk.recall("team")) == ["team griffin"]
    moment = (await desk.trace("Billing"))["events"][1]["at"]
    assert values(await desk.recall("team", known_at=moment)) == ["team phoenix"]


async def test_stale_objects_can_be_listed(desk: Desk) -> None:
    await desk.say("Fresh", "note", "seen today", type="Note")
    (never,) = await desk.make("Note", "Never observed")
    listed = await desk.list(type="Note", stale_before="2001")
    assert [one["id"] for one in listed["objects"]] == [never]
    assert len((await desk.list(type="Note", stale_before="9000"))["objects"]) == 2
    assert "last_observed" in text(await desk.list(type="Note")).decode()
