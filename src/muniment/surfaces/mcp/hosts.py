"""Which Host and Origin headers are served.

A page in a browser can reach a service on loopback by a name of its own that resolves there; the
names below are therefore the only ones. Loopback names are served with any port, always.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from muniment.config import Settings

_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_ANY_ADDRESS: Final = frozenset({"0.0.0.0", "::", "[::]", "*"})


class Hosts:
    """The names of one installation, from its settings."""

    def __init__(self, settings: Settings) -> None:
        hosts = [*(f"{name}:*" for name in _LOOPBACK), *settings.allowed_hosts]
        if settings.host not in _ANY_ADDRESS:
            bound = settings.host if ":" not in settings.host else f"[{settings.host.strip('[]')}]"
            hosts.append(f"{bound}:*")
        origins = [*(f"http://{name}:*" for name in _LOOPBACK), *settings.allowed_origins]
        self.hosts = _with_default_port(hosts)
        self.origins = _with_default_port(origins)

    def serves_host(self, value: str) -> bool:
        """Say whether a request for this Host is served."""
        return _among(value, self.hosts)

    def serves_origin(self, value: str) -> bool:
        """Say whether a page of this Origin may call."""
        return _among(value, self.origins)


def _with_default_port(names: Iterable[str]) -> tuple[str, ...]:
    """Add the name alone to each name with any port: a client leaves the usual port out."""
    lower = [name.lower() for name in names]
    return tuple(dict.fromkeys([*lower, *(n[:-2] for n in lower if n.endswith(":*"))]))


def _among(value: str, names: tuple[str, ...]) -> bool:
    lower = value.lower()
    if lower in names:
        return True
    name, _, port = lower.rpartition(":")
    return port.isdigit() and f"{name}:*" in names
