"""Shows an answer to a person: what JSON holds, indented, without its punctuation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from muniment.surfaces.cli.output import Document, printable, say

_INDENT = "  "


def show(found: Document) -> None:
    """Print a document as an outline."""
    for line in lines(found):
        say(line)


def lines(value: object, depth: int = 0) -> list[str]:
    """Return the lines of a value, `depth` levels in."""
    if isinstance(value, Mapping):
        return _members(cast("Mapping[str, Any]", value), depth)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _items(cast("Sequence[Any]", value), depth)
    return [_INDENT * depth + part for part in _scalar(value).split("\n")]


def _members(found: Mapping[str, Any], depth: int) -> list[str]:
    made: list[str] = []
    for name, value in found.items():
        label = f"{_INDENT * depth}{printable(str(name))}:"
        one = _one_line(value)
        if one is not None:
            made.append(f"{label} {one}")
        else:
            made += [label, *lines(value, depth + 1)]
    return made


def _items(found: Sequence[Any], depth: int) -> list[str]:
    made: list[str] = []
    for item in found:
        one = _one_line(item)
        if one is not None:
            made.append(f"{_INDENT * depth}- {one}")
            continue
        inner = lines(item, depth + 1)
        made.append(f"{_INDENT * depth}- {inner[0].lstrip()}")
        made += inner[1:]
    return made


def _one_line(value: object) -> str | None:
    """Return a value as the rest of a line, None when it takes more than that."""
    if isinstance(value, (Mapping, list)) and not value:
        return "none"
    if isinstance(value, Mapping):
        found = cast("Mapping[str, Any]", value)
        parts = [(name, _one_line(part)) for name, part in found.items()]
        if any(part is None for _, part in parts):
            return None
        shown = ", ".join(f"{printable(str(name))} {part}" for name, part in parts)
        return shown if len(shown) <= 80 else None
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = [_one_line(item) for item in cast("Sequence[Any]", value)]
        shown = ", ".join(item or "" for item in items)
        return shown if all(items) and len(shown) <= 80 and items else None
    text = _scalar(value)
    return None if "\n" in text else text


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(str(value))
