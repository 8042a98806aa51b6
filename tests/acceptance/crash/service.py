"""A service that can be killed: writers on one `Actions`, and a diary of what they were told.

    python -m tests.acceptance.crash.service URL DIARY CALLERS

The diary is a file that outlives the process: `try KEY` before a command is sent, `told KEY
ANSWER` after it was acknowledged. A service that starts with a diary first sends again what was
tried and never told. It writes until its standard input ends, and then until each caller has its
answer. It says on its standard output, a line each, what it was told.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from uuid import uuid4

import orjson

from muniment.actions import Actions
from muniment.domain.commands import Remember
from muniment.domain.errors import Busy, Unavailable
from muniment.domain.identity import Actor
from muniment.domain.outcomes import Outcome
from muniment.domain.parse import parse_remember
from muniment.store.database import Database
from muniment.store.workspaces import ensure_workspace
from muniment.surfaces.principal import local_operator


def command_of(key: str) -> Remember:
    """Two claims that no other key makes; one key in 128 adds a link.

    A batch of claims is one statement, a batch with a link a transaction of several: both are to
    be hit.
    """
    note = {"about": key, "type": "Note", "property": "text", "value": key}
    log = {"about": "Log", "type": "Note", "property": "note", "value": key}
    raw: dict[str, object] = {"claims": [note, log]}
    if is_linked(key):
        raw["links"] = [
            {
                "from": key,
                "from_type": "Note",
                "link": "related_to",
                "to": "Log",
                "to_type": "Note",
            }
        ]
    return parse_remember(raw)


def is_linked(key: str) -> bool:
    """Say whether the command of a key, which is random hex, has a link as well."""
    return key[:2] in ("00", "80")


def written(outcome: Outcome) -> str:
    """Return an answer as one word of the diary."""
    return orjson.dumps(outcome.answer, option=orjson.OPT_SORT_KEYS).hex()


class Diary:
    """Lines that are in the kernel's hands, whole, before a call returns."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR)

    def note(self, line: str) -> None:
        os.write(self._file, f"{line}\n".encode())


def tried(path: Path) -> list[str]:
    """Return the keys that were sent, oldest first."""
    return list(dict.fromkeys(key for word, key, *_ in _lines(path) if word == "try"))


def told(path: Path) -> dict[str, str]:
    """Return each acknowledged key and its answer."""
    return {line[1]: line[2] for line in _lines(path) if line[0] == "told"}


def _lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


async def _write(actions: Actions, actor: Actor, diary: Diary, key: str) -> None:
    """Send one command until it is answered, with one key."""
    command = command_of(key)
    diary.note(f"try {key}")
    while True:
        try:
            outcome = await actions.perform(actor, command, key=key)
        except (Unavailable, Busy):
            continue
        diary.note(f"told {key} {written(outcome)}")
        print(key, flush=True)  # noqa: T201
        return


async def _serve(url: str, path: Path, callers: int) -> None:
    known = told(path)
    left = [key for key in tried(path) if key not in known]
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
