"""Tests which words of other stores mean which of ours."""

from __future__ import annotations

import pytest

from muniment.ingest.vocabulary import nearest_link, nearest_type


@pytest.mark.parametrize(
    ("original", "type_"),
    [
        ("person", "Person"),
        ("PERSON", "Person"),
        ("preferences", "Preference"),
        ("repositories", "Repository"),
        ("Organisation", "Organization"),
        ("company", "Organization"),
        ("event", "Concept"),
        ("type", "Concept"),
        ("健康", "Concept"),
        ("", "Concept"),
    ],
)
def test_a_type_is_found_by_its_word(original: str, type_: str) -> None:
    assert nearest_type(original) == type_


@pytest.mark.parametrize(
    ("original", "link", "turned", "exact"),
    [
        ("depends_on", "depends_on", False, True),
        ("dependsOn", "depends_on", False, True),
        ("Depends On", "depends_on", False, True),
        ("owned by", "owns", True, True),
        ("works_at", "member_of", False, False),
        ("contains", "part_of", True, False),
        ("is fond of", "related_to", False, False),
        ("related_to", "related_to", False, True),
        ("!!!", "related_to", False, False),
    ],
)
def test_a_link_is_found_by_its_word(original: str, link: str, turned: bool, exact: bool) -> None:
    found = nearest_link(original)
    assert (found.link, found.turned, found.exact) == (link, turned, exact)
