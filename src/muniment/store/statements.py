"""Named SQL statements, loaded from the `.sql` file beside the function that runs them.

A file holds statements, each after a line `-- name: its_name` and a line that says what it is
for. SQL stays SQL: nothing is formatted into it; values travel as parameters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

_NAME: Final = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def load(path: str) -> Mapping[str, str]:
    """Return the statements of one file below `store/`, by name.

    Raises:
        ValueError: a name occurs twice, or text stands before the first name.
    """
    text = files("muniment.store").joinpath(path).read_text(encoding="utf-8")
    before, *parts = _NAME.split(text)
    if before.strip(" \n") and not before.lstrip().startswith("--"):
        raise ValueError(f"{path}: text before the first statement")
    named = dict(zip(parts[::2], (sql.strip() for sql in parts[1::2]), strict=True))
    if len(named) != len(parts) // 2:
        raise ValueError(f"{path}: two statements of one name")
    return MappingProxyType(named)
