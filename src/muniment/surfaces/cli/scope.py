"""Where a command acts: on the local store, or on a service elsewhere.

`MUNIMENT_URL` and `MUNIMENT_TOKEN` together mean a service. One without the other is refused: the
person believes to be an agent at a service and would act as the operator of this machine instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.domain.errors import Malformed, Refused

if TYPE_CHECKING:
    from muniment.config import Settings


def read_settings() -> Settings:
    """Return the settings of this process.

    Raises:
        Malformed: a variable is out of its bounds (`bad_setting`), or half a scope is given.
    """
    from pydantic import ValidationError

    from muniment.config import PREFIX, Settings

    try:
        settings = Settings()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = PREFIX + "_".join(str(part) for part in first["loc"]).upper()
        raise Malformed(
            f"{name}: {first['msg']}",
            code="bad_setting",
            field=name,
            next_step="Correct the variable or unset it; .env.example lists them all.",
        ) from None
    return settings


def require_whole_scope(settings: Settings) -> None:
    """Refuse an address without a token, or a token without an address.

    Raises:
        Malformed: half a scope (`half_scope`).
    """
    if (settings.url is None) == (settings.token is None):
        return
    there, missing = ("URL", "TOKEN") if settings.url else ("TOKEN", "URL")
    raise Malformed(
        f"MUNIMENT_{there} is set and MUNIMENT_{missing} is not.",
        code="half_scope",
        field=f"MUNIMENT_{missing}",
        next_step=f"Set both to speak to a service, or unset MUNIMENT_{there} to act here.",
    )


def local_settings(verb: str) -> Settings:
    """Return the settings for a verb that acts on this machine alone.

    Raises:
        Refused: a service is named, and the verb is none of its tools (`not_remote`).
        Malformed: a setting is wrong.
    """
    settings = read_settings()
    require_whole_scope(settings)
    if settings.url is not None:
        raise not_remote(verb)
    return settings


def not_remote(verb: str) -> Refused:
    """Return the error for a verb that a service does not offer."""
    return Refused(
        f"{verb} acts on the machine that holds MUNIMENT_HOME, not on a service.",
        code="not_remote",
        field="MUNIMENT_URL",
        next_step="Run it there, or unset MUNIMENT_URL and MUNIMENT_TOKEN to act on this machine.",
    )


def mcp_url(base: str) -> str:
    """Return the MCP endpoint of a service, given its address with or without the path."""
    plain = base.rstrip("/")
    return plain if plain.partition("://")[2].count("/") else f"{plain}/mcp"
