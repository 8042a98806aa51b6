"""The verbs that look things up: search, open, trace, history, list."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from muniment.surfaces.cli.output import Document, JsonFlag, answer, printable, say, wait

commands = typer.Typer()

About = Annotated[str, typer.Argument(help="Name or id of an object.")]
Type = Annotated[str | None, typer.Option("--type", help="Its type, where a name is ambiguous.")]
AsOf = Annotated[str | None, typer.Option(help="What held then: a date or moment.")]
KnownAt = Annotated[str | None, typer.Option(help="What was on record then: a moment or a pos.")]
Cursor = Annotated[str | None, typer.Option(help="Go on where an answer ended.")]
Limit = Annotated[int | None, typer.Option(help="How many at most, 1 to 100.")]


@commands.command()
def search(
    query: Annotated[list[str], typer.Argument(help="What to look for.")],
    type_: Annotated[str | None, typer.Option("--type", help="Objects of this type.")] = None,
    about: Annotated[str | None, typer.Option(help="What is known of this object.")] = None,
    property_: Annotated[
        str | None, typer.Option("--property", help="Claims of this property.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Claims of this source.")] = None,
    class_: Annotated[
        str | None, typer.Option("--class", help="Claims obtained in this way.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="What this project keeps to itself.")] = None,
    audience: Annotated[str | None, typer.Option(help="What this audience may read.")] = None,
    names_only: Annotated[bool, typer.Option("--names-only", help="Objects by name.")] = False,
    include_superseded: Annotated[
        bool, typer.Option("--include-superseded", help="Closed claims too, flagged.")
    ] = False,
    untrusted: Annotated[
        bool, typer.Option("--untrusted", help="Untrusted claims too, in a list of their own.")
    ] = False,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    limit: Limit = None,
    cursor: Cursor = None,
    as_json: JsonFlag = False,
) -> None:
    """Search what is known."""
    raw = {
        "query": " ".join(query),
        "type": type_,
        "about": about,
        "property": property_,
        "source": source,
        "class": class_,
        "project": project,
        "audience": audience,
        "names_only": names_only or None,
        "include_superseded": include_superseded or None,
        "untrusted": untrusted or None,
        "as_of": as_of,
        "known_at": known_at,
        "limit": limit,
        "cursor": cursor,
    }
    answer(_ask("recall", raw), as_json, _show_hits)


@commands.command("open")
def open_(
    about: About,
    type_: Type = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    cursor: Cursor = None,
    as_json: JsonFlag = False,
) -> None:
    """Show all that is known of one object, by source."""
    raw = {
        "about": about,
        "type": type_,
        "as_of": as_of,
        "known_at": known_at,
        "cursor": cursor,
    }
    _outline("open", raw, as_json)


@commands.command()
def trace(
    about: About,
    type_: Type = None,
    limit: Limit = None,
    cursor: Cursor = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the events of one object, oldest first."""
    _outline("trace", {"about": about, "type": type_, "limit": limit, "cursor": cursor}, as_json)


@commands.command()
def history(
    about: About,
    property_: Annotated[str, typer.Argument(metavar="PROPERTY", help="Which property.")],
    type_: Type = None,
    limit: Limit = None,
    cursor: Cursor = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what was claimed of one property over time."""
    raw = {
        "about": about,
        "property": property_,
        "type": type_,
        "limit": limit,
        "cursor": cursor,
    }
    _outline("trace", raw, as_json)


@commands.command("list")
def list_(
    type_: Annotated[str | None, typer.Option("--type", help="Objects of this type.")] = None,
    status: Annotated[str | None, typer.Option(help="Objects of this status. [active]")] = None,
    stale_before: Annotated[
        str | None, typer.Option(help="Only what was not observed since then.")
    ] = None,
    limit: Limit = None,
    cursor: Cursor = None,
    as_json: JsonFlag = False,
) -> None:
    """List objects by type and status."""
    raw = {
        "type": type_,
        "status": status,
        "stale_before": stale_before,
        "limit": limit,
        "cursor": cursor,
    }
    _outline("list", raw, as_json)


def _ask(verb: str, raw: dict[str, Any]) -> dict[str, Any]:
    from muniment.surfaces.cli.backend import perform

    return wait(perform(verb, raw))


def _outline(verb: str, raw: dict[str, Any], as_json: bool) -> None:
    from muniment.surfaces.cli.outline import show

    answer(_ask(verb, raw), as_json, show)


def _show_hits(found: Document) -> None:
    from muniment.surfaces.cli.outline import lines

    hits = found.get("hits", [])
    for hit in [*hits, *found.get("untrusted", [])]:
        about = hit["object"]
        said = " ".join(str(hit.get("value", hit.get("snippet", ""))).split())
        label = f"{about.get('type', '')} {about.get('name', '')}".strip()
        say(printable(f"{label} · {hit['property']}: {said}" if "property" in hit else label))
        facts = [str(hit[name]) for name in ("source", "class", "band") if name in hit]
        facts += [f"pos {hit['pos']}"] if "pos" in hit else []
        facts += [name for name in ("disagreement", "superseded", "retracted") if name in hit]
        facts.append(str(about.get("id", "")))
        say(printable("    " + " · ".join(facts)))
    if not hits:
        say("nothing found")
    rest = {k: v for k, v in found.items() if k not in ("hits", "untrusted", "note")}
    say()
    for line in lines(rest):
        say(line)
