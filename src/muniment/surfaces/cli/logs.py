"""The log of what runs: one line per event, on stderr, readable by a person."""

from __future__ import annotations

import logging
import sys
from typing import Final

LONGEST_NAME: Final = 8


class Lines(logging.Formatter):
    """`12:03:04 service  a message`; a level from warning on is named."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if record.exc_info:
            message += "\n" + self.formatException(record.exc_info)
        level = "" if record.levelno < logging.WARNING else f"{record.levelname.lower()}: "
        part = _PARTS.get(record.name.partition(".")[0], "service")
        if record.name.startswith("muniment."):
            part = record.name.split(".")[1]
        return f"{self.formatTime(record, '%H:%M:%S')} {part:<{LONGEST_NAME}} {level}{message}"


_PARTS: Final = {"uvicorn": "http", "mcp": "mcp", "arq": "worker"}


def start(level: str) -> None:
    """Send all logging of this process to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    named = level.upper()
    logging.getLogger("muniment").setLevel(named)
    # One line per request says little and costs much; it is there for who asks for it.
    logging.getLogger("uvicorn.access").setLevel(
        logging.INFO if named == "DEBUG" else logging.WARNING
    )
    logging.getLogger("uvicorn.error").setLevel(named if named == "DEBUG" else logging.WARNING)
    logging.getLogger("arq").setLevel(named if named == "DEBUG" else logging.WARNING)
