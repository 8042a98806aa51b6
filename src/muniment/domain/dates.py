"""Dates of the world, as coarse as the caller knows them.

`2021`, `2021-05`, `2021-05-03` and `2021-05-03T10:00:00Z` each name a span; its text is kept, so
that a year stays a year. `earliest` and `latest` bound the span for comparison. An instant needs
its offset: without one it would mean another moment on each machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from muniment.domain.errors import Malformed

_COARSE: Final = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)
FIRST_YEAR: Final = 1
LAST_YEAR: Final = 9998
"""The last year whose end is still a date that Python and Postgres agree on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldDate:
    """A date of the world with its precision.

    text: as it was given, and as it is shown.
    earliest: the first instant that it can mean (aware, UTC).
    latest: the first instant after all that it can mean (aware, UTC); for an instant, the same
        as `earliest`.
    """

    text: str
    earliest: datetime
    latest: datetime


def parse_world_date(raw: str, field: str) -> WorldDate:
    """Return the date that `raw` names: a year, a month, a day, or an instant with its offset.

    Raises:
        Malformed: any other form, a date BC, an infinite one, an instant without offset.
    """
    coarse = _COARSE.fullmatch(raw)
    try:
        span = _coarse_span(coarse) if coarse else _instant_span(raw)
    except (ValueError, OverflowError):
        span = None
    if span is None or not FIRST_YEAR <= span[0].year <= LAST_YEAR:
        raise Malformed(
            f"{field} is not a date that can be kept.",
            code="bad_date",
            field=field,
            limit=f"{FIRST_YEAR:04d} to {LAST_YEAR}",
            next_step="Use YYYY, YYYY-MM, YYYY-MM-DD, or an instant with offset such as "
            "2026-05-03T10:00:00Z.",
        )
    return WorldDate(text=raw, earliest=span[0], latest=span[1])


def parse_instant(raw: str, field: str) -> datetime:
    """Return the instant that a lens is asked for: the end of the span that `raw` names.

    `as_of=2021` asks what held at some time up to the end of 2021.

    Raises:
        Malformed: as `parse_world_date`.
    """
    span = parse_world_date(raw, field)
    return span.earliest if span.earliest == span.latest else span.latest - timedelta.resolution


def _coarse_span(match: re.Match[str]) -> tuple[datetime, datetime]:
    year, month, day = (int(part) if part else None for part in match.groups())
    assert year is not None
    first = date(year, month or 1, day or 1)
    if day is not None:
        after = first + timedelta(days=1)
    elif month is not None:
        after = date(year + month // 12, month % 12 + 1, 1)
    else:
        after = date(year + 1, 1, 1)
    return _midnight(first), _midnight(after)


def _instant_span(raw: str) -> tuple[datetime, datetime] | None:
    if not raw.isascii() or len(raw) > 40 or "T" not in raw.upper():
        return None
    moment = datetime.fromisoformat(raw)
    if moment.tzinfo is None:
        return None
    moment = moment.astimezone(UTC)
    return moment, moment


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
