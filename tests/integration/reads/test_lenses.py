"""Owns dossier, trace and history: who said what, what answers, and how it came to be."""

from __future__ import annotations

import asyncpg

from muniment.domain import parse
from muniment.store.database import Connection, Database
from tests.integration.reads.conftest import MakeDesk
from tests.integration.reads.desk import Desk, claims_of, new_id, refused, text


async def test_dossier_shows_each_source_the_winner_and_the_disagreement(
    desk: Desk, make_desk: MakeDesk
) -> None:
    ada = await make_desk("ada")
    await ada.say("Billing", "owner", "team griffin", type="Service")
    await desk.say("Billing", "owner", "team phoenix")
    await ada.say("Billing", "owner", "team griffin 2")
    dossier = await desk.open("billing")
    (group,) = dossier["claims"]
    assert group["disagreement"] is True
    first, second = group["claims"]
    assert (first["value"], first["winner"], first["source"]) == ("team phoenix", True, "operator")
    assert (second["value"], second["source"]) == ("team griffin 2", "agent:ada")
    assert "winner" not in second
    assert first["class"] == "self_declared"
    assert first["band"] == "elevated"
    assert second["band"] == "observed"


async def test_corroboration_decides_the_winner(desk: Desk, make_desk: MakeDesk) -> None:
    ada, bob, eve = [await make_desk(name) for name in ("ada", "bob", "eve")]
    evidence = {"class": "direct_observation", "evidence": "https://example.org/a"}
    await eve.say("Billing", "owner", "team phoenix", type="Service", **evidence)
    await ada.say("Billing", "owner", "team griffin")
    await bob.say("Billing", "owner", "team griffin")
    claims = claims_of(await desk.open("Billing"), "owner")
    assert claims[0]["value"] == "team griffin"
    assert claims[0]["winner"] is True
    assert claims[0]["class"] == "corroborated"
    assert claims[0]["roots"] == 2
    assert claims[2]["value"] == "team phoenix"
    assert claims[2]["roots"] == 1


async def test_dossier_shows_links_both_ways_with_their_names(desk: Desk) -> None:
    await desk.make("Service", "billing", "ledger", "web")
    await desk.link("billing", "depends_on", "ledger")
    await desk.link("web", "uses", "billing")
    links = (await desk.open("billing"))["links"]
    assert [one["name"] for one in links["out"]["depends_on"]] == ["ledger"]
    assert [one["name"] for one in links["in"]["uses"]] == ["web"]
    assert links["in"]["uses"][0]["source"] == "operator"


async def test_merged_objects_facts_stand_under_the_survivor_with_the_name_they_came_from(
    desk: Desk, make_desk: MakeDesk
) -> None:
    ada = await make_desk("ada")
    await desk.say("Robert", "email", "bob@example.org", type="Person")
    await ada.say("Robert", "owner", "team phoenix")
    await desk.say("Bob", "owner", "team griffin", type="Person")
    await desk.merge("Robert", "Bob")
    dossier = await desk.open("Bob")
    assert claims_of(dossier, "email")[0]["via_name"] == "Robert"
    assert "via_name" not in claims_of(dossier, "owner")[0]
    assert [name["name"] for name in dossier["names"]] == ["Bob", "Robert"]
    by_old_name = await desk.open("Robert")
    assert by_old_name["object"] == dossier["object"]
    assert by_old_name["redirected_from"]["name"] == "Robert"
    assert by_old_name["redirected_from"]["status"] == "merged"
    assert by_old_name["redirected_from"]["note"] == "merged into Person 'Bob'"
    hit = (await desk.recall("bob@example.org"))["hits"][0]
    assert hit["object"]["name"] == "Bob"
    assert hit["via_name"] == "Robert"


async def test_a_source_that_spoke_under_two_merged_names_is_taken_at_its_last_word(
    desk: Desk,
) -> None:
    await desk.say("Bob", "owner", "team phoenix", type="Person")
    await desk.say("Robert", "owner", "team griffin", type="Person")
    await desk.merge("Robert", "Bob")
    first, second = claims_of(await desk.open("Bob"), "owner")
    assert (first["value"], first.get("winner")) == ("team griffin", True)
    assert (second["value"], second.get("superseded")) == ("team phoenix", True)
    (group,) = (await desk.open("Bob"))["claims"]
    assert "disagreement" not in group
    hits = {hit.get("value"): hit for hit in (await desk.recall("team"))["hits"]}
    assert hits["team phoenix"]["superseded"]["by"]["value"] == "team griffin"
    assert "superseded" not in hits["team griffin"]


