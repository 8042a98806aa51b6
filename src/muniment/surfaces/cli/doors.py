"""What the command line starts but must not know: the MCP doors and the worker.

Surfaces do not import each other. `__main__`, above them all, puts the real ones in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muniment.domain.errors import Unavailable

if TYPE_CHECKING:
    from muniment.bootstrap import Service
    from muniment.config import Settings
    from muniment.surfaces.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """The other ways in.

    http: makes the ASGI application of a service. stdio: serves MCP on stdin and stdout until
    stdin ends, as one principal. worker: does housekeeping until it is cancelled.
    heartbeat_age: seconds since the last sign of life that a worker left in the queue at a URL.
    """

    http: Callable[[Service], Any]
    stdio: Callable[[Service, Principal], Awaitable[None]]
    worker: Callable[[Settings], Awaitable[None]]
    heartbeat_age: Callable[[str], Awaitable[float | None]]


_installed: list[Doors] = []


def install(doors: Doors) -> None:
    """Say which doors there are. Called once, before a command runs."""
    _installed[:] = [doors]


def doors() -> Doors:
    """Return the doors.

    Raises:
        Unavailable: the command line was started without them.
    """
    if not _installed:
        raise Unavailable("This command line has no doors.", next_step="Start it as `muniment`.")
    return _installed[0]
