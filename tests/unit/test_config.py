"""Settings come from MUNIMENT_ variables, typed and bounded, without a look at the disk."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from muniment import config
from muniment.config import Settings, default_home, unknown_settings


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide what the caller's environment sets."""
    for name in list(os.environ):
        if name.startswith("MUNIMENT_"):
            monkeypatch.delenv(name)


def test_without_variables_everything_has_a_default() -> None:
    settings = Settings()
    assert settings.home == default_home()
    assert (settings.database_url, settings.redis_url, settings.url) == (None, None, None)
    assert (settings.host, settings.port, settings.workspace) == ("127.0.0.1", 8790, "default")
    assert (settings.queue_limit, settings.batch_limit) == (4096, 500)
    assert settings.request_limit_bytes == 1024 * 1024
    assert settings.reobservation_interval == timedelta(hours=24)
    assert settings.idempotency_retention == timedelta(days=7)


@pytest.mark.parametrize(
    ("platform", "uid", "data", "expected"),
    [
        ("linux", 0, "/x", "/var/lib/muniment"),
        ("linux", 1000, "/x", "/x/muniment"),
        ("linux", 1000, "relative", "/people/ada/.local/share/muniment"),
        ("linux", 1000, None, "/people/ada/.local/share/muniment"),
        ("darwin", 501, "/x", "/people/ada/Library/Application Support/muniment"),
        ("darwin", 0, None, "/people/ada/Library/Application Support/muniment"),
    ],
)
def test_each_platform_and_user_has_its_home(
    monkeypatch: pytest.MonkeyPatch, platform: str, uid: int, data: str | None, expected: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setenv("HOME", "/people/ada")
    if data is None:
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_DATA_HOME", data)
    assert Settings().home == Path(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", timedelta(seconds=90)),
        (" 15 m ", timedelta(minutes=15)),
        ("36h", timedelta(hours=36)),
        ("7d", timedelta(days=7)),
        ("3600", timedelta(hours=1)),
        ("PT5M", timedelta(minutes=5)),
    ],
)
def test_durations_are_written_as_people_write_them(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: timedelta
) -> None:
    monkeypatch.setenv("MUNIMENT_VERIFY_INTERVAL", text)
    assert Settings().verify_interval == expected


def test_lists_are_separated_by_commas_and_levels_may_be_capitals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MUNIMENT_ALLOWED_HOSTS", "memory.example, localhost:*,")
    monkeypatch.setenv("MUNIMENT_LOG_LEVEL", "WARNING")
    settings = Settings()
    assert settings.allowed_hosts == ("memory.example", "localhost:*")
    assert settings.log_level == "warning"


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUNIMENT_DATABASE_URL", "")
    monkeypatch.setenv("MUNIMENT_PORT", "")
    assert (Settings().database_url, Settings().port) == (None, 8790)


def test_a_home_is_made_absolute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/people/ada")
    monkeypatch.setenv("MUNIMENT_HOME", "~/memory")
    assert Settings().home == Path("/people/ada/memory")
    monkeypatch.setenv("MUNIMENT_HOME", "memory")
    assert Settings().home == Path.cwd() / "memory"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "65536"),
        ("PORT", "-1"),
        ("PORT", "http"),
        ("HOST", " "),
        ("QUEUE_LIMIT", "0"),
        ("BATCH_LIMIT", "-5"),
        ("BATCH_LIMIT", "1000000000"),
        ("REQUEST_LIMIT_BYTES", "1"),
        ("RATE_LIMIT_PER_MINUTE", "0"),
        ("LOG_LEVEL", "loud"),
        ("WORKSPACE", "Not A Slug"),
        ("WORKSPACE", "a" * 64),
        ("DATABASE_URL", "mysql://host/db"),
        ("REDIS_URL", "http://host"),
        ("URL", "memory.example"),
        ("EMBEDDED_SHARED_BUFFERS", "128 megs"),
        ("EMBEDDED_SHARED_BUFFERS", "0MB"),
        ("REOBSERVATION_INTERVAL", "0s"),
        ("REOBSERVATION_INTERVAL", "-1"),
        ("HEARTBEAT_INTERVAL", "soon"),
        ("EXPIRY_INTERVAL", "99999999999999d"),
    ],
)
def test_a_value_out_of_bounds_is_refused_by_name_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"MUNIMENT_{name}", value)
    with pytest.raises(ValidationError) as caught:
        Settings()
    assert [error["loc"] for error in caught.value.errors()] == [(name.lower(),)]
    assert "input_value" not in str(caught.value)


def test_settings_are_frozen_and_hide_what_is_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUNIMENT_TOKEN", "mun_secret")
    monkeypatch.setenv("MUNIMENT_DATABASE_URL", "postgresql://u:hunter2@db/muniment")
    settings = Settings()
    with pytest.raises(ValidationError, match="frozen"):
        settings.port = 1
    assert "secret" not in repr(settings)
    assert "hunter2" not in str(settings)


def test_a_misspelt_variable_is_named_with_the_nearest() -> None:
    environment = {"MUNIMENT_PROT": "1", "MUNIMENT_HOME": "/x", "PORT": "2", "MUNIMENT_ZZZZZ": ""}
    assert unknown_settings(environment) == {
        "MUNIMENT_PROT": "MUNIMENT_PORT",
        "MUNIMENT_ZZZZZ": None,
    }


def test_every_setting_says_what_it_is() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name


def test_settings_touch_no_file(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "import muniment.config as config\n"
        "opened = []\n"
        "sys.addaudithook(lambda name, _: name in ('open', 'os.mkdir') and opened.append(name))\n"
        "config.Settings()\n"
        "assert not opened, opened\n"
    )
    environment = os.environ | {"MUNIMENT_HOME": str(tmp_path / "home")}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    assert list(tmp_path.iterdir()) == []
    assert config.PREFIX == "MUNIMENT_"
