"""Settings: every `MUNIMENT_` environment variable, its type, its bounds and its default.

Nothing here touches the disk or the network. Bounds on input that are part of the product's
contract, not of an installation, live in `domain.limits`.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

PREFIX: Final = "MUNIMENT_"

_UNITS: Final = {"": "seconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def default_home() -> Path:
    """Return where data lives on this platform when `MUNIMENT_HOME` is not set."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "muniment"
    if os.geteuid() == 0:
        return Path("/var/lib/muniment")
    # The XDG base directory specification says to ignore a relative path.
    data = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (data if data.is_absolute() else Path.home() / ".local" / "share") / "muniment"


def unknown_settings(environment: Mapping[str, str]) -> dict[str, str | None]:
    """Return the `MUNIMENT_` variables that mean nothing, each with the nearest that does."""
    known = list(Settings.model_fields)
    nearest: dict[str, str | None] = {}
    for variable in sorted(environment):
        name = variable.lower().removeprefix(PREFIX.lower())
        if variable.upper().startswith(PREFIX) and name not in known:
            found = difflib.get_close_matches(name, known, n=1)
            nearest[variable] = f"{PREFIX}{found[0].upper()}" if found else None
    return nearest


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()


def _duration(value: object) -> object:
    """Read `90`, `90s`, `15m`, `24h`, `7d`; leave the rest (ISO 8601) to pydantic."""
    found = re.fullmatch(r"\s*(\d{1,9})\s*([smhd]?)\s*", value) if isinstance(value, str) else None
    return timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else value


def _commas(value: object) -> object:
    if isinstance(value, str):
        return tuple(part for item in value.split(",") if (part := item.strip()))
    return value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


HomePath = Annotated[Path, AfterValidator(_absolute)]
Duration = Annotated[timedelta, BeforeValidator(_duration), Field(gt=timedelta(0))]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_commas)]
PostgresUrl = Annotated[str, StringConstraints(pattern=r"^postgres(ql)?://")]
RedisUrl = Annotated[str, StringConstraints(pattern=r"^(redis|rediss|unix)://")]
HttpUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+")]
LogLevel = Annotated[
    Literal["debug", "info", "warning", "error", "critical"], BeforeValidator(_lower)
]


class Settings(BaseSettings):
    """One installation's settings, read from the environment once, at start.

    Durations are `90s`, `15m`, `24h`, `7d`, a number of seconds or ISO 8601; lists are separated
    by commas; an empty variable counts as unset.

    Raises:
        pydantic.ValidationError: a variable is out of its bounds.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        validate_default=True,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )

    home: HomePath = Field(default_factory=default_home)
    """Where data lives: the embedded servers, their logs, local keys. Default: as root on Linux
    /var/lib/muniment, else $XDG_DATA_HOME/muniment or ~/.local/share/muniment; on macOS
    ~/Library/Application Support/muniment."""

    database_url: PostgresUrl | None = Field(default=None, repr=False)
    """Your own Postgres, as a role that may create roles and extensions. Unset: the private one."""

    redis_url: RedisUrl | None = Field(default=None, repr=False)
    """Your own Valkey or Redis, for the worker's queue. Unset: the private one."""

    host: str = Field(default="127.0.0.1", pattern=r"^\S+$")
    """The address that the service binds."""

    port: int = Field(default=8790, ge=0, le=65535)
    """The port that the service binds; 0 takes any free one."""

    url: HttpUrl | None = None
    """A running service for the command line to speak to, instead of the local store."""

    token: str | None = Field(default=None, min_length=1, repr=False)
    """The bearer token for `url`."""

    workspace: str = Field(default="default", pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")
    """The tenant that local commands act in."""

    log_level: LogLevel = "info"
    """The least severe message that the service logs."""

    request_limit_bytes: int = Field(default=1024 * 1024, ge=1024, le=64 * 1024 * 1024)
    """The largest request body that the service reads, in bytes."""

    rate_limit_per_minute: int = Field(default=6000, ge=1)
    """Calls that one principal may make in a minute."""

    allowed_hosts: Names = ("127.0.0.1:*", "localhost:*", "[::1]:*")
    """Values of the Host header that are served; `:*` stands for any port."""

    allowed_origins: Names = ("http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*")
    """Values of the Origin header that are served, when a browser sends one."""

    queue_limit: int = Field(default=4096, ge=1)
    """Commands that wait for the writer before it answers `busy`."""

    batch_limit: int = Field(default=500, ge=1, le=5000)
    """Commands that the writer commits at once, at most."""

    reobservation_interval: Duration = timedelta(hours=24)
    """How long the same claim, made again by its source, counts as unchanged."""

    idempotency_retention: Duration = timedelta(days=7)
    """How long the answer to an idempotency key is kept."""

    embedded_shared_buffers: str = Field(default="128MB", pattern=r"^[1-9]\d{0,8}(kB|MB|GB)$")
    """Memory that the embedded Postgres keeps pages in, as Postgres writes sizes."""

    heartbeat_interval: Duration = timedelta(seconds=30)
    """How often the worker says that it lives."""

    verify_interval: Duration = timedelta(hours=1)
    """How often the worker compares a sample of the projections with the log."""

    expiry_interval: Duration = timedelta(minutes=15)
    """How often the worker drops idempotency keys past their retention."""
