"""The verbs that look after the installation: status, doctor, migrate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from muniment import __version__
from muniment.domain.errors import MunimentError
from muniment.surfaces.cli.output import Document, JsonFlag, answer, say, table, wait
from muniment.surfaces.cli.scope import (
    local_settings,
    mcp_url,
    read_settings,
    require_whole_scope,
)

if TYPE_CHECKING:
    from muniment.config import Settings

commands = typer.Typer()


@commands.command()
def status(as_json: JsonFlag = False) -> None:
    """Show what runs, where, and how much is in it. Starts nothing."""
    settings = read_settings()
    require_whole_scope(settings)
    document = _remote(settings) if settings.url else wait(_status(settings))
    answer(document, as_json, _show_status)


@commands.command()
def doctor(as_json: JsonFlag = False) -> None:
    """Check everything that can be wrong with this installation; say what to do about it."""
    from muniment.surfaces.cli.checks import examine

    settings = local_settings("doctor")
    document = wait(examine(settings))

    def show(found: Document) -> None:
        table([(check["state"], check["name"], check["found"]) for check in found["checks"]])
        for check in found["checks"]:
            if "next_step" in check:
                say(f"{check['name']}: {check['next_step']}")

    answer(document, as_json, show)
    if not document["ok"]:
        raise typer.Exit(1)


@commands.command()
def migrate(as_json: JsonFlag = False) -> None:
    """Bring the database up to this version's schema."""
    applied = wait(_migrate(local_settings("migrate")))

    def show(found: Document) -> None:
        say(f"applied: {', '.join(found['applied'])}" if found["applied"] else "up to date")

    answer({"applied": applied}, as_json, show)


async def _migrate(settings: Settings) -> list[str]:
    import asyncio

    from muniment.bootstrap import open_postgres
    from muniment.store.migrate import migrate as bring_up

    async with open_postgres(settings) as dsn:
        return await asyncio.to_thread(bring_up, dsn)


async def _status(settings: Settings) -> dict[str, Any]:
    from muniment.surfaces.cli import health
    from muniment.surfaces.cli.seat import Seat

    running = Seat(settings.home).look()
    expected = f"http://{settings.host}:{settings.port}/mcp"
    url = running.url if running else expected
    postgres = health.postgres_health(settings)
    service = health.service_health(url) if url else {"state": "starting"}
    with health.queue_health(settings) as (queue, queue_url):
        worker = await health.worker_health(settings, queue_url, expected=running is not None)
    parts: dict[str, Any] = {
        "postgres": postgres,
        "valkey": queue,
        "service": service,
        "worker": worker,
    }
    document: dict[str, Any] = {
        "version": __version__,
        "home": str(settings.home),
        "workspace": settings.workspace,
        "database": postgres.get("url") or f"embedded in {postgres['data']}",
        "health": parts,
    }
    if running:
        document["up"] = {"pid": running.pid, "started_at": running.started_at}
    if service["state"] == "running":
        document["url"] = url
    try:
        document["counts"] = await health.counts(settings)
        postgres["state"] = "running"
    except MunimentError as error:
        postgres.setdefault("state", "unreachable")
        postgres["why"] = error.message
    document["ready"] = service["state"] == "running" and "counts" in document
    return document


def _remote(settings: Settings) -> dict[str, Any]:
    from muniment.surfaces.cli.health import service_health

    url = mcp_url(settings.url or "")
    service = service_health(url)
    return {
        "version": __version__,
        "url": url,
        "health": {"service": service},
        "ready": service["state"] == "running",
    }


def _show_status(found: Document) -> None:
    say(f"muniment {found['version']}: {'ready' if found['ready'] else 'not ready'}")
    rows: list[tuple[str, object]] = [
        (name, found[name]) for name in ("url", "home", "workspace", "database") if name in found
    ]
    if "counts" in found:
        rows.append(("events", found["counts"]["events"]))
        rows.append(("objects", found["counts"]["objects"]))
    for name, part in found["health"].items():
        told = [str(part.get("state", "unknown"))]
        if "heartbeat_age_seconds" in part:
            told.append(f"last heartbeat {part['heartbeat_age_seconds']} s ago")
        if "why" in part:
            told.append(str(part["why"]))
        rows.append((name, ", ".join(told)))
    table(rows)