async def test_object_of_any_status_can_be_opened_by_id_and_by_name(desk: Desk) -> None:
    for status in ("archived", "retired", "historical"):
        (made,) = await desk.make("Service", f"old {status}")
        await desk.say(made, "owner", "team phoenix")
        await desk.set_status(made, status)
        for about in (made, f"old {status}"):
            dossier = await desk.open(about)
            assert dossier["status"] == status
            assert dossier["status_reason"] == f"It is {status} now."
            assert claims_of(dossier, "owner")[0]["value"] == "team phoenix"
            assert (await desk.trace(about))["status"] == status


async def test_absent_object_is_not_found_and_a_near_name_is_told(desk: Desk) -> None:
    await desk.make("Service", "observability")
    async with refused("not_found"):
        await desk.open(new_id())
    async with refused("not_found"):
        await desk.trace("nothing like it")
    async with refused("not_found"):
        await desk.open("observabilty")


async def test_name_of_two_types_is_ambiguous_until_the_type_is_given(desk: Desk) -> None:
    await desk.make("Service", "Atlas")
    await desk.make("Project", "Atlas")
    async with refused("ambiguous_name"):
        await desk.open("atlas")
    assert (await desk.open("atlas", type="project"))["object"]["type"] == "Project"


async def test_dossier_as_known_then_has_the_name_status_and_claims_of_then(desk: Desk) -> None:
    (made,) = await desk.make("Service", "Billing")
    first = await desk.say(made, "owner", "team phoenix")
    raw = {"about": made, "name": "Invoicing", "reason": "It was renamed."}
    await desk.do(parse.parse_rename(raw))
    await desk.say(made, "owner", "team griffin")
    await desk.set_status(made, "retired")
    then = await desk.open(made, known_at=first["pos"])
    assert then["object"]["name"] == "Billing"
    assert then["status"] == "active"
    assert then["known_at"] == first["pos"]
    assert [claim["value"] for claim in claims_of(then, "owner")] == ["team phoenix"]
    now = await desk.open(made)
    assert now["object"]["name"] == "Invoicing"
    assert now["status"] == "retired"
    assert "known_at" not in now
    async with refused("not_found"):
        await desk.open((await desk.make("Service", "Later"))[0], known_at=first["pos"])


async def test_dossier_as_known_before_a_merge_is_that_of_the_object_alone(desk: Desk) -> None:
    await desk.say("Robert", "email", "r@example.org", type="Person")
    before = await desk.say("Bob", "email", "b@example.org", type="Person")
    await desk.merge("Robert", "Bob")
    then = await desk.open("Robert", known_at=before["pos"])
    assert then["object"]["name"] == "Robert"
    assert [claim["value"] for claim in claims_of(then, "email")] == ["r@example.org"]
    merged = (await desk.trace("Bob"))["events"][-1]["pos"]
    await desk.unmerge("Robert")
    while_merged = await desk.open("Robert", known_at=merged)
    assert while_merged["object"]["name"] == "Bob"
    assert {claim["value"] for claim in claims_of(while_merged, "email")} == {
        "r@example.org",
        "b@example.org",
    }


async def test_trace_holds_every_event_of_an_object_and_of_what_merged_into_it(
    desk: Desk,
) -> None:
    (robert,) = await desk.make("Person", "Robert")
    (bob,) = await desk.make("Person", "Bob")
    await desk.say(robert, "email", "r@example.org", evidence="https://example.org/r")
    await desk.merge(robert, bob)
    await desk.say(bob, "email", "b@example.org")
    await desk.set_status(bob, "retired")
    trace = await desk.trace(bob)
    assert trace["status"] == "retired"
    kinds = [event["kind"] for event in trace["events"]]
    assert kinds == [
        "object_created",
        "object_created",
        "asserted",
        "merged",
        "asserted",
        "status_changed",
    ]
    positions = [event["pos"] for event in trace["events"]]
    assert positions == sorted(positions)
    claim, merge, _, retired = trace["events"][2:]
    assert claim["of"]["name"] == "Robert"
    assert claim["property"] == "email"
    assert claim["value"] == "r@example.org"
    assert claim["actor"] == "operator"
    assert claim["via"] == "console"
    assert claim["source"] == "operator"
    assert claim["evidence"] == "https://example.org/r"
    assert merge["reason"] == "They are the same."
    assert (retired["before"], retired["after"]) == ("active", "retired")
    of_loser = await desk.trace(robert)
    assert of_loser["merged_into"]["name"] == "Bob"
    assert [event["kind"] for event in of_loser["events"]] == [
        "object_created",
        "asserted",
        "merged",
    ]


