"""Names, reasons and identifiers: what they may hold, and when two names are one."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muniment.domain import limits
from muniment.domain.errors import Malformed, TooLarge
from muniment.domain.text import (
    canonical_name,
    display_name,
    plain_line,
    property_name,
    reason_text,
    require_encodable,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("  Ann   Lee ", "Ann Lee"),
        ("Zoe\u0308", "Zo\u00eb"),
        ("Ann\u00a0\u2003Lee", "Ann Lee"),
        ("\u3000東京\u3000", "東京"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("C++", "C++"),
        ("'; DROP TABLE objects; --", "'; DROP TABLE objects; --"),
    ],
)
def test_name_is_shown_in_nfc_with_single_spaces(raw: str, shown: str) -> None:
    assert display_name(raw) == shown


@pytest.mark.parametrize(
    "raw",
    [
        "a\tb",
        "a\nb",
        "Ann\n",
        "\r\nAnn",
        "a\x1cb",
        "a\x85b",
        "a\x7fb",
        "é\tb",
        "a\u200bb",
        "a\u200db",
        "\u200dé",
        "é\u200d",
        "a\u202eb",
        "a\u2066b",
        "a\u2028b",
        "a\u2029b",
        "a\ufeffb",
        "a\u00adb",
        "a\u3164b",
        "a\u115fb",
        "a\u2800b",
        "a\u034fb",
        "a\U000e0041b",
        "a\ue000b",
        "a\uffffb",
    ],
)
def test_character_that_cannot_be_seen_is_refused_in_a_name(raw: str) -> None:
    with pytest.raises(Malformed) as caught:
        display_name(raw, "about")
    assert caught.value.code == "invisible_character"
    assert caught.value.field == "about"
    assert "U+" in caught.value.message
    assert caught.value.next_step


@pytest.mark.parametrize("raw", ["", " ", "\u3000 ", "\ufe0f", "\u180b"])
def test_name_of_nothing_visible_is_refused(raw: str) -> None:
    with pytest.raises(Malformed) as caught:
        display_name(raw)
    assert caught.value.code == "empty"
    assert caught.value.next_step


@pytest.mark.parametrize("raw", ["x" * 513, "é" * 257, "東" * 171, " " * 600])
def test_name_over_512_bytes_is_refused_with_the_limit(raw: str) -> None:
    with pytest.raises(TooLarge) as caught:
        display_name(raw)
    assert (caught.value.code, caught.value.field) == ("too_large", "name")
    assert caught.value.limit == limits.NAME_BYTES
    assert caught.value.next_step


def test_name_of_512_bytes_is_taken() -> None:
    assert display_name("x" * 512) == "x" * 512
    assert display_name("é" * 256) == "é" * 256


def test_name_that_nfc_makes_longer_than_the_limit_is_refused() -> None:
    raw = "\u0958" * 170
    assert len(raw.encode()) <= limits.NAME_BYTES
    with pytest.raises(TooLarge):
        display_name(raw)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tianda", "tianda"),
        ("STRASSE", "straße"),
        ("ﬁle", "FILE"),
        ("Ｆｕｌｌ", "full"),
        ("Zo\u00eb", "zoe\u0308"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("①", "1"),
        ("می\u200cخواهم", "میخواهم"),
        ("❤\ufe0f", "❤"),
        ("葛\U000e0100", "葛"),
    ],
)
def test_names_that_differ_by_case_width_or_form_are_one(one: str, other: str) -> None:
    assert canonical_name(display_name(one)) == canonical_name(display_name(other))


@pytest.mark.parametrize(("one", "other"), [("a", "á"), ("x.py", "x_py"), ("api", "a pi")])
def test_names_that_differ_otherwise_are_two(one: str, other: str) -> None:
    assert canonical_name(one) != canonical_name(other)


@given(TEXT)
@example("\u0390" * 216 + "\ufdfa" * 26)
@example("\ufdfa" * 170)
@example("\u0345\u03b1\u0313")
def test_looked_up_form_is_stable_and_fits_its_index(raw: str) -> None:
    try:
        name = display_name(raw)
    except Malformed:
        return
    canonical = canonical_name(name)
    assert canonical
    assert len(canonical.encode()) <= 2 * limits.NAME_BYTES
    assert canonical_name(name) == canonical
    assert display_name(name) == name
    if len(name) < 60:
        assert canonical_name(canonical) == canonical


@given(st.text(max_size=60))
def test_name_is_taken_or_refused_by_a_typed_error(raw: str) -> None:
    refused: Malformed | None = None
    try:
        display_name(raw)
    except Malformed as error:
        refused = error
    assert refused is None or (refused.code and refused.field == "name" and refused.next_step)


def test_nul_and_lone_surrogates_are_refused() -> None:
    for raw, code in (("a\x00b", "nul_character"), ("a\ud800b", "lone_surrogate")):
        with pytest.raises(Malformed) as caught:
            require_encodable(raw, "value")
        assert (caught.value.code, caught.value.field) == (code, "value")
        assert caught.value.next_step


@pytest.mark.parametrize("raw", ["email", "a", "x9_y", "a" * 64])
def test_property_in_lower_snake_case_is_taken(raw: str) -> None:
    assert property_name(raw) == raw


@pytest.mark.parametrize(
    ("raw", "step"),
    [
        ("Email Address", "Use 'email_address'."),
        ("9lives", "Use a-z, 0-9 and _."),
        ("_x", "Use 'x'."),
        ("", "Use a-z, 0-9 and _."),
        ("x" * 65, f"Use {'x' * 64!r}."),
        ("имя", "Use a-z, 0-9 and _."),
    ],
)
def test_property_of_another_spelling_is_refused_with_the_nearest(raw: str, step: str) -> None:
    with pytest.raises(Malformed) as caught:
        property_name(raw)
    assert (caught.value.code, caught.value.field) == ("bad_property", "property")
    assert caught.value.limit == limits.PROPERTY_CHARS
    assert caught.value.next_step == step


def test_reason_is_required_and_bounded() -> None:
    assert reason_text("  Because. ") == "Because."
    with pytest.raises(Malformed) as caught:
        reason_text(" \n ")
    assert (caught.value.code, caught.value.field) == ("reason_required", "reason")
    with pytest.raises(TooLarge) as large:
        reason_text("x" * (limits.REASON_BYTES + 1))
    assert large.value.limit == limits.REASON_BYTES


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("", "empty"),
        (" x", "empty"),
        ("x\n", "empty"),
        ("a\nb", "invisible_character"),
        ("a\u202eb", "invisible_character"),
        ("x" * 201, "too_large"),
        ("a\x00b", "nul_character"),
    ],
)
def test_line_with_what_no_line_may_hold_is_refused(raw: str, code: str) -> None:
    with pytest.raises(Malformed) as caught:
        plain_line(raw, "source", limits.SOURCE_BYTES)
    assert (caught.value.code, caught.value.field) == (code, "source")


def test_line_of_visible_text_is_taken_as_it_is() -> None:
    assert plain_line("git:мой-репозиторий", "source", 200) == "git:мой-репозиторий"
