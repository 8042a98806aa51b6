"""Who the servers run as: ourselves, or for root a user that is not root."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from muniment.domain.errors import EmbeddedError
from muniment.embedded import EmbeddedPostgres, EmbeddedValkey
from muniment.embedded.binaries import postgres_program
from muniment.embedded.user import ServiceUser, first_closed, service_user
from tests.integration.embedded.conftest import Peer

Peers = Callable[..., Peer]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def nobody() -> ServiceUser:
    entry = pwd.getpwnam("nobody")
    return ServiceUser(uid=entry.pw_uid, gid=entry.pw_gid, drop=True)


def owners(folder: Path) -> set[int]:
    return {path.lstat().st_uid for path in (folder, *folder.rglob("*"))}


@needs_root
@pytest.mark.parametrize("server", [EmbeddedPostgres, EmbeddedValkey])
def test_root_runs_the_servers_as_another_user(
    home: Path, server: type[EmbeddedPostgres | EmbeddedValkey]
) -> None:
    with server(home) as running:
        pid = running.status().pid
        assert Path(f"/proc/{pid}").stat().st_uid == service_user(home).uid != 0
        groups = next(
            line for line in Path(f"/proc/{pid}/status").read_text().split("\n") if "Groups" in line
        )
        assert groups.split() == ["Groups:"]
        assert Path(f"/proc/{pid}/stat").stat().st_uid != 0
    assert home.stat().st_uid == 0
    assert {path.stat().st_uid for path in home.iterdir()} == {service_user(home).uid}


@needs_root
def test_an_ordinary_user_and_root_share_one_home(home: Path, peer: Peers) -> None:
    user = nobody()
    if closed := first_closed(user, postgres_program().path):
        pytest.skip(f"an ordinary user may not enter {closed}")
    home.mkdir()
    os.chown(home, user.uid, user.gid)
    ordinary, root = peer(user=user), EmbeddedPostgres(home)
    pid = ordinary.ask("start")["pid"]
    root.start()
    assert root.status().pid == pid
    assert ordinary.ask("stop")["stopped"] is False
    assert root.stop_if_last() is True
    root.start()
    assert Path(f"/proc/{root.status().pid}").stat().st_uid == user.uid
    assert root.stop_if_last() is True
    assert owners(home) == {user.uid}
    assert "address" in ordinary.ask("start")
    assert ordinary.ask("stop")["stopped"] is True


@needs_root
def test_a_home_that_the_user_cannot_reach_is_refused_with_the_way_out(home: Path) -> None:
    home.mkdir(mode=0o700)
    with pytest.raises(EmbeddedError) as caught:
        EmbeddedPostgres(home / "below").start()
    assert caught.value.code == "embedded_home_closed"
    assert str(home) in caught.value.message
    assert "/var/lib/muniment" in (caught.value.next_step or "")


@needs_root
def test_root_opens_its_own_home_for_passage(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "key").write_text("secret")
    (home / "key").chmod(0o600)
    with EmbeddedValkey(home):
        assert home.stat().st_mode & 0o777 == 0o711
    assert (home / "key").stat().st_uid == 0


@needs_root
def test_programs_that_the_user_cannot_reach_are_copied_once(home: Path, peer: Peers) -> None:
    closed = home.parent / "closed"
    closed.mkdir(mode=0o700)
    for part in postgres_program().parts:
        # A link will do: the copy is what has to stand on its own.
        closed.joinpath(part.name).symlink_to(part)
    one, two = peer(path=closed), peer(path=closed)
    with psycopg.connect(one.ask("start")["address"]) as connection:
        connection.execute("CREATE EXTENSION pg_trgm")
    copies = list((home / "binaries").iterdir())
    assert len(copies) == 1
    copied = copies[0].stat().st_mtime_ns
    assert one.ask("stop")["stopped"] is True
    copies[0].with_name("postgres-0-0").mkdir()
    assert "address" in two.ask("start")
    assert two.ask("stop")["stopped"] is True
    assert copies[0].stat().st_mtime_ns == copied


@needs_root
def test_system_programs_that_the_user_cannot_reach_are_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = home.parent / "closed"
    closed.mkdir(mode=0o700)
    for name in ("pg_ctl", "postgres", "initdb"):
        closed.joinpath(name).write_text("#!/bin/sh\n")
        closed.joinpath(name).chmod(0o755)
    monkeypatch.setattr("muniment.embedded.binaries.PACKAGES", {})
    monkeypatch.setenv("PATH", str(closed))
    with pytest.raises(EmbeddedError) as caught:
        EmbeddedPostgres(home).start()
    assert caught.value.code == "embedded_binaries_unusable"


@needs_root
def test_root_without_any_unprivileged_user_is_told_so(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muniment.embedded.user.CANDIDATES", ("no-such-user",))
    with pytest.raises(EmbeddedError) as caught:
        EmbeddedPostgres(home).start()
    assert caught.value.code == "embedded_no_user"


@needs_root
def test_a_link_in_place_of_a_lock_is_not_followed(home: Path) -> None:
    precious = home.parent / "precious"
    precious.write_text("root's own")
    precious.chmod(0o600)
    with EmbeddedValkey(home):
        pass
    lock = home / "lock" / "valkey-users.lock"
    lock.unlink()
    lock.symlink_to(precious)
    with pytest.raises(EmbeddedError) as caught:
        EmbeddedValkey(home).start()
    assert caught.value.code == "embedded_files"
    assert precious.stat().st_uid == 0


def test_passage_is_judged_by_owner_and_mode(home: Path) -> None:
    home.mkdir()
    program = home / "program"
    program.write_text("")
    stranger = ServiceUser(uid=4_000_000, gid=4_000_000, drop=True)
    for mode, closed in ((0o755, None), (0o754, program), (0o751, program)):
        program.chmod(mode)
        assert first_closed(stranger, program) == closed
    program.chmod(0o755)
    home.chmod(0o750)
    assert first_closed(stranger, program) == home
    owner = ServiceUser(uid=os.geteuid(), gid=os.getegid(), drop=True)
    assert first_closed(owner, program) is None
