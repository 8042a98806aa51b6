"""The verbs about the log as a whole: verify, rebuild, export."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from muniment.domain.errors import Malformed, NotFound, Refused
from muniment.surfaces.cli.output import JsonFlag, answer, wait
from muniment.surfaces.cli.progress import progress_bar
from muniment.surfaces.cli.scope import local_settings

if TYPE_CHECKING:
    from muniment.config import Settings
    from muniment.store.database import Database
    from muniment.store.workspaces import Workspace

commands = typer.Typer()


@commands.command()
def verify(
    dump: Annotated[
        Path | None, typer.Option(help="Write all projections there, as sorted JSON lines.")
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(help="A head that the log must still hold: POS:HASH, or an archive's file."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Prove that the log is whole and that every projection is its fold."""
    from muniment.surfaces.cli.outline import show

    document = wait(_verify(local_settings("verify"), dump, head))
    answer(document, as_json, show)
    if not document["ok"]:
        raise typer.Exit(1)


@commands.command()
def rebuild(as_json: JsonFlag = False) -> None:
    """Replace every projection by the fold of the log."""
    from muniment.surfaces.cli.outline import show

    answer(wait(_rebuild(local_settings("rebuild"))), as_json, show)


@commands.command()
def export(
    file: Annotated[str, typer.Argument(help="Where to; - is stdout.")],
    workspace: Annotated[
        str | None, typer.Option("--workspace", help="Of which workspace. [MUNIMENT_WORKSPACE]")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the log as an archive: JSON lines, chain included."""
    from muniment.surfaces.cli.outline import show

    settings = in_workspace(local_settings("export"), workspace)
    if file != "-":
        answer(wait(_export(settings, Path(file), as_json)), as_json, show)
        return
    folder = Path(tempfile.mkdtemp(prefix="muniment-"))
    try:
        document = wait(_export(settings, folder / "archive", as_json))
        with (folder / "archive").open("rb") as archive:
            shutil.copyfileobj(archive, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not as_json:
        sys.stderr.write(f"exported {document['events']} events\n")


def in_workspace(settings: Settings, name: str | None) -> Settings:
    """Return the settings with another workspace, if one is named.

    Raises:
        Malformed: not a name for a workspace.
    """
    if name is None:
        return settings
    from pydantic import ValidationError

    from muniment.config import Settings

    try:
        return Settings(workspace=name)
    except ValidationError:
        raise Malformed(
            f"{name!r} is not a name for a workspace.",
            code="bad_workspace",
            field="workspace",
            next_step="Use lower-case letters, digits, _ and -, at most 63.",
        ) from None


@asynccontextmanager
async def opened(settings: Settings) -> AsyncGenerator[tuple[Database, Workspace]]:
    """Open the database and find the workspace, without a writer beside."""
    from muniment.bootstrap import open_database
    from muniment.store.workspaces import find_workspace

    async with open_database(settings, keep=True) as database:
        workspace = await find_workspace(database.reader, settings.workspace)
        if workspace is None:
            raise NotFound(
                f"There is no workspace {settings.workspace!r}.",
                field="workspace",
                next_step="muniment workspace list shows which there are.",
            )
        yield database, workspace


async def _verify(settings: Settings, dump: Path | None, head: str | None) -> dict[str, Any]:
    from muniment.actions import maintenance

    expected = None if head is None else _head(head)
    async with opened(settings) as (database, workspace):
        report = await maintenance.verify(database, workspace.workspace_id, expected_head=expected)
        document = {"workspace": workspace.name, **report.as_json()}
        if dump is not None:
            lines = 0
            with _private_file(dump) as file:
                async for line in maintenance.dump(database, workspace.workspace_id):
                    file.write(line + "\n")
                    lines += 1
            document["dump"] = {"file": str(dump), "lines": lines}
    return document


async def _rebuild(settings: Settings) -> dict[str, Any]:
    from muniment.actions import maintenance

    async with opened(settings) as (database, workspace):
        report = await maintenance.rebuild(database, workspace.workspace_id)
    return {"workspace": workspace.name, **report.as_json()}


async def _export(settings: Settings, path: Path, as_json: bool) -> dict[str, Any]:
    from muniment.ingest.archive import export_archive
    from muniment.surfaces.principal import local_operator

    async with opened(settings) as (database, workspace):
        who = local_operator(workspace.workspace_id)
        with progress_bar("events", as_json) as progress:
            report = await export_archive(database, who.actor, path, progress=progress)
    return {"workspace": workspace.name, "file": str(path), **report.as_json()}


def _head(given: str) -> tuple[int, bytes]:
    """Return the head that was given as POS:HASH, or that the first line of an archive names."""
    from muniment.domain.archive import ArchiveHeader

    pos, colon, digest = given.partition(":")
    if colon and pos.isascii() and pos.isdigit() and len(pos) < 20:
        try:
            found = bytes.fromhex(digest)
        except ValueError:
            found = b""
        if len(found) == 32:
            return int(pos), found
        raise _bad_head(given)
    try:
        with Path(given).open(encoding="utf-8") as file:
            header = ArchiveHeader.from_line(file.readline().rstrip("\n"))
    except (OSError, UnicodeDecodeError) as error:
        raise _bad_head(given) from error
    return header.pos, header.hash


def _bad_head(given: str) -> Malformed:
    return Malformed(
        f"{given[:100]!r} names no head.",
        code="bad_head",
        field="head",
        next_step="Give POS:HASH as `muniment verify --json` shows it, or a file of "
        "`muniment export`.",
    )


def _private_file(path: Path) -> IO[str]:
    """Open a file for its owner's eyes alone: it holds every audience."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise Refused(
            f"{path} cannot be written: {error.strerror}",
            code="cannot_write",
            field="dump",
            next_step="Name a file in a folder that you may write to.",
        ) from error
    return os.fdopen(descriptor, "w", encoding="utf-8")
