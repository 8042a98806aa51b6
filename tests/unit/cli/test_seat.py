"""Owns the seat of `up`: one holder, and no belief in files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from muniment.domain.errors import Refused, Unavailable
from muniment.surfaces.cli.seat import Running, Seat, is_ours

HERE = Running(pid=os.getpid(), url="http://127.0.0.1:1/mcp", started_at="2026-01-01T00:00:00Z")


def test_a_seat_has_one_holder_who_is_named_to_the_next(tmp_path: Path) -> None:
    seat, other = Seat(tmp_path), Seat(tmp_path)
    assert seat.look() is None
    with seat.taken():
        seat.publish(HERE)
        assert other.look() == HERE
        with pytest.raises(Refused) as refused, other.taken():
            pass
        assert (refused.value.code, refused.value.details["url"]) == ("already_up", HERE.url)
    assert other.look() is None
    with other.taken():
        assert seat.is_taken()


def test_a_file_without_a_holder_means_nothing(tmp_path: Path) -> None:
    seat = Seat(tmp_path)
    seat.publish(HERE)
    assert seat.look() is None
    assert seat.stop() is False


def test_a_holder_that_is_not_ready_has_no_address(tmp_path: Path) -> None:
    seat = Seat(tmp_path)
    with seat.taken():
        found = Seat(tmp_path).look()
        assert found is not None
        assert found.url is None


def test_a_stranger_is_never_signalled(tmp_path: Path) -> None:
    seat = Seat(tmp_path)
    with seat.taken():
        # This very process holds the lock, and pytest is no `muniment up`.
        seat.publish(HERE)
        with pytest.raises(Unavailable) as refused:
            Seat(tmp_path).stop()
        assert refused.value.code == "down_stranger"


# The ids are fixed: two workers that share a run must collect the same tests.
@pytest.mark.parametrize(
    "pid", [0, -1, os.getpid(), 2**22 + 1], ids=["none", "group", "itself", "out of range"]
)
def test_a_pid_alone_proves_nothing(pid: int) -> None:
    assert not is_ours(pid)
