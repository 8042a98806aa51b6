"""Dates of the world: what each precision spans, and what is no date."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.domain.dates import parse_instant, parse_world_date
from muniment.domain.errors import Malformed


def _utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # pyright: ignore[reportArgumentType, reportCallIssue]


@pytest.mark.parametrize(
    ("raw", "earliest", "latest"),
    [
        ("2021", _utc(2021, 1, 1), _utc(2022, 1, 1)),
        ("2021-12", _utc(2021, 12, 1), _utc(2022, 1, 1)),
        ("2021-05", _utc(2021, 5, 1), _utc(2021, 6, 1)),
        ("2024-02-29", _utc(2024, 2, 29), _utc(2024, 3, 1)),
        ("0001", _utc(1, 1, 1), _utc(2, 1, 1)),
        ("9998", _utc(9998, 1, 1), _utc(9999, 1, 1)),
        ("2021-05-03T10:00:00Z", _utc(2021, 5, 3, 10), _utc(2021, 5, 3, 10)),
        ("2021-05-03T10:00:00+02:00", _utc(2021, 5, 3, 8), _utc(2021, 5, 3, 8)),
        ("2021-05-03T10:00:00.123456Z", _utc(2021, 5, 3, 10, 0, 0, 123456), None),
    ],
)
def test_date_spans_what_its_precision_says(
    raw: str, earliest: datetime, latest: datetime | None
) -> None:
    date = parse_world_date(raw, "valid_from")
    assert date.text == raw
    assert (date.earliest, date.latest) == (earliest, latest or earliest)


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "0000",
        "-0044",
        "44 BC",
        "-0044-03-15",
        "infinity",
        "-infinity",
        "Infinity",
        "9999",
        "10000-01-01",
        "2021-13",
        "2021-02-30",
        "2021-5-3",
        "2021-05-03T10:00:00",
        "2021-05-03 10:00:00Z",
        "2021-05-03T25:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "２０２１",
        "2021-05-03T10:00:00Z" + " " * 30,
        "now",
        "2021'; DROP TABLE objects",
        "2021\x00",
    ],
)
def test_what_is_no_date_is_refused_at_the_edge(raw: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse_world_date(raw, "valid_to")
    assert (caught.value.code, caught.value.field) == ("bad_date", "valid_to")
    assert caught.value.limit == "0001 to 9998"
    assert caught.value.next_step
    with pytest.raises(Malformed):
        parse_instant(raw, "as_of")


def test_naive_instant_is_refused_and_an_aware_one_taken() -> None:
    with pytest.raises(Malformed):
        parse_instant("2026-05-03T10:00:00", "as_of")
    assert parse_instant("2026-05-03T10:00:00-07:00", "as_of") == _utc(2026, 5, 3, 17)


def test_a_coarse_moment_is_the_end_of_its_span() -> None:
    assert parse_instant("2021", "as_of") == _utc(2022, 1, 1) - timedelta.resolution
    assert parse_instant("2021-05-03", "as_of") == _utc(2021, 5, 4) - timedelta.resolution


@given(st.datetimes(datetime(1, 1, 2), datetime(9998, 12, 30), timezones=st.just(UTC)))  # noqa: DTZ001
def test_instant_reads_back_exactly(moment: datetime) -> None:
    assert parse_world_date(moment.isoformat(), "valid_from").earliest == moment


@given(st.text(max_size=30))
def test_any_text_is_a_date_or_refused(raw: str) -> None:
    try:
        date = parse_world_date(raw, "valid_from")
    except Malformed:
        return
    assert date.earliest <= date.latest
