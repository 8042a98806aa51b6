"""The verbs that bring in what is elsewhere: ingest git and markdown, import of other stores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from muniment.surfaces.cli.output import Document, JsonFlag, answer, wait
from muniment.surfaces.cli.progress import progress_bar
from muniment.surfaces.cli.scope import local_settings

ingest = typer.Typer(no_args_is_help=True, help="Remember what a repository or folder holds.")
imports = typer.Typer(no_args_is_help=True, help="Take in another store's file.")

Name = Annotated[
    str | None, typer.Option("--name", help="What to call it. [default: its folder's name]")
]


@ingest.command("git")
def git(
    path: Annotated[Path, typer.Argument(help="A repository.")],
    name: Name = None,
    full: Annotated[
        bool, typer.Option("--full", help="Read all commits, not only the new ones.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Remember the commits, authors and files of a git repository."""
    answer(wait(_git(path, name, full, as_json)), as_json, _show)


@ingest.command("markdown")
def markdown(
    path: Annotated[Path, typer.Argument(help="A folder, or one file.")],
    name: Name = None,
    moved: Annotated[
        bool, typer.Option("--moved", help="The folder was ingested from another place before.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Remember Markdown documents, section by section."""
    answer(wait(_markdown(path, name, moved, as_json)), as_json, _show)


@imports.command("server-memory")
def server_memory(
    file: Annotated[Path, typer.Argument(help="JSON lines of the reference memory server.")],
    as_json: JsonFlag = False,
) -> None:
    """Take in the file of the reference MCP memory server."""
    answer(wait(_server_memory(file, as_json)), as_json, _show)


@imports.command("archive")
def archive(
    file: Annotated[Path, typer.Argument(help="What `muniment export` wrote.")],
    workspace: Annotated[
        str | None,
        typer.Option("--workspace", help="Where to; made when absent. [MUNIMENT_WORKSPACE]"),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Take in an archive of muniment, chain and all, where it continues the log."""
    answer(wait(_archive(file, workspace, as_json)), as_json, _show)


async def _git(path: Path, name: str | None, full: bool, as_json: bool) -> dict[str, Any]:
    from muniment.bootstrap import open_service
    from muniment.ingest.git import git_source, ingest_git
    from muniment.surfaces.principal import local_ingestor

    settings = local_settings("ingest git")
    repository = await git_source(path, name)
    async with open_service(settings, keep=True) as service:
        who = local_ingestor(service.workspace.workspace_id, repository.source)
        with progress_bar(f"commits of {repository.name}", as_json) as progress:
            report = await ingest_git(
                service.actions,
                service.database,
                who.actor,
                repository,
                full=full,
                progress=progress,
            )
    return dict(report.as_json())


async def _markdown(path: Path, name: str | None, moved: bool, as_json: bool) -> dict[str, Any]:
    from muniment.bootstrap import open_service
    from muniment.ingest.markdown import ingest_markdown, markdown_source
    from muniment.surfaces.principal import local_ingestor

    settings = local_settings("ingest markdown")
    documents = markdown_source(path, name)
    async with open_service(settings, keep=True) as service:
        who = local_ingestor(service.workspace.workspace_id, documents.source)
        with progress_bar(f"documents of {documents.name}", as_json) as progress:
            report = await ingest_markdown(
                service.actions,
                service.database,
                who.actor,
                documents,
                moved=moved,
                progress=progress,
            )
    return dict(report.as_json())


async def _server_memory(file: Path, as_json: bool) -> dict[str, Any]:
    from muniment.bootstrap import open_service
    from muniment.domain.identity import Via
    from muniment.ingest.server_memory import SOURCE, import_server_memory
    from muniment.surfaces.principal import local_ingestor

    async with open_service(local_settings("import"), keep=True) as service:
        who = local_ingestor(service.workspace.workspace_id, SOURCE, via=Via.IMPORT)
        with progress_bar("records", as_json) as progress:
            report = await import_server_memory(service.actions, who.actor, file, progress=progress)
    return dict(report.as_json())


async def _archive(file: Path, name: str | None, as_json: bool) -> dict[str, Any]:
    from muniment.bootstrap import open_service
    from muniment.ingest.archive import import_archive
    from muniment.surfaces.cli.commands_log import in_workspace
    from muniment.surfaces.principal import local_operator

    settings = in_workspace(local_settings("import archive"), name)
    async with open_service(settings, keep=True) as service:
        who = local_operator(service.workspace.workspace_id)
        with progress_bar("events", as_json) as progress:
            report = await import_archive(service.database, who.actor, file, progress=progress)
    return {"workspace": service.workspace.name, **report.as_json()}


def _show(found: Document) -> None:
    from muniment.surfaces.cli.outline import show

    show(found)
