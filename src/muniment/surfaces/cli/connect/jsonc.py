"""Set one value in JSON text (comments and trailing commas allowed) and leave the rest as it is.

A scanner finds where each value stands; an edit replaces or inserts that text and nothing else.
Harnesses read their files with parsers that take comments (RFC 8259 has none), so a plain reader
and writer would lose what a person wrote there.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"

_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)+", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN: Final = re.compile(r"[-+.\w]+")
_COMMENT: Final = re.compile(r"//|/\*")
_DEPTH: Final = 128


class NotJson(ValueError):
    """The text is not JSON, not even with comments. `line` is where, from 1."""

    def __init__(self, why: str, line: int) -> None:
        super().__init__(f"line {line}: {why}")
        self.line = line


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value and where it stands: `text[start:end]`.

    members: of an object, by key, each with where its key starts. items: of an array.
    """

    value: Json
    start: int
    end: int
    members: dict[str, tuple[int, Node]]
    items: list[Node]

    def children(self) -> list[tuple[int, int]]:
        """Return where each member or item starts and ends."""
        found = [(key, node.end) for key, node in self.members.values()]
        return found or [(node.start, node.end) for node in self.items]


def parse(text: str) -> Node:
    """Return the tree of `text`. An empty text stands for an empty object.

    Raises:
        NotJson: it cannot be read, or an object holds a key twice.
    """
    return _Scanner(text).document()


def put(text: str, path: tuple[str, ...], value: Json) -> str:
    """Return `text` with `value` at `path`; objects on the way are made where they are missing.

    Raises:
        NotJson: the text cannot be read, or what stands on the way is not an object.
    """
    node = parse(text)
    if node.start == node.end:
        return _show(_nest(path, value), "  ", "\n") + "\n"
    for depth, key in enumerate(path):
        if not isinstance(node.value, dict):
            raise NotJson(f"{'.'.join(path[:depth]) or 'the file'} is not an object", 1)
        if key not in node.members:
            inner = f"{json.dumps(key, ensure_ascii=False)}: "
            return _insert(text, node, inner, _nest(path[depth + 1 :], value))
        node = node.members[key][1]
    if node.value == value and type(node.value) is type(value):
        return text
    flat = "\n" not in text[node.start : node.end] and isinstance(node.value, (dict, list))
    shown = _show(value, None if flat else _unit(text), _newline(text), _indent(text, node.start))
    return text[: node.start] + shown + text[node.end :]


def append(text: str, path: tuple[str, ...], item: Json) -> str:
    """Return `text` with `item` at the end of the array at `path`, made where it is missing.

    Raises:
        NotJson: the text cannot be read, or what stands there is not an array.
    """
    node: Node | None = parse(text)
    for key in path:
        node = node.members[key][1] if node and key in node.members else None
    if node is None:
        return put(text, path, [item])
    if not isinstance(node.value, list):
        raise NotJson(f"{'.'.join(path)} is not an array", text.count("\n", 0, node.start) + 1)
    return _insert(text, node, "", item)


def has_comment(text: str, node: Node) -> bool:
    """Say whether anything that looks like a comment stands within `node`, text in quotes aside."""
    return bool(_COMMENT.search(_STRING.sub('""', text[node.start : node.end])))


def _insert(text: str, parent: Node, label: str, value: Json) -> str:
    """Add a child at the end of an object or array."""
    close = parent.end - 1
    inside = text[parent.start + 1 : close]
    children = parent.children()
    newline, unit = _newline(text), _unit(text)
    if "\n" not in inside and children:
        end = children[-1][1]
        return f"{text[:end]}, {label}{_show(value, None, '')}{text[end:]}"
    own = _indent(text, parent.start)
    indent = _indent(text, children[-1][0]) if children else own + unit
    shown = label + _show(value, unit, newline, indent)
    if not children:
        kept = f"{newline}{indent}{inside.strip()}" if inside.strip() else ""
        middle = f"{kept}{newline}{indent}{shown}{newline}{own}"
        return text[: parent.start + 1] + middle + text[close:]
    end = children[-1][1]
    after = text[end:close].rstrip()
    comma = "" if _STRING.sub("", _BLANK.sub("", after)).startswith(",") else ","
    return f"{text[:end]}{comma}{after}{newline}{indent}{shown}{newline}{own}{text[close:]}"


