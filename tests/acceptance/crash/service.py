"""A service that can be killed: writers on one `Actions`, and a diary of what they were told.

    python -m tests.acceptance.crash.service URL DIARY CALLERS

The diary is a file that outlives the process: `try KEY` before a command is sent, `told KEY POS`
after it was acknowledged. A service that starts with a diary first sends again what was tried and
never told. It writes until its standard input ends, and then until each caller has its answer.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from uuid import uuid4

from muniment.actions import Actions
from muniment.domain.errors import Busy, Unavailable
from muniment.domain.identity import Actor
from muniment.domain.parse import parse_remember
from muniment.store.database import Database
from muniment.store.workspaces import ensure_workspace
from muniment.surfaces.principal import local_operator


class Diary:
    """Lines that are in the kernel's hands, whole, before a call returns."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR)

    def note(self, line: str) -> None:
        os.write(self._file, f"{line}\n".encode())


def unanswered(path: Path) -> list[str]:
    """Return the keys that were tried and never told."""
    lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    told = {line[1] for line in lines if line[0] == "told"}
    return list(dict.fromkeys(line[1] for line in lines if line[1] not in told))


async def _write(actions: Actions, actor: Actor, diary: Diary, key: str) -> None:
    """Send one command until it is answered, with one key."""
    command = parse_remember(
        {
            "claims": [
                {"about": key, "type": "Note", "property": "text", "value": key},
                {"about": "Log", "type": "Note", "property": "note", "value": key},
            ]
        }
    )
    diary.note(f"try {key}")
    while True:
        try:
            outcome = await actions.perform(actor, command, key=key)
        except (Unavailable, Busy):
            continue
        diary.note(f"told {key} {outcome.answer['pos']}")
        return


async def _serve(url: str, path: Path, callers: int) -> None:
    left = unanswered(path)
    diary = Diary(path)
    database = await Database.connect(url)
    workspace = await ensure_workspace(database, "default")
    actor = local_operator(workspace.workspace_id).actor
    actions = Actions(database)
    stop = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

    async def caller() -> None:
        while not stop.done():
            key = left.pop() if left else uuid4().hex
            await _write(actions, actor, diary, key)

    await asyncio.gather(*(caller() for _ in range(callers)))
    await asyncio.gather(*(_write(actions, actor, diary, key) for key in left))
    await actions.close()
    await database.close()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
