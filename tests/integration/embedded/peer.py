"""A process of its own that uses an embedded server and obeys the lines on its input.

Run as `python -m tests.integration.embedded.peer SERVER HOME [UID GID]`. Each of the lines `start`
and `stop` is answered by one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from muniment.domain.errors import EmbeddedError
from muniment.embedded import EmbeddedPostgres, EmbeddedValkey


def main(arguments: list[str]) -> None:
    """Drop to the given user, if any, then serve the input until it ends."""
    kind, home, *user = arguments
    if user:
        # Not by the parent: the interpreter itself may be closed to that user.
        os.setgroups([])
        os.setgid(int(user[1]))
        os.setuid(int(user[0]))
    server = EmbeddedPostgres(Path(home)) if kind == "postgres" else EmbeddedValkey(Path(home))
    for line in sys.stdin:
        answer: dict[str, object]
        try:
            if line.strip() == "start":
                answer = {"address": server.start(), "pid": server.status().pid}
            else:
                answer = {"stopped": server.stop_if_last()}
        except EmbeddedError as error:
            answer = {"code": error.code, "message": error.message}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
