"""The verbs about what there may be: types list and add, workspace list and create."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from muniment.surfaces.cli.output import Document, JsonFlag, answer, table, wait
from muniment.surfaces.cli.scope import local_settings

types = typer.Typer(no_args_is_help=True, help="The catalog of types.")
workspaces = typer.Typer(no_args_is_help=True, help="Tenants: each has a log of its own.")


@types.command("list")
def list_types(as_json: JsonFlag = False) -> None:
    """List the types of objects, those of the product and those added here."""

    def show(found: Document) -> None:
        table(
            [(t["name"], t["description"], "added" if t["added"] else "") for t in found["types"]],
            ("type", "what it is", ""),
        )

    answer({"types": wait(_types())}, as_json, show)


@types.command("add")
def add_type(
    name: Annotated[str, typer.Argument(help="In PascalCase.")],
    description: Annotated[str, typer.Option("--description", help="What it is, in a line.")],
    as_json: JsonFlag = False,
) -> None:
    """Add a type of objects to this workspace."""
    from muniment.surfaces.cli.outline import show

    answer(wait(_add_type(name, description)), as_json, show)


@workspaces.command("list")
def list_workspaces(as_json: JsonFlag = False) -> None:
    """List the workspaces of this database."""

    def show(found: Document) -> None:
        head = ("name", "events", "objects", "workspace_id")
        table([[w[part] for part in head] for w in found["workspaces"]], head)

    answer({"workspaces": wait(_workspaces())}, as_json, show)


@workspaces.command("create")
def create_workspace(
    name: Annotated[str, typer.Argument(help="Lower-case letters, digits, _ and -.")],
    as_json: JsonFlag = False,
) -> None:
    """Make a workspace with an empty log."""
    from muniment.surfaces.cli.outline import show

    answer(wait(_create_workspace(name)), as_json, show)


async def _types() -> list[dict[str, Any]]:
    from muniment.store.overview import workspace_types
    from muniment.surfaces.cli.commands_log import opened

    async with opened(local_settings("types list")) as (database, workspace):
        return [
            {"name": found.name, "description": found.description, "added": found.added}
            for found in await workspace_types(database, workspace.workspace_id)
        ]


async def _add_type(name: str, description: str) -> dict[str, Any]:
    from muniment.bootstrap import open_service
    from muniment.domain.catalog import TYPE_TYPE, require_type_name
    from muniment.domain.parse import parse_ensure, parse_remember
    from muniment.surfaces.principal import local_operator

    settings = local_settings("types add")
    require_type_name(name)
    made = parse_ensure({"name": name, "type": TYPE_TYPE})
    claim = {"about": name, "type": TYPE_TYPE, "property": "description", "value": description}
    async with open_service(settings) as service:
        who = local_operator(service.workspace.workspace_id)
        outcome = await service.actions.perform(who.actor, made)
        await service.actions.perform(who.actor, parse_remember({"claims": [claim]}))
    return {"name": name, "description": description, **outcome.answer}


async def _workspaces() -> list[dict[str, Any]]:
    from muniment.bootstrap import open_database
    from muniment.store.overview import count
    from muniment.store.workspaces import list_workspaces as every

    async with open_database(local_settings("workspace list")) as database:
        found: list[dict[str, Any]] = []
        for workspace in await every(database.reader):
            counted = await count(database, workspace.workspace_id)
            found.append(
                {
                    "name": workspace.name,
                    "workspace_id": str(workspace.workspace_id),
                    "events": counted.events,
                    "objects": counted.objects,
                }
            )
    return found


async def _create_workspace(name: str) -> dict[str, Any]:
    from muniment.bootstrap import open_database
    from muniment.store.workspaces import ensure_workspace, find_workspace
    from muniment.surfaces.cli.commands_log import in_workspace

    settings = in_workspace(local_settings("workspace create"), name)
    async with open_database(settings) as database:
        there = await find_workspace(database.reader, settings.workspace) is not None
        workspace = await ensure_workspace(database, settings.workspace)
    return {
        "outcome": "found" if there else "created",
        "name": workspace.name,
        "workspace_id": str(workspace.workspace_id),
    }
