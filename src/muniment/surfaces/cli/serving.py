"""Serve HTTP in this process: the socket, uvicorn, and an orderly end."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import signal
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final

from muniment.domain.errors import Unavailable
from muniment.surfaces.cli.doors import doors

if TYPE_CHECKING:
    from muniment.bootstrap import Service

DRAIN_SECONDS: Final = 10
BACKLOG: Final = 1024

_log = logging.getLogger("muniment.service")


@contextmanager
def listening(host: str, port: int) -> Generator[socket.socket]:
    """Yield a bound socket. Bound first of all, so that a busy port is said before work is done.

    Raises:
        Unavailable: the port is taken (`port_in_use`) or cannot be bound (`cannot_listen`).
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind)
    except OSError as error:
        raise _cannot_listen(host, port, error) from error
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError as error:
            raise _cannot_listen(host, port, error) from error
        yield listener


def address_of(listener: socket.socket) -> str:
    """Return the MCP address by which this machine reaches the socket."""
    host, port = listener.getsockname()[:2]
    ip = ipaddress.ip_address(host)
    if ip.is_unspecified:
        host = "127.0.0.1" if ip.version == 4 else "::1"
    return f"http://[{host}]:{port}/mcp" if ":" in host else f"http://{host}:{port}/mcp"


@asynccontextmanager
async def served(service: Service, listener: socket.socket) -> AsyncGenerator[asyncio.Task[None]]:
    """Serve until the block is left, then take no more and finish what is under way.

    Yields the task that serves, which ends by itself only when something is wrong.

    Raises:
        Unavailable: the service did not start.
    """
    import uvicorn

    class Server(uvicorn.Server):
        """uvicorn, with signals left to us: the database must outlive the requests."""

        @contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

    listener.listen(BACKLOG)
    config = uvicorn.Config(
        doors().http(service),
        log_config=None,
        access_log=service.settings.log_level == "debug",
        server_header=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    server = Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started:
            if task.done():
                raise Unavailable(
                    "The HTTP service did not start.",
                    code="service_failed",
                    next_step="The log above says why.",
                )
            await asyncio.sleep(0.01)
        yield task
    finally:
        server.should_exit = True
        await asyncio.wait([task])


@contextmanager
def stop_requested() -> Generator[asyncio.Event]:
    """Yield an event that the first SIGINT or SIGTERM sets. A second one is not caught."""
    loop = asyncio.get_running_loop()
    event = asyncio.Event()
    signals = (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        event.set()
        for number in signals:
            loop.remove_signal_handler(number)

    for number in signals:
        loop.add_signal_handler(number, stop)
    try:
        yield event
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def first_of(stop: asyncio.Event, task: asyncio.Task[None]) -> None:
    """Wait until a stop is asked for.

    Raises:
        Unavailable: the task ended before.
    """
    asked = asyncio.create_task(stop.wait())
    await asyncio.wait([asked, task], return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if stop.is_set():
        _log.info("stopping; once more to end at once")
    else:
        raise Unavailable(
            "The HTTP service ended by itself.",
            code="service_failed",
            next_step="The log above says why; start it again.",
        )


def _cannot_listen(host: str, port: int, error: OSError) -> Unavailable:
    if error.errno == errno.EADDRINUSE:
        return Unavailable(
            f"Port {port} of {host} is in use.",
            code="port_in_use",
            field="port",
            next_step=f"Choose another with --port or MUNIMENT_PORT, or find its user: lsof -i "
            f":{port}",
        )
    return Unavailable(
        f"Cannot listen at {host}, port {port}: {error.strerror}",
        code="cannot_listen",
        field="host",
        next_step="Check MUNIMENT_HOST and MUNIMENT_PORT; ports below 1024 are root's.",
    )
