"""How the command line speaks: one answer on stdout, everything else on stderr, one exit code.

    0  done                      3  not found
    1  anything else             4  refused, or in conflict
    2  bad input                 5  a part that is needed does not answer
    130  interrupted

With `--json` stdout holds exactly one JSON document, the error included: `{"error": {...}}`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

import typer

from muniment.domain import errors
from muniment.domain.errors import MunimentError

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
"""The option that every verb has."""

Document = Mapping[str, Any]
T = TypeVar("T")

EXIT_CODES: Final[dict[type[MunimentError], int]] = {
    errors.Malformed: 2,
    errors.NotFound: 3,
    errors.Unauthenticated: 4,
    errors.CapabilityDenied: 4,
    errors.Refused: 4,
    errors.Conflict: 4,
    errors.Busy: 5,
    errors.Unavailable: 5,
    errors.EmbeddedError: 5,
}


def exit_code(error: MunimentError) -> int:
    """Return the exit code of an error."""
    return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1)


def wait(work: Coroutine[Any, Any, T]) -> T:
    """Run asynchronous work to its end."""
    return asyncio.run(work)


def answer(document: Document, as_json: bool, show: Callable[[Document], None]) -> None:
    """Print what a verb found: as JSON, or as `show` puts it for a person."""
    if as_json:
        say_json(document)
    else:
        show(document)


def say_json(document: Document) -> None:
    """Print one JSON document."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def say(text: str = "") -> None:
    """Print a line for a person."""
    print(text)


def note(text: str) -> None:
    """Print a line beside the answer: on stderr, so that stdout stays what was asked for."""
    print(text, file=sys.stderr)


def table(rows: Sequence[Sequence[object]], head: Sequence[str] = ()) -> None:
    """Print rows as aligned columns, under a head where there is one; lines are not broken."""
    shown = [["" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    if head:
        shown.insert(0, list(head))
    widths = [max(map(len, column), default=0) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say("  ".join(cells).rstrip())


def printable(text: str) -> str:
    """Return text with control characters shown, which could otherwise steer the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)


def report(error: MunimentError, as_json: bool) -> int:
    """Print an error and return its exit code."""
    if as_json:
        say_json({"error": error.as_dict()})
    else:
        note(f"error: {error.message} [{error.code}]")
        if error.next_step:
            note(error.next_step)
    return exit_code(error)


def bad_usage(message: str) -> errors.Malformed:
    """Return the error for a command line that cannot be read."""
    return errors.Malformed(
        message,
        code="usage",
        next_step="muniment --help lists the commands; muniment COMMAND --help its options.",
    )
