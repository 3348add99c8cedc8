"""The same resource as pulumi-aws and as the bridge write it.

Where Terraform has a list of at most one, pulumi-aws has the one itself; the bridge cannot always see that limit and writes a
list with a name in the plural. Both sides describe themselves, so the differences are found and not listed: pulumi-aws by the
types of its Python classes, the bridge by its schema.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tools.samples.sdk import Field, Fields

# Pulumi marks secrets and outputs on the wire with an object that has this key.
_SIGNATURE = "4dabf18193072939515e22adb298388d"


@dataclass(frozen=True)
class Pair:
    """One property under both names."""

    ours: str
    theirs: str
    listed: bool
    """We have one where the bridge has a list of one."""
    inner: Callable[[], "Pairs"] | None


Pairs = Sequence[Pair]


def bridge_fields(schema: Mapping[str, Any], token: str) -> Fields:
    """A resource of the bridge by its schema."""
    return _bridge_fields(schema, schema["resources"][token]["properties"])


def _bridge_fields(schema: Mapping[str, Any], properties: Mapping[str, Any]) -> Fields:
    return {name: _bridge_field(schema, each) for name, each in properties.items()}


def _bridge_field(schema: Mapping[str, Any], written: Mapping[str, Any]) -> Field:
    many = written.get("type") == "array"
    reference = (written["items"] if many else written).get("$ref", "").rpartition("#/types/")[2]
    if not reference:
        return Field(many)
    return Field(many, cache(lambda: _bridge_fields(schema, schema["types"][reference]["properties"])))


def pairs(ours: Fields, theirs: Fields) -> Pairs:
    """Properties that both have. What only one side has is left out."""
    found = []
    for name, mine in ours.items():
        other = _counterpart(name, theirs)
        if other is None:
            continue
        yours = theirs[other]
        inner = cache(lambda m=mine, y=yours: pairs(m.inner(), y.inner())) if mine.inner and yours.inner else None
        found.append(Pair(name, other, yours.many and not mine.many, inner))
    return found


def _counterpart(name: str, theirs: Collection[str]) -> str | None:
    candidates = [name, f"{name}s", f"{name}es", name.removesuffix("s"), name.removesuffix("es")]
    candidates += [f"{name.removesuffix('y')}ies", f"{name.removesuffix('ies')}y"]
    return next((each for each in candidates if each in theirs), None)


def to_bridge(value: Any, known: Pairs) -> Any:
    """An object as the bridge writes it."""
    return _translated(value, {pair.ours: (pair.theirs, pair) for pair in known}, _to_list, to_bridge)


def from_bridge(value: Any, known: Pairs) -> Any:
    """The inverse."""
    return _translated(value, {pair.theirs: (pair.ours, pair) for pair in known}, _from_list, from_bridge)


def _translated(
    value: Any, names: Mapping[str, tuple[str, Pair]], fits: Callable[[Any], Any], again: Callable[[Any, Pairs], Any]
) -> Any:
    if not isinstance(value, dict):
        return value
    if _SIGNATURE in value:
        return {**value, "value": _translated(value["value"], names, fits, again)} if "value" in value else value
    found = {}
    for key, each in value.items():
        if key not in names:
            found[key] = each
            continue
        name, pair = names[key]
        if pair.listed:
            each = fits(each)  # noqa: PLW2901
        if pair.inner:
            each = [again(one, pair.inner()) for one in each] if isinstance(each, list) else again(each, pair.inner())  # noqa: PLW2901
        found[name] = each
    return found


def _to_list(value: Any) -> Any:
    """None and what is not known yet stay as they are."""
    return value if value is None or isinstance(value, list) or _is_unknown(value) else [value]


def _from_list(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return value[0] if value else None


def _is_unknown(value: Any) -> bool:
    from pulumi.runtime.rpc import UNKNOWN

    return bool(value == UNKNOWN)
