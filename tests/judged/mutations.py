"""Mistakes, made one at a time in what a sample sends: at a place on the wire that the published API says something about."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tests.judged.records import Cloud
from tools.judge.patterns import matches
from tools.judge.references import Thing
from tools.judge.request import Record, Request
from tools.judge.shapes import Shape

MARK = "marked"
Address = tuple[str, ...]


@dataclass(frozen=True)
class Leaf:
    """One text or number of a request: where it stands on the wire, and what the published API knows of it."""

    request: int
    address: Address
    shape: Shape
    required: bool
    member: bool
    """Its name is the API's, and not a key of a map."""
    value: Any
    id: str
    """The kind of what it is an id of; empty if it is none."""
    names: bool
    """The request makes, or refers to, something by this name."""


def leaves_of(record: Record, cloud: Cloud) -> list[Leaf]:
    """Every leaf that has a shape: found by putting a mark into its place on the wire and looking for it among the members."""
    found = []
    for number, request in enumerate(record.requests):
        for address, value in _addresses(request):
            call = cloud.model.read(_set(request, address, MARK))
            place = _find(call)
            if place is not None:
                things = {*cloud.book.makes(call, request), *(thing for _, thing in cloud.book.refers(call))}
                names = any(MARK in thing.name for thing in things)
                found.append(Leaf(number, address, *place, value, cloud.id_of(value) if isinstance(value, str) else "", names))
    return found


def _addresses(request: Request) -> Iterator[tuple[Address, Any]]:
    for key, value in (request.form or {}).items():
        if key not in ("Action", "Version"):
            yield ("form", key), value
    yield from _in_json(request.json, ("json",))


def _in_json(value: Any, address: Address) -> Iterator[tuple[Address, Any]]:
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in inner:
            yield from _in_json(each, (*address, str(key)))
    elif value is not None:
        yield address, value


def _find(call: Any) -> tuple[Shape, bool, bool] | None:
    def within(value: Any, shape: Shape, required: bool, member: bool) -> tuple[Shape, bool, bool] | None:
        if value == MARK:
            return shape, required, member
        if isinstance(value, dict) and shape.kind == "structure":
            members = shape.members()
            parts = [(each, members[name], name in shape.required, True) for name, each in value.items() if name in members]
        elif isinstance(value, dict | list) and shape.kind in ("list", "map"):
            inner = value.values() if isinstance(value, dict) else value
            parts = [(each, shape.element(), False, False) for each in inner]
        else:
            return None
        return next((found for part in parts if (found := within(*part))), None)

    return within(dict(call.members), call.shape, False, True)


def _set(request: Request, address: Address, value: Any, *, rename: str = "", drop: bool = False) -> Request:
    """The request with another value at an address, or with its last name changed, or without it."""
    where, *path = address
    body = json.loads(json.dumps(getattr(request, where)))
    inner = body
    for step in path[:-1]:
        inner = inner[int(step)] if isinstance(inner, list) else inner[step]
    last: Any = int(path[-1]) if isinstance(inner, list) else path[-1]
    if drop or rename:
        held = inner.pop(last)
        if rename:
            inner[rename] = held
    else:
        inner[last] = value
    return replace(request, **{where: body})


@dataclass(frozen=True)
class Material:
    """A record to make mistakes in, whose it is, and its leaves."""

    record: Record
    cloud: Cloud
    leaves: list[Leaf]

    @classmethod
    def of(cls, record: Record, cloud: Cloud) -> "Material":
        return cls(record, cloud, leaves_of(record, cloud))


Mutant = tuple[Record, str]
Mutation = Callable[[Material, random.Random], Mutant | None]


def _changed(material: Material, leaf: Leaf, told: str, **how: Any) -> Mutant:
    value, record = how.pop("value", None), material.record
    made = _set(record.requests[leaf.request], leaf.address, value, **how)
    requests = (*record.requests[: leaf.request], made, *record.requests[leaf.request + 1 :])
    call = material.cloud.model.read(record.requests[leaf.request])
    return replace(record, requests=requests), f"{call} {'.'.join(leaf.address[1:])}: {told}"