def _nest(path: tuple[str, ...], value: Json) -> Json:
    for key in reversed(path):
        value = {key: value}
    return value


def _show(value: Json, unit: str | None, newline: str, indent: str = "") -> str:
    shown = json.dumps(value, ensure_ascii=False, indent=unit)
    return shown.replace("\n", newline + indent) if unit is not None else shown


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent(text: str, at: int) -> str:
    """Return the white space that the line around `at` starts with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return what one level of indentation is in this text: that of its first indented line."""
    found = re.search(r"\n([ \t]+)[^\s/*]", text)
    return found[1] if found else "  "


class _Scanner:
    """One pass over a text. `at` is where it stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def document(self) -> Node:
        if self.text.startswith("\ufeff"):
            self.at = 1
        self._skip()
        if self.at == len(self.text):
            return Node(value={}, start=self.at, end=self.at, members={}, items=[])
        node = self._value(0)
        self._skip()
        if self.at < len(self.text):
            self._fail("there is more after the end")
        return node

    def _value(self, depth: int) -> Node:
        if depth > _DEPTH:
            self._fail("it is nested too deep")
        match self.text[self.at : self.at + 1]:
            case "{":
                return self._object(depth)
            case "[":
                return self._array(depth)
            case _:
                start = self.at
                value = self._scalar()
                return Node(value=value, start=start, end=self.at, members={}, items=[])

    def _object(self, depth: int) -> Node:
        start, members = self.at, dict[str, tuple[int, Node]]()
        self.at += 1
        while not self._closes("}", bool(members)):
            key_at = self.at
            key = self._string()
            if key in members:
                self._fail(f"the key {key!r} is there twice")
            self._skip()
            self._take(":")
            self._skip()
            members[key] = (key_at, self._value(depth + 1))
        value: Json = {key: node.value for key, (_, node) in members.items()}
        return Node(value=value, start=start, end=self.at, members=members, items=[])

    def _array(self, depth: int) -> Node:
        start, items = self.at, list[Node]()
        self.at += 1
        while not self._closes("]", bool(items)):
            items.append(self._value(depth + 1))
        value: Json = [node.value for node in items]
        return Node(value=value, start=start, end=self.at, members={}, items=items)

    def _closes(self, mark: str, more: bool) -> bool:
        """Step over the end of an object or array, or over the comma before the next child."""
        self._skip()
        if more and self.text[self.at : self.at + 1] != mark:
            self._take(",")
            self._skip()
        if self.text[self.at : self.at + 1] != mark:
            return False
        self.at += 1
        return True

    def _scalar(self) -> Json:
        if self.text[self.at : self.at + 1] == '"':
            return self._string()
        found = _PLAIN.match(self.text, self.at)
        if found is None:
            self._fail("a value is missing")
        try:
            value: Json = json.loads(found[0])
        except ValueError:
            self._fail(f"{found[0][:40]!r} is not a value")
        self.at = found.end()
        return value

    def _string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            self._fail("text in quotes is missing")
        try:
            value: str = json.loads(found[0])
        except ValueError:
            self._fail("text in quotes cannot be read")
        self.at = found.end()
        return value

    def _take(self, mark: str) -> None:
        if self.text[self.at : self.at + 1] != mark:
            self._fail(f"{mark!r} is missing")
        self.at += 1

    def _skip(self) -> None:
        found = _BLANK.match(self.text, self.at)
        if found:
            self.at = found.end()

    def _fail(self, why: str) -> NoReturn:
        raise NotJson(why, self.text.count("\n", 0, self.at) + 1)
