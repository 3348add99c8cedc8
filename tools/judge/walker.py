"""Walks a request's members along their shape and says everything that the published API does not allow."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from tools.judge.patterns import matches
from tools.judge.shapes import Call, Shape


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. ``kind``: unknown, required, type, enum, pattern, length, range or reference."""

    kind: str
    where: str
    says: str

    def __str__(self) -> str:
        return f"{self.where}: {self.says}"


_PYTHON: Mapping[str, tuple[type, ...]] = {
    "structure": (dict,),
    "list": (list,),
    "map": (dict,),
    "string": (str,),
    "integer": (int,),
    "float": (int, float),
    "boolean": (bool,),
    "timestamp": (datetime,),
    "blob": (bytes,),
}


def walk(call: Call) -> Iterator[Finding]:
    """All findings of one request, in the order of its members."""
    yield from _value(call.members, call.shape, str(call))


def leaves(value: Any, shape: Shape, where: str, member: str = "") -> Iterator[tuple[str, str, str]]:
    """Every text of a request that its shape knows, as (where, name of the nearest member, text)."""
    if isinstance(value, dict) and shape.kind == "structure":
        for name, inner in shape.members().items():
            if name in value:
                yield from leaves(value[name], inner, f"{where}.{name}", name)
    elif isinstance(value, dict) and shape.kind == "map":
        for key, each in value.items():
            yield from leaves(each, shape.element(), f"{where}[{key}]", member)
    elif isinstance(value, list) and shape.kind == "list":
        for number, each in enumerate(value):
            yield from leaves(each, shape.element(), f"{where}[{number}]", member)
    elif isinstance(value, str):
        yield where, member, value


def _value(value: Any, shape: Shape, where: str) -> Iterator[Finding]:
    if shape.kind == "document":
        return
    if not _is_a(value, shape):
        yield Finding("type", where, f"{_short(value)} is no {shape.kind}")
        return
    yield from _size(value, shape, where)
    if shape.kind == "structure":
        yield from _structure(value, shape, where)
    elif shape.kind == "list":
        for number, each in enumerate(value):
            yield from _value(each, shape.element(), f"{where}[{number}]")
    elif shape.kind == "map":
        for key, each in value.items():
            yield from _value(key, shape.key(), f"{where}[{key}]")
            yield from _value(each, shape.element(), f"{where}[{key}]")
    elif shape.kind == "string":
        if shape.enum and value not in shape.enum:
            yield Finding("enum", where, f"{value!r} is none of {_some(value, shape.enum)}")
        if shape.pattern and not matches(shape.pattern, value):
            yield Finding("pattern", where, f"{_short(value)} does not match {shape.pattern}")


def _is_a(value: Any, shape: Shape) -> bool:
    return isinstance(value, _PYTHON[shape.kind]) and (isinstance(value, bool) is (shape.kind == "boolean"))


def _structure(value: Mapping[str, Any], shape: Shape, where: str) -> Iterator[Finding]:
    members = shape.members()
    for name in sorted(shape.required - value.keys()):
        yield Finding("required", where, f"{name} is missing")
    if shape.union and len(value) != 1:
        yield Finding("required", where, f"exactly one of {', '.join(members)} is wanted, not {len(value)}")
    for name, each in value.items():
        if name in members:
            yield from _value(each, members[name], f"{where}.{name}")
        else:
            yield Finding("unknown", where, f"{shape.name} has no member {name}")


def _size(value: Any, shape: Shape, where: str) -> Iterator[Finding]:
    """Of numbers the value, of everything else the length."""
    if isinstance(value, datetime | bool):
        return
    number = isinstance(value, int | float)
    size, kind, what = (value, "range", "value") if number else (len(value), "length", "length")
    if shape.minimum is not None and size < shape.minimum:
        yield Finding(kind, where, f"{what} {size} is below {shape.minimum:g}")
    if shape.maximum is not None and size > shape.maximum:
        yield Finding(kind, where, f"{what} {size} is above {shape.maximum:g}")


def _some(value: str, values: Collection[str]) -> str:
    """All values of a short list, the nearest of a long one."""
    if len(values) <= 12:
        return ", ".join(sorted(values))
    near = get_close_matches(value, sorted(values), 3)
    return f"{len(values)} values" + (f"; near it: {', '.join(near)}" if near else "")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
