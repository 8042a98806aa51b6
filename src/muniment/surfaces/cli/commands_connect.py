"""The verb `connect`: shows what would change in a harness's configuration, then changes it."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from muniment.domain.errors import Malformed, Refused
from muniment.surfaces.cli.connect import edit, files
from muniment.surfaces.cli.connect.entry import Entry, Harness, Patch, Place, Scope
from muniment.surfaces.cli.connect.harnesses import HARNESSES
from muniment.surfaces.cli.output import JsonFlag, note, say, say_json, wait
from muniment.surfaces.cli.scope import mcp_url, read_settings, require_whole_scope

if TYPE_CHECKING:
    from muniment.config import Settings

commands = typer.Typer()

HarnessName = StrEnum("HarnessName", list(HARNESSES))
SHOWN_INSTEAD: Final = "<the token>"
TOKEN: Final = re.compile(r"mun_[A-Za-z0-9_-]{43}")


@commands.command()
def connect(
    harness: Annotated[HarnessName, typer.Argument(help="Which harness.")],
    url: Annotated[
        str | None, typer.Option("--url", help="Where the service is. [the one that runs here]")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="The agent that it acts as. [the harness's name]")
    ] = None,
    token_env: Annotated[
        str | None,
        typer.Option(
            "--token-env", help="Variable that holds the token. [MUNIMENT_TOKEN_<HARNESS>]"
        ),
    ] = None,
    inline: Annotated[
        bool, typer.Option("--inline-token", help="Write the token itself into the file.")
    ] = False,
    scope: Annotated[Scope, typer.Option("--scope", help="Where it holds.")] = Scope.USER,
    folder: Annotated[
        Path | None, typer.Option("--dir", help="The project, for --scope project. [here]")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the change and write nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before writing.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Write muniment into a harness's configuration; everything else in it is kept."""
    settings = read_settings()
    require_whole_scope(settings)
    target = HARNESSES[harness.value]
    where = Place(
        home=Path.home(),
        config=_config_folder(),
        project=(folder or Path.cwd()).absolute(),
        mac=sys.platform == "darwin",
        environment=os.environ,
    )
    variable = _variable(token_env or _default_variable(target, settings))
    reach = Scope.PROJECT if folder else scope
    plan = _plan(
        target,
        target.file(where, reach),
        Entry(url=_url(url, settings), variable=variable),
        inline,
        personal=reach is Scope.USER,
    )
    document: dict[str, Any] = {
        "harness": target.name,
        "file": str(plan.path),
        "url": plan.entry.url,
        "changed": plan.after != plan.before,
        "written": False,
        "diff": TOKEN.sub(SHOWN_INSTEAD, files.difference(plan.path, plan.before, plan.after)),
    }
    if not inline and not target.prompts:
        document["token_env"] = variable
    if not as_json:
        _show_change(plan, document)
    if document["changed"] and not dry_run:
        if not (yes or as_json) and sys.stdin.isatty() and sys.stdout.isatty():
            typer.confirm("Write this?", default=True, abort=True)
        document |= _carry_out(plan, _token(plan, settings, name, local=url is None), inline)
    if as_json:
        say_json(document)
    else:
        _show_rest(target, document, dry_run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A change to one file.

    before, after: its text; in `after` no token stands yet.
    personal: the file is one user's, and not a project's, which others share.
    """

    harness: Harness
    path: Path
    entry: Entry
    before: str
    after: str
    personal: bool


def _plan(harness: Harness, path: Path, entry: Entry, inline: bool, *, personal: bool) -> Plan:
    """Work out the change.

    Raises:
        Refused: the file cannot be edited safely (`config_not_editable`).
    """
    before = files.load(path)
    if inline:
        # One that is there already is kept: a second run must not issue another.
        there = TOKEN.search(_present_entry(harness, entry, before))
        token = there[0] if there else SHOWN_INSTEAD
        entry = Entry(url=entry.url, variable=entry.variable, token=token)
    return Plan(
        harness=harness,
        path=path,
        entry=entry,
        before=before,
        after=_edited(harness, path, entry, before),
        personal=personal,
    )


def _present_entry(harness: Harness, entry: Entry, text: str) -> str:
    """Return what the file says of us now, as JSON."""
    try:
        found: Any = edit.read(text, harness.syntax)
        for key in harness.patch(entry, found).path:
            found = found[key]
    except (edit.NotEditable, KeyError, TypeError):
        return ""
    return json.dumps(found, default=str)


def _edited(harness: Harness, path: Path, entry: Entry, before: str) -> str:
    patch: Patch = harness.patch(entry, {})
    try:
        patch = harness.patch(entry, edit.read(before, harness.syntax))
        return edit.apply(before, harness.syntax, patch)
    except edit.NotEditable as error:
        raise edit.refuse(str(path), str(error), harness.syntax, patch) from error


def _carry_out(plan: Plan, token: str | None, inline: bool) -> dict[str, Any]:
    after = plan.after
    if inline:
        if token is None:
            raise Refused(
                "There is no token to write.",
                code="no_token",
                field="token_env",
                next_step=f"Set {plan.entry.variable} to one, or leave --inline-token out.",
            )
        entry = Entry(url=plan.entry.url, variable=plan.entry.variable, token=token)
        after = _edited(plan.harness, plan.path, entry, plan.before)
    kept = files.replace(plan.path, plan.before, after, secret=inline, personal=plan.personal)
    done: dict[str, Any] = {"written": True}
    if kept is not None:
        done["backup"] = str(kept)
    if token is not None and not inline and token != os.environ.get(plan.entry.variable):
        done["token"] = token
    return done


def _token(plan: Plan, settings: Settings, name: str | None, *, local: bool) -> str | None:
    """Return the token to use: that of the file, of the environment, or a new one.

    local: the service is the one of this machine, for which we may issue tokens.
    """
    there = plan.entry.token
    if there is not None and there != SHOWN_INSTEAD:
        return there
    given = os.environ.get(plan.entry.variable)
    if given or not local or settings.url is not None:
        return given
    return wait(_issue(settings, name or plan.harness.name))


async def _issue(settings: Settings, name: str) -> str:
    """Issue a token to the agent of that name, on the machine that holds the home."""
    from muniment.bootstrap import open_service
    from muniment.surfaces.principal import create_token, local_operator

    async with open_service(settings) as service:
        who = local_operator(service.workspace.workspace_id)
        issued = await create_token(
            service.actions,
            who.actor,
            name=name,
            role="agent",
            reason="Issued by muniment connect.",
        )
    return issued.token


def _url(given: str | None, settings: Settings) -> str:
    from muniment.surfaces.cli.seat import Seat

    if given is not None:
        if not re.match(r"https?://[^/\s]+", given):
            raise Malformed(
                f"{given[:100]!r} is not the address of a service.",
                code="bad_url",
                field="url",
                next_step="Write it as http://127.0.0.1:8790/mcp.",
            )
        return mcp_url(given)
    if settings.url is not None:
        return mcp_url(settings.url)
    running = Seat(settings.home).look()
    return (running.url if running else None) or f"http://127.0.0.1:{settings.port}/mcp"


def _default_variable(harness: Harness, settings: Settings) -> str:
    """Return the variable to look for.

    One for each harness: each is an agent of its own, and MUNIMENT_TOKEN alone would turn the
    command line on this machine away from its local store.
    """
    return "MUNIMENT_TOKEN" if settings.url else f"MUNIMENT_TOKEN_{harness.name.upper()}"


def _variable(name: str) -> str:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return name
    raise Malformed(
        f"{name[:100]!r} is not the name of a variable.",
        code="bad_variable",
        field="token_env",
        next_step="Use letters, digits and _.",
    )


def _config_folder() -> Path:
    configured = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return configured if configured.is_absolute() else Path.home() / ".config"


def _show_change(plan: Plan, document: dict[str, Any]) -> None:
    if not document["changed"]:
        say(f"{plan.harness.title} is connected already: {plan.path}")
        return
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.syntax import Syntax

        Console().print(Syntax(document["diff"], "diff", background_color="default"))
    else:
        say(document["diff"].rstrip("\n"))


def _show_rest(harness: Harness, document: dict[str, Any], dry_run: bool) -> None:
    if dry_run and document["changed"]:
        note("Nothing was written.")
    if not document["written"]:
        return
    say()
    say(f"Wrote {document['file']}")
    if "backup" in document:
        say(f"The former text is in {document['backup']}")
    if "token" in document:
        say()
        if harness.prompts:
            say("The token, shown once; paste it when it is asked for:")
            say(f"  {document['token']}")
        else:
            say("Put this where your shell reads it; the token is shown once:")
            say(f"  export {document['token_env']}={json.dumps(document['token'])[1:-1]}")
    elif "token_env" in document:
        say(f"The token is read from {document['token_env']}.")
    say(harness.after)
