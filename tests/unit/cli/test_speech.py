"""Owns how the command line speaks: exit codes, outlines, spans, addresses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from muniment.domain import errors
from muniment.domain.errors import MunimentError
from muniment.surfaces.cli import outline
from muniment.surfaces.cli.commands_tokens import parse_span
from muniment.surfaces.cli.health import without_password
from muniment.surfaces.cli.output import exit_code, printable
from muniment.surfaces.cli.scope import mcp_url
from muniment.surfaces.client import error_from
from muniment.workers.schedule import next_moment


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.Malformed, 2),
        (errors.TooLarge, 2),
        (errors.NotFound, 3),
        (errors.Refused, 4),
        (errors.Conflict, 4),
        (errors.CapabilityDenied, 4),
        (errors.Unauthenticated, 4),
        (errors.Busy, 5),
        (errors.Unavailable, 5),
        (errors.EmbeddedError, 5),
        (MunimentError, 1),
    ],
)
def test_each_kind_of_error_has_its_exit_code(kind: type[MunimentError], code: int) -> None:
    assert exit_code(kind("x")) == code
    sent = kind("x", next_step="y").as_dict()
    if kind.default_code not in ("malformed", "too_large", "embedded_failed", "error"):
        assert exit_code(error_from(sent)) == code


def test_an_outline_shows_each_value_once() -> None:
    document = {
        "name": "a",
        "flag": True,
        "none": [],
        "text": "one\ntwo",
        "items": [{"x": 1, "y": ["a", "b"]}, {"z": "long " * 30}],
    }
    assert outline.lines(document) == [
        "name: a",
        "flag: yes",
        "none: none",
        "text:",
        "  one",
        "  two",
        "items:",
        "  - x 1, y a, b",
        f"  - z: {'long ' * 30}",
    ]


def test_what_could_steer_a_terminal_is_shown_instead() -> None:
    assert printable("a\x1b[31mb\x07\u202ec") == "a\\x1b[31mb\\x07\\x202ec"
    assert printable("日本語 é\n") == "日本語 é\n"


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("30m", timedelta(minutes=30)),
        ("12h", timedelta(hours=12)),
        ("90d", timedelta(days=90)),
        ("4w", timedelta(weeks=4)),
    ],
)
def test_a_span_of_time_is_a_number_and_a_unit(text: str, span: timedelta) -> None:
    assert parse_span(text) == span


@pytest.mark.parametrize("text", ["", "d", "0d", "-1d", "1y", "1.5d", "١d", "9999999d", "90 d"])
def test_any_other_span_is_refused(text: str) -> None:
    with pytest.raises(errors.Malformed):
        parse_span(text)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://127.0.0.1:8790", "http://127.0.0.1:8790/mcp"),
        ("http://127.0.0.1:8790/", "http://127.0.0.1:8790/mcp"),
        ("https://x.example/mcp", "https://x.example/mcp"),
        ("https://x.example/team/mcp/", "https://x.example/team/mcp"),
    ],
)
def test_an_address_leads_to_its_mcp_endpoint(given: str, url: str) -> None:
    assert mcp_url(given) == url


def test_a_password_is_not_shown() -> None:
    assert without_password("postgresql://me:secret@db:5432/x") == "postgresql://me@db:5432/x"
    assert without_password("redis://:secret@db/0") == "redis://@db/0"
    assert without_password("postgresql://db/x") == "postgresql://db/x"


def test_beats_fall_on_the_same_moments_everywhere() -> None:
    step = timedelta(seconds=45)
    start = datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC)
    first = next_moment(start, step)
    assert first > start
    assert first.timestamp() % 45 == 0
    assert next_moment(first, step) - first == step
    assert next_moment(start + timedelta(seconds=1), step) == first
