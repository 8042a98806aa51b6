"""Lists the harnesses that `connect` knows."""

from __future__ import annotations

from typing import Final

from muniment.surfaces.cli.connect.claude import CLAUDE
from muniment.surfaces.cli.connect.codex import CODEX
from muniment.surfaces.cli.connect.cursor import CURSOR
from muniment.surfaces.cli.connect.entry import Harness
from muniment.surfaces.cli.connect.gemini import GEMINI
from muniment.surfaces.cli.connect.opencode import OPENCODE
from muniment.surfaces.cli.connect.vscode import VSCODE

HARNESSES: Final[dict[str, Harness]] = {
    harness.name: harness for harness in (CLAUDE, CODEX, OPENCODE, GEMINI, CURSOR, VSCODE)
}
