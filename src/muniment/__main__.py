"""The program: puts the doors into the command line and runs it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from muniment.surfaces.cli.app import run
from muniment.surfaces.cli.doors import Doors, install

if TYPE_CHECKING:
    from muniment.bootstrap import Service
    from muniment.config import Settings
    from muniment.surfaces.principal import Principal


def main() -> None:
    """Run the command line of this process and exit with its code."""
    install(
        Doors(http=_http, stdio=_stdio, worker=_worker, heartbeat_age=_heartbeat_age),
    )
    sys.exit(run(sys.argv[1:]))


def _http(service: Service) -> Any:
    from muniment.surfaces.mcp.http import create_app

    return create_app(service)


async def _stdio(service: Service, principal: Principal) -> None:
    from muniment.surfaces.mcp.stdio import run_stdio

    await run_stdio(service, principal)


async def _worker(settings: Settings) -> None:
    from muniment.workers.run import run as work

    await work(settings)


async def _heartbeat_age(url: str) -> float | None:
    from muniment.workers.pulse import age

    return await age(url)


if __name__ == "__main__":
    main()
