"""Tests that a report says what was left out, and never more than a bounded list of it."""

from __future__ import annotations

from muniment.domain.errors import Malformed
from muniment.ingest.report import SKIPPED_SHOWN, Report, Skipped, Tally


def report(tally: Tally, *notes: str) -> Report:
    return Report(
        verb="ingest git", source="git:app", read={"commits": 1}, tally=tally, notes=notes
    )


def test_a_report_is_flat_and_leaves_out_what_is_empty() -> None:
    shown = report(Tally(asserted=2, linked=1)).as_json()
    assert shown["claims_asserted"] == 2
    assert shown["links_made"] == 1
    assert shown["read"] == {"commits": 1}
    assert shown.keys().isdisjoint({"notes", "skipped", "skipped_more"})


def test_an_error_is_shown_with_its_next_step_and_line() -> None:
    tally = Tally()
    error = Malformed("It is no JSON.", code="invalid_json", next_step="Mend it.")
    tally.skip(Skipped.of(error, "line", 7))
    assert report(tally, "A note.").as_json()["skipped"] == [
        {"line": 7, "what": "line", "code": "invalid_json", "reason": "It is no JSON. Mend it."}
    ]
    assert report(tally, "A note.").as_json()["notes"] == ["A note."]


def test_skipped_things_past_the_limit_are_counted() -> None:
    tally = Tally()
    for at in range(SKIPPED_SHOWN + 5):
        tally.skip(Skipped(what=str(at), code="x", reason="y"))
    shown = report(tally).as_json()
    assert shown["skipped_more"] == 5
