"""The verbs that start and stop things: up, down, serve, worker, mcp."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.surfaces.cli.output import (
    Document,
    JsonFlag,
    answer,
    note,
    say,
    say_json,
    wait,
)
from muniment.surfaces.cli.scope import local_settings, read_settings

if TYPE_CHECKING:
    from muniment.config import Settings
    from muniment.surfaces.cli.seat import Running

commands = typer.Typer()

Port = Annotated[
    int | None,
    typer.Option("--port", min=0, max=65535, help="Port to listen at. [default: MUNIMENT_PORT]"),
]
Host = Annotated[
    str | None, typer.Option("--host", help="Address to listen at. [default: MUNIMENT_HOST]")
]


@commands.command()
def up(
    port: Port = None,
    host: Host = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Run in the background and return when it answers.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Run everything: database, queue, MCP service and worker."""
    from muniment.surfaces.cli import logs
    from muniment.surfaces.cli import up as everything

    settings = _at(local_settings("up"), host, port)
    if detach:
        options = [f"--port={settings.port}", f"--host={settings.host}"]
        running, before = everything.detach(settings, options)
        document = everything.as_document(settings, running) | {"already_up": before}
        if as_json:
            say_json(document)
        elif before:
            say(f"muniment was up already at {running.url}")
        else:
            everything.greet(settings, running, attached=False)
        return
    logs.start(settings.log_level)

    def announce(running: Running) -> None:
        if as_json:
            say_json(everything.as_document(settings, running))
        else:
            everything.greet(settings, running, attached=True)

    wait(everything.run(settings, announce))
    note("muniment is down")


@commands.command()
def down(as_json: JsonFlag = False) -> None:
    """Stop what `up` runs on this home."""
    from muniment.surfaces.cli import up as everything

    def show(found: Document) -> None:
        stopped = ", ".join(found["stopped"])
        say(f"stopped: {stopped}" if stopped else "nothing was running")

    answer(everything.down(local_settings("down")), as_json, show)


@commands.command()
def serve(port: Port = None, host: Host = None, as_json: JsonFlag = False) -> None:
    """Serve MCP over HTTP, without worker and queue; as many copies as you like."""
    from muniment.surfaces.cli import logs

    settings = _at(local_settings("serve"), host, port)
    logs.start(settings.log_level)
    wait(_serve(settings, as_json))


@commands.command()
def worker(
    attached: Annotated[
        bool, typer.Option("--attached", hidden=True, help="End when stdin does.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Do housekeeping: sign of life, sampled verification, expiry of idempotency keys."""
    from muniment.surfaces.cli import logs

    settings = local_settings("worker")
    logs.start(settings.log_level)
    wait(_work(settings, attached))
    if as_json:
        say_json({"worker": "ended"})


@commands.command()
def mcp(
    name: Annotated[
        str, typer.Option("--name", help="The local agent to act as; made when it is not there.")
    ] = "local",
    operator: Annotated[
        bool, typer.Option("--operator", help="Act as the local operator, with every tool.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Serve MCP on stdin and stdout, as the owner of MUNIMENT_TOKEN or a local agent."""
    from muniment.surfaces.cli import logs

    settings = read_settings()
    if settings.url is not None:
        from muniment.surfaces.cli.scope import not_remote

        raise not_remote("mcp")
    # Stdout speaks MCP, with --json as without: each line of it is a JSON document.
    del as_json
    logs.start("error" if settings.log_level == "info" else settings.log_level)
    wait(_stdio(settings, name, operator))


def _at(settings: Settings, host: str | None, port: int | None) -> Settings:
    changed: dict[str, Any] = {}
    if host is not None:
        changed["host"] = host
    if port is not None:
        changed["port"] = port
    return settings.model_copy(update=changed)


async def _serve(settings: Settings, as_json: bool) -> None:
    from muniment.bootstrap import open_service
    from muniment.surfaces.cli.serving import (
        address_of,
        first_of,
        listening,
        served,
        stop_requested,
    )

    with listening(settings.host, settings.port) as listener, stop_requested() as stop:
        async with (
            open_service(settings, keep=True) as service,
            served(service, listener) as serving,
        ):
            url = address_of(listener)
            if as_json:
                say_json({"url": url, "home": str(settings.home)})
            else:
                say(f"muniment serves at {url}")
            await first_of(stop, serving)


async def _work(settings: Settings, attached: bool) -> None:
    from muniment.surfaces.cli.doors import doors
    from muniment.surfaces.cli.serving import stop_requested
    from muniment.surfaces.cli.worker_process import ORPHAN_SECONDS, end_of_stdin

    with stop_requested() as stop:
        ends: list[asyncio.Future[Any]] = [asyncio.create_task(stop.wait())]
        if attached:
            ends.append(asyncio.create_task(end_of_stdin()))
            # An `up` that was killed while we started is gone by now: start no server for it.
            gone, _ = await asyncio.wait(ends, timeout=ORPHAN_SECONDS)
            if gone:
                return
        working: asyncio.Future[Any] = asyncio.ensure_future(doors().worker(settings))
        done, rest = await asyncio.wait([working, *ends], return_when=asyncio.FIRST_COMPLETED)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        if working in done:
            working.result()


async def _stdio(settings: Settings, name: str, operator: bool) -> None:
    from muniment.bootstrap import open_service
    from muniment.surfaces.cli.doors import doors
    from muniment.surfaces.principal import local_agent, local_operator, principal_from_token

    async with open_service(settings, keep=True) as service:
        if settings.token is not None:
            principal = await principal_from_token(service.database, settings.token)
        elif operator:
            principal = local_operator(service.workspace.workspace_id)
        else:
            workspace = service.workspace.workspace_id
            principal = await local_agent(service.actions, workspace, name)
        await doors().stdio(service, principal)
