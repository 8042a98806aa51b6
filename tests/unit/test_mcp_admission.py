"""How often a principal may call, which hosts are served, how a refusal finds its request."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.config import Settings
from muniment.surfaces.mcp.hosts import Hosts
from muniment.surfaces.mcp.rate import RateLimit
from muniment.surfaces.mcp.rejection import request_id_of


def test_a_minute_holds_as_many_calls_as_the_limit() -> None:
    rate = RateLimit(60)
    assert [rate.take("ada", 0.0) for _ in range(60)] == [0.0] * 60
    assert rate.take("ada", 0.0) == pytest.approx(1.0)
    assert rate.take("bob", 0.0) == 0.0
    assert rate.take("ada", 0.5) == pytest.approx(0.5)
    assert rate.take("ada", 1.0) == 0.0
    assert rate.take("ada", 1.0) > 0.0


def test_waiting_longer_saves_up_no_more_than_the_limit() -> None:
    rate = RateLimit(3)
    assert [rate.take("ada", 1e6) for _ in range(3)] == [0.0] * 3
    assert rate.take("ada", 1e6) > 0.0
    assert [rate.take("ada", 2e6) for _ in range(3)] == [0.0] * 3
    assert rate.take("ada", 2e6) > 0.0


def test_callers_of_long_ago_are_forgotten() -> None:
    rate = RateLimit(1)
    for number in range(20_000):
        rate.take(number, float(number))
    assert rate.take(19_999, 19_999.0) > 0.0
    assert rate.remembered < 10_001


def _hosts(**settings: object) -> Hosts:
    return Hosts(Settings.model_validate({"home": Path(), **settings}))


@pytest.mark.parametrize(
    ("host", "served"),
    [
        ("127.0.0.1:8790", True),
        ("localhost", True),
        ("LocalHost:1", True),
        ("[::1]:8790", True),
        ("[::1]", True),
        ("localhost:", False),
        ("localhost:x", False),
        ("localhost.evil.example", False),
        ("evil.example:8790", False),
        ("", False),
        ("0.0.0.0:8790", False),
    ],
)
def test_loopback_names_alone_are_served_by_default(host: str, served: bool) -> None:
    assert _hosts().serves_host(host) is served


def test_the_address_that_is_bound_is_served_unless_it_is_any() -> None:
    assert _hosts(host="10.0.0.5").serves_host("10.0.0.5:8790")
    assert _hosts(host="fd00::5").serves_host("[fd00::5]:8790")
    assert not _hosts(host="0.0.0.0").serves_host("0.0.0.0:8790")
    assert not _hosts(host="::").serves_host("[::]:8790")


def test_names_of_the_settings_are_added_and_do_not_replace_loopback() -> None:
    hosts = _hosts(allowed_hosts="memory.example", allowed_origins="https://console.example:*")
    assert hosts.serves_host("memory.example")
    assert not hosts.serves_host("memory.example:8790")
    assert hosts.serves_host("localhost:8790")
    assert hosts.serves_origin("https://console.example")
    assert hosts.serves_origin("https://console.example:444")
    assert not hosts.serves_origin("http://console.example")
    assert hosts.serves_origin("http://localhost:3000")


@pytest.mark.parametrize(
    ("body", "request_id"),
    [
        (b'{"id":7,"id":8}', 8),
        (b'{"id":"a\xff"}', "a\ufffd"),
        (b'{"id":"\\ud800"}', None),
        (b'{"id":true}', None),
        (b'{"id":1.5}', None),
        (b'{"id":99999999999999999999}', None),
        (b'{"id":"' + b"x" * 201 + b'"}', None),
        (b'[{"id":1}]', None),
        (b"{", None),
        (b"[" * 60_000, None),
        (b'{"id":1,"x":"' + b"x" * 70_000 + b'"}', None),
    ],
    ids=range(11),
)
def test_id_of_a_refused_request_is_found_where_it_is_sound(
    body: bytes, request_id: str | int | None
) -> None:
    found = request_id_of(body)
    assert (found, type(found)) == (request_id, type(request_id))
