"""What `doctor` checks: each check one function, each finding with what to do about it."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from muniment.domain.errors import MunimentError

if TYPE_CHECKING:
    from muniment.config import Settings
    from muniment.store.database import Database

LEAST_FREE_BYTES: Final = 1024**3
LEAST_POSTGRES: Final = 160_000
CLOCK_SKEW: Final = timedelta(seconds=5)
EXPIRY_WARNING: Final = timedelta(days=14)
LOG_GUARDS: Final = 1
"""At least so many triggers on the log that no session can switch off."""

EXPECTED_GRANTS: Final = {
    "muniment_writer": {"SELECT", "INSERT"},
    "muniment_reader": {"SELECT"},
}


class State(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One check's result. next_step: what to do, where it is not fine."""

    name: str
    state: State
    found: str
    next_step: str | None = None


async def examine(settings: Settings) -> dict[str, Any]:
    """Run every check; return `{ok, checks}`. Ok as long as none fails."""
    findings = [_python(), *_settings(), _disk(settings.home), *_binaries(settings)]
    findings += [finding async for finding in _database(settings)]
    findings.append(await _queue(settings))
    return {
        "ok": all(finding.state is not State.FAIL for finding in findings),
        "checks": [
            {key: value for key, value in asdict(finding).items() if value is not None}
            for finding in findings
        ],
    }


def _python() -> Finding:
    return Finding(
        name="python", state=State.OK, found=f"{platform.python_version()}, {sys.executable}"
    )


def _settings() -> list[Finding]:
    from muniment.config import unknown_settings

    return [
        Finding(
            name="settings",
            state=State.WARN,
            found=f"{name} means nothing",
            next_step=f"Did you mean {nearest}?" if nearest else "Unset it; see .env.example.",
        )
        for name, nearest in unknown_settings(os.environ).items()
        # One for each harness: where `connect` has the token looked for.
        if not name.startswith("MUNIMENT_TOKEN_")
    ]


def _disk(home: Path) -> Finding:
    at = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(at).free
    enough = free >= LEAST_FREE_BYTES
    return Finding(
        name="disk",
        state=State.OK if enough else State.WARN,
        found=f"{free / 1024**3:.1f} GB free at {home}",
        next_step=None if enough else "Make room, or move MUNIMENT_HOME to a larger disk.",
    )


def _binaries(settings: Settings) -> list[Finding]:
    from muniment.embedded import binaries

    wanted = [] if settings.database_url else [("postgres", binaries.postgres_program)]
    wanted += [] if settings.redis_url else [("valkey", binaries.valkey_program)]
    findings: list[Finding] = []
    for name, find in wanted:
        try:
            findings.append(Finding(name=f"{name} binary", state=State.OK, found=str(find().path)))
        except MunimentError as error:
            # Only housekeeping needs the queue.
            state = State.FAIL if name == "postgres" else State.WARN
            findings.append(_failed(f"{name} binary", error, state))
    return findings


async def _database(settings: Settings) -> AsyncIterator[Finding]:
    """Start the database where it is private, and look at it."""
    from muniment.bootstrap import open_postgres
    from muniment.store.database import Database
    from muniment.store.migrate import pending

    try:
        async with open_postgres(settings) as dsn:
            missing = await asyncio.to_thread(pending, dsn)
            yield Finding(
                name="migrations",
                state=State.FAIL if missing else State.OK,
                found=f"missing: {', '.join(missing)}" if missing else "current",
                next_step="Run `muniment migrate`." if missing else None,
            )
            if missing:
                return
            database = await Database.connect(dsn, writers=1, readers=1)
            try:
                for finding in await _sound(database):
                    yield finding
                for finding in await _tokens(database, settings.workspace):
                    yield finding
            finally:
                await database.close()
    except MunimentError as error:
        yield _failed("database", error)


async def _sound(database: Database) -> list[Finding]:
    from muniment.store import overview

    facts = await overview.server_facts(database)
    fresh = facts.version_number >= LEAST_POSTGRES
    locale_ok = facts.own_similarity == 1
    skew = abs(datetime.now(UTC) - facts.clock)
    grants = await overview.log_grants(database)
    guards = await overview.log_guards(database)
    refuses = grants == EXPECTED_GRANTS and guards >= LOG_GUARDS
    return [
        Finding(
            name="database",
            state=State.OK if fresh else State.FAIL,
            found=f"Postgres {facts.version}, {facts.bytes / 1024**2:.0f} MB",
            next_step=None if fresh else "Use Postgres 16 or later; 18 is what is tested.",
        ),
        Finding(
            name="locale",
            state=State.OK if locale_ok else State.FAIL,
            found=f"{facts.locale}, similarity of 日本語 with itself {facts.own_similarity:g}",
            next_step=None
            if locale_ok
            else "Make the database anew with a libc UTF-8 locale (initdb --locale=C.UTF-8): "
            "others drop letters from trigrams, and names are then not found.",
        ),
        Finding(
            name="clock",
            state=State.OK if skew < CLOCK_SKEW else State.WARN,
            found=f"{skew.total_seconds():.1f} s between here and the database",
            next_step=None if skew < CLOCK_SKEW else "Set the clocks by NTP.",
        ),
        Finding(
            name="log",
            state=State.OK if refuses else State.FAIL,
            found="only grows: no role may change or remove an event"
            if refuses
            else f"grants {_shown(grants)}, {guards} guards",
            next_step=None
            if refuses
            else "Somebody changed the roles or triggers. Restore them (see the migration), then "
            "run `muniment verify`.",
        ),
    ]


async def _tokens(database: Database, workspace: str) -> list[Finding]:
    from muniment.store.credentials import list_tokens
    from muniment.store.workspaces import find_workspace

    found = await find_workspace(database.writer, workspace)
    tokens = await list_tokens(database, found.workspace_id) if found else []
    soon = datetime.now(UTC) + EXPIRY_WARNING
    valid = [token for token in tokens if token.valid]
    ending = sorted({token.name for token in valid if token.expires_at and token.expires_at < soon})
    return [
        Finding(
            name="tokens",
            state=State.WARN if ending else State.OK,
            found=f"{len(valid)} valid"
            + (f", expiring within 14 days: {', '.join(ending)}" if ending else ""),
            next_step="Issue new ones with `muniment token create`." if ending else None,
        )
    ]


async def _queue(settings: Settings) -> Finding:
    from muniment.surfaces.cli.health import queue_health, worker_health

    try:
        with queue_health(settings) as (part, url):
            worker = await worker_health(settings, url, expected=False)
    except MunimentError as error:
        return _failed("queue", error, State.WARN)
    answers = worker["state"] != "unknown"
    found = f"{part['kind']}, {part.get('state', 'answers' if answers else 'does not answer')}"
    return Finding(
        name="queue",
        state=State.OK if answers else State.WARN,
        found=f"{found}; worker {worker['state']}",
        next_step=None if answers else "Reads and writes go on; check MUNIMENT_REDIS_URL.",
    )


def _failed(name: str, error: MunimentError, state: State = State.FAIL) -> Finding:
    return Finding(name=name, state=state, found=error.message, next_step=error.next_step)


def _shown(grants: dict[str, set[str]]) -> str:
    return "; ".join(f"{role}: {', '.join(sorted(verbs))}" for role, verbs in grants.items())