async def test_redacted_event_says_which_redaction_emptied_it(desk: Desk) -> None:
    made = await desk.say("Billing", "note", "a secret that leaked", type="Service")
    redact = parse.parse_redact({"positions": [made["pos"]], "reason": "It was a secret."})
    done = await desk.do(redact)
    trace = await desk.trace("Billing")
    (emptied,) = [event for event in trace["events"] if event["pos"] == made["pos"]]
    assert emptied["redacted"] == f"redacted by pos {done['pos']}"
    for answer in (
        trace,
        await desk.open("Billing"),
        await desk.open("Billing", known_at=made["pos"]),
        await desk.recall("secret leaked", include_superseded=True),
        await desk.trace("Billing", property="note"),
    ):
        assert b"leaked" not in text(answer).replace(b'"leaked"', b"")


async def test_history_tells_what_closed_each_version_and_what_came_after(desk: Desk) -> None:
    await desk.say("Billing", "owner", "team phoenix", type="Service")
    second = await desk.say("Billing", "owner", "team griffin")
    raw = {"about": "Billing", "property": "owner", "reason": "Nobody owns it."}
    await desk.do(parse.parse_retract(raw))
    third = await desk.say("Billing", "owner", "team dodo")
    history = await desk.trace("Billing", property="owner")
    assert [version["value"] for version in history["versions"]] == [
        "team phoenix",
        "team griffin",
        "team dodo",
    ]
    first, retracted, current = history["versions"]
    assert first["superseded"]["successor"] == second["id"]
    assert first["superseded"]["pos"] == second["pos"]
    assert retracted["retracted"]["reason"] == "Nobody owns it."
    assert retracted["retracted"]["actor"] == "operator"
    assert current["current"] is True
    assert current["id"] == third["id"]


async def test_long_value_is_cut_with_a_mark_that_says_how_to_get_the_whole(desk: Desk) -> None:
    value = 'quoted "words" and \\ more\n' * 4_000
    await desk.say("Billing", "note", value, type="Service")
    (claim,) = claims_of(await desk.open("Billing"), "note")
    assert claim["truncated"] is True
    assert value.startswith(claim["value"])
    assert len(claim["value"]) > 1_000
    assert "limit 1" in claim["whole"]
    whole = await desk.trace("Billing", property="note", limit=1)
    assert whole["versions"][0]["value"] == value
    traced = await desk.trace("Billing")
    assert traced["events"][1]["truncated"] is True
    assert value.startswith(traced["events"][1]["value"])


async def test_untrusted_claims_never_answer_and_stand_in_a_list_of_their_own(
    desk: Desk, imported: Desk
) -> None:
    await imported.say("Billing", "owner", "team griffin", type="Service")
    assert claims_of(await desk.open("Billing"), "owner")[0]["band"] == "untrusted"
    assert "winner" not in claims_of(await desk.open("Billing"), "owner")[0]
    found = await desk.recall("griffin")
    assert found["hits"] == []
    assert "untrusted" not in found
    asked = await desk.recall("griffin", untrusted=True)
    assert asked["hits"] == []
    (hit,) = asked["untrusted"]["hits"]
    assert hit["value"] == "team griffin"
    assert hit["band"] == "untrusted"


async def test_lens_that_waits_too_long_is_an_error_and_the_next_one_is_answered(
    database: Database, desk: Desk
) -> None:
    await desk.say("Billing", "owner", "team phoenix", type="Service")
    dossier = await desk.open("Billing")
    blocker: Connection = await asyncpg.connect(database.dsn)
    async with blocker.transaction():
        await blocker.execute("LOCK TABLE objects IN ACCESS EXCLUSIVE MODE")
        async with refused("read_timeout"):
            await desk.open("Billing")
    await blocker.close()
    assert await desk.open("Billing") == dossier
