"""The verbs that write: remember, relate, retract, rename, merge, unmerge, set-status, redact."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from muniment.surfaces.cli.output import JsonFlag, answer, bad_usage, wait

commands = typer.Typer()

About = Annotated[str, typer.Argument(help="Name or id of an object.")]
Type = Annotated[str | None, typer.Option("--type", help="Its type; creates it where needed.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it stays on record.")]
Key = Annotated[str | None, typer.Option(help="Idempotency key: the same one has one effect.")]
Class = Annotated[str | None, typer.Option("--class", help="How it was obtained.")]
Evidence = Annotated[str | None, typer.Option(help="Where it can be seen.")]
Source = Annotated[str | None, typer.Option(help="Whose claim it is. [yours]")]
ValidFrom = Annotated[str | None, typer.Option(help="Since when it holds; a year will do.")]
ValidTo = Annotated[str | None, typer.Option(help="Until when it holds.")]
Audience = Annotated[str | None, typer.Option(help="Who may read it. [fleet]")]
Version = Annotated[
    int | None, typer.Option("--expected-version", help="Refuse when it is another by now.")
]


@commands.command()
def remember(
    about: Annotated[str | None, typer.Argument(help="Name or id of an object.")] = None,
    property_: Annotated[str | None, typer.Argument(metavar="[PROPERTY]")] = None,
    value: Annotated[str | None, typer.Argument(help="What is claimed.")] = None,
    file: Annotated[
        str | None,
        typer.Option(help="JSON with many at once, {claims: [...], links: [...]}; - is stdin."),
    ] = None,
    value_is_json: Annotated[
        bool, typer.Option("--value-json", help="VALUE is JSON, not text.")
    ] = False,
    type_: Type = None,
    class_: Class = None,
    evidence: Evidence = None,
    source: Source = None,
    valid_from: ValidFrom = None,
    valid_to: ValidTo = None,
    audience: Audience = None,
    expected_version: Version = None,
    key: Key = None,
    as_json: JsonFlag = False,
) -> None:
    """Record a claim, or many at once, all or none."""
    if file is not None:
        if about is not None:
            raise bad_usage("Give a claim or --file, not both.")
        batch = _from_file(file)
        _write("remember", {**batch, "key": key} if key is not None else batch, as_json)
        return
    if about is None or property_ is None or value is None:
        raise bad_usage("A claim takes ABOUT PROPERTY VALUE; or give --file.")
    claim = _present(
        about=about,
        property=property_,
        value=_json(value) if value_is_json else value,
        type=type_,
        evidence=evidence,
        source=source,
        valid_from=valid_from,
        valid_to=valid_to,
        audience=audience,
        expected_version=expected_version,
    )
    if class_ is not None:
        claim["class"] = class_
    _write("remember", {"claims": [claim], "key": key}, as_json)


@commands.command()
def relate(
    src: Annotated[str, typer.Argument(metavar="FROM", help="Name or id.")],
    link: Annotated[str, typer.Argument(help="Type of the link, such as depends_on.")],
    dst: Annotated[str, typer.Argument(metavar="TO", help="Name or id.")],
    from_type: Annotated[str | None, typer.Option(help="Type of FROM.")] = None,
    to_type: Annotated[str | None, typer.Option(help="Type of TO.")] = None,
    class_: Class = None,
    evidence: Evidence = None,
    source: Source = None,
    valid_from: ValidFrom = None,
    valid_to: ValidTo = None,
    audience: Audience = None,
    expected_version: Version = None,
    key: Key = None,
    as_json: JsonFlag = False,
) -> None:
    """Link two objects."""
    raw = {
        "from": src,
        "link": link,
        "to": dst,
        "from_type": from_type,
        "to_type": to_type,
        "class": class_,
        "evidence": evidence,
        "source": source,
        "valid_from": valid_from,
        "valid_to": valid_to,
        "audience": audience,
        "expected_version": expected_version,
        "key": key,
    }
    _write("relate", raw, as_json)


@commands.command()
def retract(
    about: About,
    property_: Annotated[
        str, typer.Argument(metavar="PROPERTY", help="Which property; with --to, which link.")
    ],
    reason: Reason,
    to: Annotated[str | None, typer.Option(help="Withdraw the link to this object.")] = None,
    to_type: Annotated[str | None, typer.Option(help="Type of TO.")] = None,
    value: Annotated[str | None, typer.Option(help="Which of many values.")] = None,
    value_is_json: Annotated[
        bool, typer.Option("--value-json", help="VALUE is JSON, not text.")
    ] = False,
    source: Source = None,
    type_: Type = None,
    key: Key = None,
    as_json: JsonFlag = False,
) -> None:
    """Withdraw a claim or a link; it stays in the log."""
    raw: dict[str, Any] = {"source": source, "reason": reason, "key": key}
    if to is not None:
        if value is not None:
            raise bad_usage("--value picks a claim and --to a link; give one of them.")
        raw |= {
            "from": about,
            "from_type": type_,
            "link": property_,
            "to": to,
            "to_type": to_type,
        }
    else:
        raw |= {"about": about, "type": type_, "property": property_}
        if value is not None:
            raw["value"] = _json(value) if value_is_json else value
    _write("retract", raw, as_json)


@commands.command()
def rename(
    about: About,
    name: Annotated[str, typer.Argument(help="Its new name; the former still leads to it.")],
    reason: Reason,
    type_: Type = None,
    expected_version: Version = None,
    key: Key = None,
    as_json: JsonFlag = False,
) -> None:
    """Give an object another name."""
    raw = {
        "about": about,
        "type": type_,
        "name": name,
        "reason": reason,
        "expected_version": expected_version,
        "key": key,
    }
    _write("rename", raw, as_json)


@commands.command()
def merge(
    loser: Annotated[str, typer.Argument(help="The one that gives way.")],
    survivor: Annotated[str, typer.Argument(help="The one that stays.")],
    reason: Reason,
    loser_type: Annotated[str | None, typer.Option(help="Type of LOSER.")] = None,
    survivor_type: Annotated[str | None, typer.Option(help="Type of SURVIVOR.")] = None,
    expected_version: Version = None,
    key: Key = None,
    as_json: JsonFlag = False,
) -> None:
    """Say that two objects are one. Reversible by unmerge."""
    raw = {
        "loser": loser,
        "survivor": survivor,
        "loser_type": loser_type,
        "survivor_type": survivor_type,
        "reason": reason,
        "expected_version": expected_version,
        "key": key,
    }
    _write("merge", raw, as_json)


@commands.command()
def unmerge(
    loser: Annotated[str, typer.Argument(help="The one that gave way; best by id.")],
    reason: Reason,
    type_: Type = None,
    expected_version: Version = None,
    key: Key = None,
    as_json: JsonFlag = False,
) -> None:
    """Undo a merge exactly."""
    raw = {
        "loser": loser,
        "type": type_,
        "reason": reason,
        "expected_version": expected_version,
        "key": key,
    }
    _write("unmerge", raw, as_json)


@commands.command("set-status")
def set_status(
    about: About,
    status: Annotated[str, typer.Argument(help="active, archived, retired or historical.")],
    reason: Reason,
    type_: Type = None,
    expected_version: Version = None,
    key: Key = None,
    as_json: JsonFlag = False,
) -> None:
    """Take an object out of search, or back."""
    raw = {
        "about": about,
        "type": type_,
        "status": status,
        "reason": reason,
        "expected_version": expected_version,
        "key": key,
    }
    _write("set_status", raw, as_json)


@commands.command()
def redact(
    positions: Annotated[list[int], typer.Argument(help="Positions of events; see trace.")],
    reason: Reason,
    key: Key = None,
    as_json: JsonFlag = False,
) -> None:
    """Remove the content of events for good; that they happened stays on record."""
    _write("redact", {"positions": positions, "reason": reason, "key": key}, as_json)


def _write(verb: str, raw: dict[str, Any], as_json: bool) -> None:
    from muniment.surfaces.cli.backend import perform
    from muniment.surfaces.cli.outline import show

    answer(wait(perform(verb, raw)), as_json, show)


def _present(**parts: Any) -> dict[str, Any]:
    return {name: part for name, part in parts.items() if part is not None or name == "value"}


def _json(text: str) -> Any:
    from muniment.domain.jsondoor import loads_strict

    return loads_strict(text)


def _from_file(name: str) -> dict[str, Any]:
    """Read a batch.

    Raises:
        Malformed: not JSON, or not an object.
        NotFound: there is no such file.
    """
    from muniment.domain.errors import Malformed, NotFound
    from muniment.domain.jsondoor import loads_strict

    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise NotFound(
            f"{name} cannot be read: {error.strerror}",
            code="no_such_file",
            field="file",
            next_step="Name a file, or - for stdin.",
        ) from error
    found = loads_strict(data)
    if not isinstance(found, dict):
        raise Malformed(
            "The file must hold one JSON object.",
            code="wrong_type",
            field="file",
            next_step='Write {"claims": [...], "links": [...]}.',
        )
    return found
