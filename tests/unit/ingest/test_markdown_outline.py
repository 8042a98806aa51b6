"""Tests that a Markdown text becomes sections, lossless, with headings where they really are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.ingest.markdown_outline import heading_names, outline, plain

LINES = st.lists(
    st.sampled_from(
        [
            *("# One", "## Two", "text", "", "```", "~~~", "=====", "---", "> # quoted", "<!-- #"),
            *("-->", "    # code", "- item", "#no heading", "Setext", "\u2028", "###### Six"),
        ]
    ),
    max_size=25,
)


def paths(text: str) -> list[tuple[str, ...]]:
    return [section.heading_path for section in outline(text).sections]


@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]))
def test_sections_joined_are_the_document(lines: list[str], ending: str) -> None:
    text = ending.join(lines)
    assert "".join(section.text for section in outline(text).sections) == text


@given(LINES)
def test_every_section_has_a_name_of_its_own(lines: list[str]) -> None:
    names = heading_names(outline("\n".join(lines)).sections)
    assert len({name.casefold() for name in names}) == len(names)


def test_headings_nest_by_level() -> None:
    text = "intro\n\n# A\n\n## B\n\n### C\n\n## D\n\nE\n=\n\nF\n-\n"
    assert paths(text) == [
        (),
        ("A",),
        ("A", "B"),
        ("A", "B", "C"),
        ("A", "D"),
        ("E",),
        ("E", "F"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "```sh\n# a comment\n```\n",
        "~~~\n# a comment\n~~~\n",
        "    # indented code\n",
        "<!--\n# hidden\n-->\n",
        "> # quoted\n",
        "- # in a list\n",
        "#hashtag\n",
        "````\n```\n# still code\n```\n````\n",
    ],
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert paths(text) == [()]


def test_front_matter_is_no_heading_and_gives_title_and_fields() -> None:
    found = outline('---\ntitle: "The plan"\nStatus: accepted\n---\n\n# Other\n\nText\n')
    assert found.title == "The plan"
    assert found.fields["status"] == "accepted"
    assert [section.heading_path for section in found.sections] == [(), ("Other",)]


def test_blank_lines_before_the_first_heading_make_no_section() -> None:
    assert paths("\n\n# A\ntext\n") == [("A",)]


def test_the_title_is_the_first_heading_of_the_first_level() -> None:
    assert outline("## Small\n\n# Big\n").title == "Big"
    assert outline("no heading\n").title is None


def test_headings_that_occur_again_are_numbered() -> None:
    text = "# A\n## Usage\n# a\n## Usage\n# A (2)\n"
    expected = ["A", "A > Usage", "a (2)", "a > Usage (2)", "A (2) (2)"]
    assert heading_names(outline(text).sections) == expected


def test_a_heading_repeated_ten_thousand_times_is_named_in_time() -> None:
    names = heading_names(outline("# a\n\n" * 10_000).sections)
    assert names[-1] == "a (10000)"


def test_a_heading_is_shown_without_its_markup() -> None:
    assert plain("The `run` **verb** and [a link](http://x) ![alt](y)") == (
        "The run verb and a link alt"
    )


def test_a_large_document_is_read_in_time() -> None:
    text = "# H\n\n" + "word " * 700_000
    assert len(outline(text).sections) == 1
