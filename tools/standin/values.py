"""Property trees: what a dotted path finds, what a template yields, what differs, and how they travel."""

import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any

from google.protobuf import json_format, struct_pb2  # type: ignore[import-untyped]
from pulumi.runtime.rpc import UNKNOWN

Tree = dict[str, Any]

_HOLE = re.compile(r"\{([\w.]+)(\?([^{}]*))?\}")


def read(struct: struct_pb2.Struct) -> Tree:
    """A tree from the wire. Whole numbers become ints: on the wire every number is a float."""
    tree: Tree = _whole(json_format.MessageToDict(struct))
    return tree


def write(tree: Tree) -> struct_pb2.Struct:
    """A tree for the wire."""
    struct = struct_pb2.Struct()
    struct.update(tree)
    return struct


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def at(tree: Any, path: str) -> list[Any]:
    """All values at a dotted path; lists on the way are entered. Absent and null are nothing."""
    found = [tree]
    for part in path.split("."):
        found = [each[part] for each in _flat(found) if isinstance(each, dict) and part in each]
    return [each for each in _flat(found) if each is not None]


def exact(tree: Any, path: str) -> Any:
    """The value at a dotted path, a list as such; None where there is none."""
    for part in path.split("."):
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


def _flat(values: list[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list):
            yield from _flat(value)
        else:
            yield value


def put(tree: Tree, path: str, value: Any) -> None:
    """Set a value at a dotted path, making the tables on the way."""
    *tables, last = path.split(".")
    for part in tables:
        inner = tree.get(part)
        tree[part] = inner = inner if isinstance(inner, dict) else {}
        tree = inner
    tree[last] = value


def without(tree: Tree, paths: Iterable[str]) -> Tree:
    """A copy that lacks what lies at these dotted paths; lists are not entered."""
    copy = deepcopy(tree)
    for path in paths:
        *tables, last = path.split(".")
        inner: Any = copy
        for part in tables:
            inner = inner.get(part, {}) if isinstance(inner, dict) else {}
        if isinstance(inner, dict):
            inner.pop(last, None)
    return copy


def fill(template: Any, look_up: Callable[[str], Any]) -> Any:
    """A template with its holes filled: ``{path}``, or ``{path?/}`` for the value and a "/", or nothing where there is none.

    What is not known yet makes the whole text unknown.
    """
    if isinstance(template, dict):
        return {key: fill(each, look_up) for key, each in template.items()}
    if isinstance(template, list):
        return [fill(each, look_up) for each in template]
    if not isinstance(template, str):
        return template
    text = ""
    end = 0
    for hole in _HOLE.finditer(template):
        value = look_up(hole[1])
        if value == UNKNOWN:
            return UNKNOWN
        if value is None and hole[2] is None:
            raise LookupError(hole[1])
        text += template[end : hole.start()] + ("" if value is None else f"{value}{hole[3] or ''}")
        end = hole.end()
    return text + template[end:]


def differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Where two trees differ: paths like ``a.b[0]``, each with add, delete or update."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            inner = f"{path}.{key}" if path else key
            if key not in new:
                yield inner, "delete"
            elif key not in old:
                yield inner, "add"
            else:
                yield from differences(old[key], new[key], inner)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from differences(before, after, f"{path}[{index}]")
    elif old != new:
        yield path, "update"


def projected(actual: Any, asked: Any) -> Any:
    """The part of what exists that was asked for: what a refresh calls the inputs."""
    if isinstance(actual, dict) and isinstance(asked, dict):
        return {key: projected(actual[key], value) for key, value in asked.items() if key in actual}
    if isinstance(actual, list) and isinstance(asked, list) and len(actual) == len(asked):
        return [projected(each, wish) for each, wish in zip(actual, asked, strict=True)]
    return actual


def merged(under: Any, over: Any) -> Any:
    """``over`` where it says something, else ``under``; entry by entry in lists of the same length."""
    if isinstance(under, list) and isinstance(over, list) and len(under) == len(over):
        return [merged(mine, theirs) for mine, theirs in zip(under, over, strict=True)]
    if isinstance(under, dict) and isinstance(over, dict):
        keys = [*over, *(key for key in under if key not in over)]
        return {key: merged(under[key], over[key]) if key in under and key in over else (over | under)[key] for key in keys}
    return over
