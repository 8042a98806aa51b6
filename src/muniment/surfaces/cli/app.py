"""The command line as a whole: which verbs there are, and what becomes of an error.

Modules of verbs import what they need when they run, so that `--help` and completion are instant.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from muniment import __version__
from muniment.domain.errors import MunimentError
from muniment.surfaces.cli import (
    commands_catalog,
    commands_connect,
    commands_ingest,
    commands_log,
    commands_reading,
    commands_running,
    commands_state,
    commands_tokens,
    commands_writing,
)
from muniment.surfaces.cli.output import bad_usage, report, say

app = typer.Typer(
    name="muniment",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A self-hosted memory and coordination graph for fleets of AI agents.",
)
for module in (
    commands_running,
    commands_state,
    commands_connect,
    commands_reading,
    commands_writing,
    commands_log,
):
    app.add_typer(module.commands)
app.add_typer(commands_tokens.commands, name="token")
app.add_typer(commands_ingest.ingest, name="ingest")
app.add_typer(commands_ingest.imports, name="import")
app.add_typer(commands_catalog.types, name="types")
app.add_typer(commands_catalog.workspaces, name="workspace")


def _version(wanted: bool) -> None:
    if wanted:
        say(f"muniment {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """A self-hosted memory and coordination graph for fleets of AI agents."""
    del version


def run(arguments: Sequence[str]) -> int:
    """Carry out a command line and return its exit code."""
    words = list(arguments)
    as_json = "--json" in words[: words.index("--")] if "--" in words else "--json" in words
    try:
        code: object = app(args=words, prog_name="muniment", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except MunimentError as error:
        return report(error, as_json)
    except typer.TyperException as error:
        return _usage(error, as_json)
    except (typer.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        # Whoever read our answer has seen enough.
        sys.stderr.close()
        return 1
    except Exception as error:
        traceback.print_exc()
        unexpected = MunimentError(
            f"Something failed: {type(error).__name__}: {error}",
            code="internal",
            next_step="This is a defect of muniment; please report it with the lines above.",
        )
        return report(unexpected, as_json)


def _usage(error: typer.TyperException, as_json: bool) -> int:
    message = error.format_message()
    if not message:
        # Shown without arguments, the help is the answer.
        return error.exit_code
    return report(bad_usage(message), as_json)
