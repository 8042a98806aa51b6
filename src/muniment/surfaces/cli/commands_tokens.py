"""The verbs about who may come in: token create, list, revoke."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import typer

from muniment.domain.errors import Malformed, NotFound
from muniment.surfaces.cli.output import Document, JsonFlag, answer, note, say, table, wait
from muniment.surfaces.cli.scope import local_settings

commands = typer.Typer(no_args_is_help=True, help="Bearer tokens: who may come in.")

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@commands.command()
def create(
    role: Annotated[str, typer.Option("--role", help="reader, agent, ingestor or operator.")],
    name: Annotated[str, typer.Option("--name", help="Whose token it is; made when absent.")],
    audience: Annotated[
        list[str] | None, typer.Option("--audience", help="What else it may read; repeat.")
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option("--source", help="What it may speak for, 'git:*'; repeat.")
    ] = None,
    default_audience: Annotated[
        str | None, typer.Option(help="Who may read what it writes. [fleet]")
    ] = None,
    expires: Annotated[str | None, typer.Option(help="Valid for: 12h, 90d. [for ever]")] = None,
    reason: Annotated[str, typer.Option(help="Why.")] = "Issued on the command line.",
    as_json: JsonFlag = False,
) -> None:
    """Issue a token. It is shown once and never again."""
    document = wait(
        _create(
            name=name,
            role=role,
            audiences=audience,
            owned_sources=source,
            default_audience=default_audience,
            expires_in=None if expires is None else parse_span(expires),
            reason=reason,
        )
    )

    def show(found: Document) -> None:
        note(f"Token {found['token_id']} of {found['role']} {found['name']}; shown once:")
        say(found["token"])

    answer(document, as_json, show)


@commands.command("list")
def list_(as_json: JsonFlag = False) -> None:
    """List tokens; the tokens themselves are not kept."""

    def show(found: Document) -> None:
        head = ("token_id", "name", "role", "state", "expires_at")
        table([[token.get(part) for part in head] for token in found["tokens"]], head)

    answer({"tokens": wait(_list())}, as_json, show)


@commands.command()
def revoke(
    token_id: Annotated[str, typer.Argument(help="As token list shows it.")],
    reason: Annotated[str, typer.Option(help="Why.")] = "Revoked on the command line.",
    as_json: JsonFlag = False,
) -> None:
    """Make a token void at once."""
    from muniment.surfaces.cli.outline import show

    answer(wait(_revoke(token_id, reason)), as_json, show)


def parse_span(text: str) -> timedelta:
    """Return a span of time: `30m`, `12h`, `90d`, `4w`.

    Raises:
        Malformed: anything else.
    """
    number, unit = text[:-1], _UNITS.get(text[-1:])
    if unit and number.isascii() and number.isdigit() and len(number) <= 6 and int(number):
        return timedelta(**{unit: int(number)})
    raise Malformed(
        f"{text[:40]!r} is not a span of time.",
        code="bad_expiry",
        field="expires",
        next_step="Write 30m, 12h, 90d or 4w.",
    )


async def _create(**parts: Any) -> dict[str, Any]:
    from muniment.bootstrap import open_service
    from muniment.surfaces.principal import create_token, local_operator

    async with open_service(local_settings("token create")) as service:
        who = local_operator(service.workspace.workspace_id)
        issued = await create_token(service.actions, who.actor, **parts)
    return {
        "token": issued.token,
        "token_id": str(issued.token_id),
        "name": parts["name"],
        "role": parts["role"],
        "workspace": service.workspace.name,
        **({"expires_at": _time(issued.expires_at)} if issued.expires_at else {}),
    }


async def _list() -> list[dict[str, Any]]:
    from muniment.store.credentials import list_tokens
    from muniment.surfaces.cli.commands_log import opened

    async with opened(local_settings("token list")) as (database, workspace):
        rows = await list_tokens(database, workspace.workspace_id)
    return [
        {
            "token_id": str(row.token_id),
            "name": row.name,
            "role": row.role,
            "state": "revoked" if row.revoked_at else "valid" if row.valid else "expired",
            "issued_at": _time(row.issued_at),
            **({"expires_at": _time(row.expires_at)} if row.expires_at else {}),
            **({"revoked_at": _time(row.revoked_at)} if row.revoked_at else {}),
        }
        for row in rows
    ]


async def _revoke(given: str, reason: str) -> dict[str, Any]:
    from muniment.bootstrap import open_service
    from muniment.store.credentials import list_tokens
    from muniment.surfaces.principal import local_operator, revoke_token

    settings = local_settings("token revoke")
    try:
        token_id = UUID(given)
    except ValueError:
        raise Malformed(
            f"{given[:40]!r} is not the id of a token.",
            code="bad_token_id",
            field="token_id",
            next_step="muniment token list shows the ids; the token itself is not needed.",
        ) from None
    async with open_service(settings) as service:
        workspace_id = service.workspace.workspace_id
        rows = await list_tokens(service.database, workspace_id)
        name = next((row.name for row in rows if row.token_id == token_id), None)
        if name is None:
            raise NotFound(
                "There is no such token in this workspace.",
                field="token_id",
                next_step="muniment token list shows which there are.",
            )
        who = local_operator(workspace_id)
        done = await revoke_token(
            service.actions, who.actor, name=name, token_id=token_id, reason=reason
        )
    return {"token_id": str(token_id), "name": name, **done}


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
