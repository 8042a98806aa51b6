"""Carries out a verb: on the local store as its operator, or at a service over MCP.

The verbs have the same names and arguments on both sides, those of the MCP tools.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from muniment.surfaces.cli.scope import (
    mcp_url,
    not_remote,
    read_settings,
    require_whole_scope,
)

if TYPE_CHECKING:
    from muniment.bootstrap import Service
    from muniment.surfaces.principal import Principal

    Run = Callable[[Service, Principal], Awaitable["Answer"]]

Raw = Mapping[str, Any]
Answer = dict[str, Any]

TOOLS: Final = frozenset(
    {
        "recall",
        "open",
        "trace",
        "remember",
        "relate",
        "retract",
        "merge",
        "unmerge",
        "set_status",
    }
)
"""The verbs that a service offers as tools."""


async def perform(verb: str, raw: Raw) -> Answer:
    """Carry out a verb where the settings say; `key` is the idempotency key of a command.

    Raises:
        MunimentError: refused, not found, or out of reach.
    """
    settings = read_settings()
    require_whole_scope(settings)
    given = {name: value for name, value in raw.items() if value is not None}
    if settings.url is not None and settings.token is not None:
        if verb not in TOOLS:
            raise not_remote(verb.replace("_", "-"))
        from muniment.surfaces.client import call

        return await call(mcp_url(settings.url), settings.token, verb, given)
    # Bad input is refused before a database is started for it.
    run = _HERE[verb](given)
    from muniment.bootstrap import open_service
    from muniment.surfaces.principal import local_operator

    async with open_service(settings) as service:
        return await run(service, local_operator(service.workspace.workspace_id))


def _recall(raw: Raw) -> Run:
    from muniment.reads.arguments import parse_recall

    query = parse_recall(raw)
    return lambda service, who: service.reads.recall(who.reader, query)


def _open(raw: Raw) -> Run:
    from muniment.reads.arguments import parse_open

    query = parse_open(raw)
    return lambda service, who: service.reads.open(
        who.reader, query.ref, as_of=query.as_of, known_at=query.known_at, cursor=query.cursor
    )


def _trace(raw: Raw) -> Run:
    from muniment.reads.arguments import parse_trace

    query = parse_trace(raw)
    name = query.property
    if name is None:
        return lambda service, who: service.reads.trace(
            who.reader, query.ref, limit=query.limit, cursor=query.cursor
        )
    return lambda service, who: service.reads.history(
        who.reader, query.ref, name, limit=query.limit, cursor=query.cursor
    )


def _list(raw: Raw) -> Run:
    from muniment.reads.arguments import parse_list

    query = parse_list(raw)
    return lambda service, who: service.reads.list_objects(who.reader, query)


def _command(parser: str) -> Callable[[Raw], Run]:
    """Return the verb whose arguments `domain.parse` reads by the function of that name."""

    def parsed(raw: Raw) -> Run:
        from muniment.domain import parse

        key = parse.parse_key(raw.get("key"))
        command = getattr(parse, parser)({k: v for k, v in raw.items() if k != "key"})

        async def run(service: Service, who: Principal) -> Answer:
            return dict((await service.actions.perform(who.actor, command, key=key)).answer)

        return run

    return parsed


_HERE: Final[dict[str, Callable[[Raw], Run]]] = {
    "recall": _recall,
    "open": _open,
    "trace": _trace,
    "list": _list,
    "remember": _command("parse_remember"),
    "relate": _command("parse_relate"),
    "retract": _command("parse_retract"),
    "rename": _command("parse_rename"),
    "merge": _command("parse_merge"),
    "unmerge": _command("parse_unmerge"),
    "set_status": _command("parse_set_status"),
    "redact": _command("parse_redact"),
}
