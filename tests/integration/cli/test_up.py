"""Owns `up`, `down` and `status`: start, second start, death of a part, end."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path

from tests.integration.cli.conftest import MUNIMENT, Cli


def _foreground(cli: Cli) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*MUNIMENT, "up"],
        env=cli.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _wait_for(lines: subprocess.Popen[str], text: str) -> None:
    assert lines.stderr is not None
    assert any(text in line for line in lines.stderr), f"the log ended without {text!r}"


def _worker_of(pid: int) -> int:
    shown = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=", "-o", "ppid=", "-o", "args="],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.findall(rf"^\s*(\d+)\s+{pid}\s+.*\bworker --attached", shown.stdout, re.M)
    (worker,) = map(int, found)
    return worker


def _healthy(url: str) -> bool:
    probe = url.replace("/mcp", "/healthz")
    with urllib.request.urlopen(probe, timeout=10) as answer:
        return answer.status == 200


def test_status_where_nothing_runs_starts_nothing(cli: Cli) -> None:
    found = cli.json("status")
    assert found["ready"] is False
    assert "url" not in found
    assert {part["state"] for part in found["health"].values()} == {"stopped"}
    assert not cli.home.exists()


def test_up_in_the_background_serves_until_down(cli: Cli) -> None:
    started = cli.detach()
    assert started["url"] == f"http://127.0.0.1:{cli.port}/mcp"
    assert started["home"] == str(cli.home)
    assert started["already_up"] is False
    assert _healthy(started["url"])
    found = cli.json("status")
    assert found["ready"] is True
    assert found["url"] == started["url"]
    assert found["up"]["pid"] == started["pid"]
    assert found["counts"] == {"events": 0, "objects": 0}
    assert {found["health"][p]["state"] for p in ("postgres", "valkey", "service")} == {"running"}

    again = cli.process("up", "--json")
    assert (again.code, again.error["code"]) == (4, "already_up")
    assert again.error["url"] == started["url"]
    detached = cli.detach()
    assert detached["already_up"] is True
    assert detached["pid"] == started["pid"]

    assert cli.json("down")["stopped"] == ["muniment"]
    after = cli.json("status")
    assert after["ready"] is False
    assert {part["state"] for part in after["health"].values()} == {"stopped"}
    assert cli.json("down")["stopped"] == []
    assert "muniment is down" in (cli.home / "muniment.log").read_text()


def test_interrupt_ends_everything_in_order(cli: Cli) -> None:
    up = _foreground(cli)
    _wait_for(up, "at work")
    up.send_signal(signal.SIGINT)
    out, _ = up.communicate(timeout=60)
    assert up.returncode == 0
    assert "muniment connect claude" in out
    assert '"mcpServers"' in out
    found = cli.json("status")
    assert {part["state"] for part in found["health"].values()} == {"stopped"}


def test_a_worker_that_dies_is_started_again_while_the_service_goes_on(cli: Cli) -> None:
    up = _foreground(cli)
    _wait_for(up, "at work")
    os.kill(_worker_of(up.pid), signal.SIGKILL)
    _wait_for(up, "the worker ended")
    assert _healthy(f"http://127.0.0.1:{cli.port}/mcp")
    _wait_for(up, "at work")
    up.terminate()
    up.communicate(timeout=60)
    assert up.returncode == 0


def _settled(cli: Cli) -> str:
    """Return the state of Postgres once the worker that outlived a killed `up` has left it."""
    states = (str(cli.json("status")["health"]["postgres"]["state"]) for _ in range(60))
    return next((state for state in states if state == "stopped"), "still there")


def test_what_a_killed_up_leaves_behind_is_stopped_by_down(cli: Cli) -> None:
    started = cli.detach()
    os.kill(started["pid"], signal.SIGKILL)
    stopped = cli.json("down")["stopped"]
    assert "muniment" not in stopped
    assert _settled(cli) == "stopped"


def test_a_port_in_use_is_said_before_anything_starts(cli: Cli) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = cli.process("up", "--port", port, "--json")
    assert (done.code, done.error["code"]) == (5, "port_in_use")
    assert "--port" in done.error["next_step"]
    assert _settled(cli) == "stopped"


def test_a_state_file_without_its_process_is_no_up(cli: Cli) -> None:
    stale = cli.home / "up.json"
    stale.write_text(f'{{"pid": {os.getpid()}, "url": "http://x/mcp", "started_at": ""}}')
    assert "up" not in cli.json("status")
    assert cli.json("down")["stopped"] == []
    assert os.getpid()


def test_files_of_the_home_are_for_its_owner(cli: Cli) -> None:
    for name in ("up.lock", "muniment.log"):
        assert (cli.home / name).stat().st_mode & 0o077 == 0, name
    assert Path(cli.home / "up.lock").read_bytes() == b""