def _at(wanted: Callable[[Leaf], bool], change: Callable[[Leaf, random.Random], dict[str, Any] | None]) -> Mutation:
    """Change a leaf that fulfils a condition."""

    def mutate(material: Material, draw: random.Random) -> Mutant | None:
        fitting = [leaf for leaf in material.leaves if wanted(leaf)]
        for leaf in draw.sample(fitting, len(fitting)):
            how = change(leaf, draw)
            if how is not None:
                return _changed(material, leaf, f"{leaf.value!r} -> {how.get('value', how)!r}"[:120], **how)
        return None

    return mutate


def _is_id(leaf: Leaf) -> bool:
    return leaf.id != ""


def _misspelt(leaf: Leaf, draw: random.Random) -> dict[str, Any]:
    name = leaf.address[-1]
    return {"rename": name[:-1] + ("s" if name[-1] != "s" else "z")}


def _no_match(leaf: Leaf, draw: random.Random) -> dict[str, Any] | None:
    texts = [f"{leaf.value}\u0007", f"{leaf.value} !", f"-{leaf.value}"]
    return next(({"value": text} for text in texts if not matches(leaf.shape.pattern, text)), None)


def _another(leaf: Leaf, draw: random.Random) -> dict[str, Any] | None:
    others = sorted(leaf.shape.enum - {leaf.value})
    return {"value": draw.choice(others)} if others else None


def _elsewhere(material: Material, draw: random.Random) -> Mutant | None:
    """An id of another kind that exists."""
    ids = [leaf for leaf in material.leaves if _is_id(leaf)]
    for leaf in draw.sample(ids, len(ids)):
        others = sorted({str(each.value) for each in ids if each.id != leaf.id})
        if others:
            other = draw.choice(others)
            return _changed(material, leaf, f"{leaf.value!r} -> {other!r}", value=other)
    return None


def _swapped(material: Material, draw: random.Random) -> Mutant | None:
    """Another id of the same kind that exists."""
    ids = [leaf for leaf in material.leaves if _is_id(leaf)]
    for leaf in draw.sample(ids, len(ids)):
        others = sorted(each.name for each in _made_before(material, leaf) if each.kind == leaf.id and each.name != leaf.value)
        if others:
            other = draw.choice(others)
            return _changed(material, leaf, f"{leaf.value!r} -> {other!r}", value=other)
    return None


def _made_before(material: Material, leaf: Leaf) -> set[Thing]:
    model, book = material.cloud.model, material.cloud.book
    before = material.record.requests[: leaf.request]
    return {thing for request in before for thing in book.makes(model.read(request), request)}


def _without(needed: bool) -> Mutation:
    """Leave out a whole request: one whose answer another one needs, or one that nobody refers to."""

    def mutate(material: Material, draw: random.Random) -> Mutant | None:
        record, model, book = material.record, material.cloud.model, material.cloud.book
        calls = [model.read(request) for request in record.requests]
        referred = {thing for call in calls for _, thing in book.refers(call)}
        fitting = [n for n, call in enumerate(calls) if bool(book.makes(call, record.requests[n]) & referred) is needed]
        if not fitting:
            return None
        number = draw.choice(fitting)
        return replace(record, requests=(*record.requests[:number], *record.requests[number + 1 :])), f"without {calls[number]}"

    return mutate


def _no_such_operation(material: Material, draw: random.Random) -> Mutant | None:
    """Where the wire names it: in a form, or at the end of a path."""
    record = material.record
    number = draw.randrange(len(record.requests))
    found = record.requests[number]
    if found.form:
        made = _set(found, ("form", "Action"), found.form["Action"] + "s")
    elif found.method == "POST":
        made = replace(found, path=f"{found.path}z")
    else:
        return None
    return replace(record, requests=(*record.requests[:number], made, *record.requests[number + 1 :])), "no such operation"


