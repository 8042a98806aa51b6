"""Make a patch hold in a file's text, in the syntax of the file, and prove that nothing else moved.

The proof: the new text, read again, is the old reading with the patch applied. Where that fails,
the edit is refused and the text to paste is handed out instead.
"""

from __future__ import annotations

import copy
import json
import tomllib
from typing import Final, Literal, cast

from muniment.domain.errors import Refused
from muniment.surfaces.cli.connect import jsonc
from muniment.surfaces.cli.connect.entry import Patch
from muniment.surfaces.cli.connect.jsonc import Json

Syntax = Literal["json", "toml"]

_BARE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


class NotEditable(Exception):
    """The text cannot be edited safely; the message says why."""


def read(text: str, syntax: Syntax) -> dict[str, Json]:
    """Return what the file says; an empty file says nothing.

    Raises:
        NotEditable: it cannot be read, or is not a set of named values.
    """
    try:
        value = jsonc.parse(text).value if syntax == "json" else tomllib.loads(text)
    except (jsonc.NotJson, tomllib.TOMLDecodeError) as error:
        raise NotEditable(str(error)) from error
    if not isinstance(value, dict):
        raise NotEditable("it is not an object")
    return cast("dict[str, Json]", value)


def apply(text: str, syntax: Syntax, patch: Patch) -> str:
    """Return the text with the patch in force; the same text when it already was.

    Raises:
        NotEditable: the file must be edited by hand.
    """
    before = read(text, syntax)
    wanted = _wanted(before, patch)
    if before == wanted:
        return text
    try:
        changed = _edit_json(text, patch) if syntax == "json" else _edit_toml(text, patch)
    except jsonc.NotJson as error:
        raise NotEditable(str(error)) from error
    if read(changed, syntax) != wanted:
        raise NotEditable("its form leaves no room for the entry")
    return changed


def snippet(syntax: Syntax, patch: Patch) -> str:
    """Return the entry as text to paste into an empty file."""
    return apply("", syntax, patch)


def refuse(path: str, why: str, syntax: Syntax, patch: Patch) -> Refused:
    """Return the error for a file that must be edited by hand."""
    return Refused(
        f"{path} was left as it is: {why}.",
        code="config_not_editable",
        field="harness",
        next_step="Put this into it by hand:\n" + snippet(syntax, patch),
        details={"file": path, "snippet": snippet(syntax, patch)},
    )


def _wanted(before: dict[str, Json], patch: Patch) -> dict[str, Json]:
    after = copy.deepcopy(before)
    at = after
    for key in patch.path:
        below = at.setdefault(key, {})
        if not isinstance(below, dict):
            raise NotEditable(f"{key} is not an object there")
        at = below
    for rival in patch.rivals:
        at.pop(rival, None)
    _merge(at, patch.values)
    for path, item in patch.inputs.items():
        _items(after, path, item)
    return after


def _merge(into: dict[str, Json], values: dict[str, Json]) -> None:
    for key, value in values.items():
        below = into.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            _merge(below, value)
        else:
            into[key] = copy.deepcopy(value)


def _items(root: dict[str, Json], path: tuple[str, ...], item: dict[str, Json]) -> None:
    at: Json = root
    for key in path[:-1]:
        at = at.setdefault(key, {}) if isinstance(at, dict) else None
    found = at.setdefault(path[-1], []) if isinstance(at, dict) else None
    if not isinstance(found, list):
        raise NotEditable(f"{'.'.join(path)} is not an array there")
    if not _holds(found, item):
        found.append(copy.deepcopy(cast("Json", item)))


def _holds(items: list[Json], item: dict[str, Json]) -> bool:
    return any(isinstance(one, dict) and one.get("id") == item["id"] for one in items)


def _edit_json(text: str, patch: Patch) -> str:
    for path, item in patch.inputs.items():
        found: Json = read(text, "json")
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if not isinstance(found, list) or not _holds(found, item):
            text = jsonc.append(text, path, cast("Json", item))
    node: jsonc.Node | None = jsonc.parse(text)
    for key in patch.path:
        node = node.members[key][1] if node and key in node.members else None
    if node is not None and any(rival in node.members for rival in patch.rivals):
        if jsonc.has_comment(text, node):
            raise NotEditable("its entry for muniment is of another kind and holds comments")
        entry = dict(cast("dict[str, Json]", node.value))
        for rival in patch.rivals:
            entry.pop(rival, None)
        _merge(entry, patch.values)
        return jsonc.put(text, patch.path, entry)
    return _put_each(text, patch.path, patch.values, exists=node is not None)


def _put_each(text: str, path: tuple[str, ...], values: dict[str, Json], *, exists: bool) -> str:
    if not exists:
        return jsonc.put(text, path, values)
    for key, value in values.items():
        node: jsonc.Node | None = jsonc.parse(text)
        for step in (*path, key):
            node = node.members[step][1] if node and step in node.members else None
        if isinstance(value, dict) and node is not None and isinstance(node.value, dict):
            text = _put_each(text, (*path, key), value, exists=True)
        else:
            text = jsonc.put(text, (*path, key), value)
    return text


def _edit_toml(text: str, patch: Patch) -> str:
    found: Json = read(text, "toml")
    for key in patch.path:
        found = found.get(key) if isinstance(found, dict) else None
    if found is None:
        return _append_table(text, patch)
    return _edit_table(text, patch)


def _append_table(text: str, patch: Patch) -> str:
    """Add the table at the end, where it cannot touch what is there."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(patch.path)}]"]
    lines += [f"{key} = {_toml(value)}" for key, value in patch.values.items()]
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return text + gap + newline.join(lines) + newline


def _edit_table(text: str, patch: Patch) -> str:
    import tomlkit

    # tomlkit's own types are those of a dict with comments; a plain view is all that is needed.
    document = tomlkit.parse(text)
    at = cast("dict[str, Json]", document)
    for key in patch.path:
        at = cast("dict[str, Json]", at[key])
    for rival in patch.rivals:
        if rival in at:
            del at[rival]
    for key, value in patch.values.items():
        below = at.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            for name, inner in value.items():
                below[name] = inner
        elif below != value:
            at[key] = value
    return tomlkit.dumps(document)


def _toml(value: Json) -> str:
    if isinstance(value, dict):
        pairs = (f"{_toml_key(k)} = {_toml(v)}" for k, v in value.items())
        return "{ " + ", ".join(pairs) + " }"
    # What a basic string of TOML may hold is what JSON writes, DEL aside.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_key(key: str) -> str:
    return key if key and set(key) <= _BARE else json.dumps(key, ensure_ascii=False)
