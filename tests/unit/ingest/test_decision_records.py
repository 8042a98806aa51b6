"""Tests which documents are decision records, and what is read of them."""

from __future__ import annotations

import pytest

from muniment.ingest.decision_records import DecisionRecord, decision_record
from muniment.ingest.markdown_outline import outline

NYGARD = """# 7. Use Postgres

Date: 2024-03-05

## Status

Superseded by [12. Use two](0012-use-two.md)

Supersedes [3. Use files](../adr/0003-use-files.md)

## Decision

We will.
"""
MADR = "---\nstatus: accepted\ndate: 2025-01-02\n---\n\n# Use one log\n\n## Context\n"
BULLETS = "# ADR 4: Tabs\n\n* **Status:** Accepted\n* Date: 2023\n\n## Context\n\nStatus: none\n"


def read(path: str, text: str) -> DecisionRecord | None:
    return decision_record(path, outline(text))


def test_a_record_in_nygards_form_is_read_with_its_relations() -> None:
    found = read("docs/adr/0007-use-postgres.md", NYGARD)
    assert found is not None
    assert found.status == "Superseded by [12. Use two](0012-use-two.md)"
    assert found.decided is not None
    assert found.decided.text == "2024-03-05"
    assert found.superseded_by == ("docs/adr/0012-use-two.md",)
    assert found.supersedes == ("docs/adr/0003-use-files.md",)


@pytest.mark.parametrize(
    ("text", "status", "date"), [(MADR, "accepted", "2025-01-02"), (BULLETS, "Accepted", "2023")]
)
def test_status_and_date_are_found_in_front_matter_and_in_lists(
    text: str, status: str, date: str
) -> None:
    found = read("decisions/0001-x.md", text)
    assert found is not None
    assert found.decided is not None
    assert (found.status, found.decided.text) == (status, date)


@pytest.mark.parametrize(
    "path",
    ["docs/guide.md", "docs/adr/README.md", "docs/adr/template.md", "0001-notes.md"],
)
def test_other_documents_are_no_records(path: str) -> None:
    assert read(path, NYGARD) is None


def test_a_numbered_record_without_status_or_with_a_false_date_is_still_one() -> None:
    found = read("adr/0009-x.md", "# X\n\nDate: 2024-13-45\n")
    assert found is not None
    assert (found.status, found.decided) == (None, None)