def _text(leaf: Leaf) -> bool:
    return leaf.shape.kind == "string" and isinstance(leaf.value, str)


def _number(leaf: Leaf) -> bool:
    return leaf.shape.kind == "integer"


def _written(leaf: Leaf, number: int) -> dict[str, Any]:
    """As the leaf's wire writes numbers."""
    return {"value": str(number) if leaf.address[0] == "form" else number}


# kind of mistake -> how it is made. What the published API can show:
CAUGHT: dict[str, Mutation] = {
    "a member's name is misspelt": _at(lambda leaf: leaf.member and not leaf.address[-1].isdigit(), _misspelt),
    "a member that must be there is left out": _at(lambda leaf: leaf.required, lambda leaf, _: {"drop": True}),
    "a value of a list of values is misspelt": _at(
        lambda leaf: bool(leaf.shape.enum), lambda leaf, _: {"value": f"{leaf.value}x"}
    ),
    "a value of a list of values is written in other letters": _at(
        lambda leaf: bool(leaf.shape.enum) and str(leaf.value).swapcase() != leaf.value,
        lambda leaf, _: {"value": str(leaf.value).swapcase()},
    ),
    "a text does not have the published form": _at(lambda leaf: bool(leaf.shape.pattern), _no_match),
    "a text is too long": _at(
        lambda leaf: _text(leaf) and leaf.shape.maximum is not None,
        lambda leaf, _: {"value": str(leaf.value).ljust(int(leaf.shape.maximum or 0) + 1, "x")},
    ),
    "a text is empty where it must not be": _at(
        lambda leaf: _text(leaf) and (leaf.shape.minimum or 0) >= 1, lambda leaf, _: {"value": ""}
    ),
    "a number is above its range": _at(
        lambda leaf: _number(leaf) and leaf.shape.maximum is not None,
        lambda leaf, _: _written(leaf, int(leaf.shape.maximum or 0) + 1),
    ),
    "a number is below its range": _at(
        lambda leaf: _number(leaf) and leaf.shape.minimum is not None,
        lambda leaf, _: _written(leaf, int(leaf.shape.minimum or 0) - 1),
    ),
    "a text stands where a number is wanted": _at(_number, lambda leaf, _: {"value": f"{leaf.value} nodes"}),
    "a word stands where true or false is wanted": _at(
        lambda leaf: leaf.shape.kind == "boolean", lambda leaf, _: {"value": "yes"}
    ),
    "an id that nothing has": _at(_is_id, lambda leaf, _: {"value": str(leaf.value)[:-4] + "ffff"}),
    "the id of a thing of another kind": _elsewhere,
    "the request that makes a thing is left out": _without(needed=True),
    "an operation that the service does not have": _no_such_operation,
}
# What it cannot show: the request is one that AWS publishes, and means something else.
NOT_CAUGHT: dict[str, Mutation] = {
    "another value of the list of values": _at(lambda leaf: bool(leaf.shape.enum), _another),
    "a member that may be there is left out": _at(
        lambda leaf: not (leaf.required or leaf.names or leaf.address[-1].isdigit()) and leaf.address[-1].count(".") < 2,
        lambda leaf, _: {"drop": True},
    ),
    "another number within its range": _at(
        lambda leaf: _number(leaf) and (leaf.shape.maximum is None or int(leaf.value) + 7 <= leaf.shape.maximum),
        lambda leaf, _: _written(leaf, int(leaf.value) + 7),
    ),
    "a word in a text that the model knows nothing about": _at(
        lambda leaf: (
            _text(leaf)
            and not (leaf.shape.enum or leaf.shape.pattern or leaf.shape.maximum)
            and not (leaf.names or _is_id(leaf))
            and ":" not in leaf.value
            and "name" not in leaf.address[-1].lower()
        ),
        lambda leaf, _: {"value": f"{leaf.value}x"},
    ),
    "the id of another thing of the same kind": _swapped,
    "a request that no other one refers to is left out": _without(needed=False),
}
