"""What all spec models share: frozen, plain values only, unknown keys refused, pydantic's errors in our words."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from gpufabric.spec.problems import Problem, SpecError

DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


class Wish(BaseModel):
    """Base of every spec model. ``strict``: the string ``"2"`` is not a number of nodes."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @classmethod
    def parse(cls, raw: object, path: str = "") -> Self:
        """Read plain data (from YAML or a component's args); raises :class:`SpecError` with every problem found."""
        if not isinstance(raw, Mapping):
            raise SpecError([Problem(path or "spec", f"expected a mapping of keys, found {_kind(raw)}")])
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            raise SpecError(_problem(cls, e, path) for e in error.errors(include_url=False)) from None


def dotted(path: str, loc: Iterable[str | int]) -> str:
    """``("node_groups", 0, "nodes")`` as ``node_groups[0].nodes``, below ``path``."""
    for part in loc:
        path = f"{path}[{part}]" if isinstance(part, int) else f"{path}.{part}" if path else part
    return path


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return f"{value!r}"


def _fields_at(model: type[BaseModel], loc: Iterable[str | int]) -> list[str]:
    """The keys that are known at ``loc``: walks from model to nested model, through lists and optionals."""
    current: type[BaseModel] = model
    for part in loc:
        if isinstance(part, int):
            continue
        field = current.model_fields.get(part)
        nested = _model_in(field.annotation) if field else None
        if nested is None:
            return []
        current = nested
    return list(current.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        if found := _model_in(inner):
            return found
    return None


_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "a text (put it in quotes)",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping of keys",
    "model_type": "a mapping of keys",
    "model_attributes_type": "a mapping of keys",
}


def _problem(model: type[BaseModel], error: ErrorDetails, path: str) -> Problem:
    loc, kind, value, context = error["loc"], error["type"], error["input"], error.get("ctx", {})
    where = dotted(path, [part for part in loc if part != "[key]"])
    if kind == "extra_forbidden":
        known = _fields_at(model, loc[:-1])
        near = get_close_matches(str(loc[-1]), known, n=1)
        return Problem(where, "unknown key", f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}")
    if kind == "missing":
        return Problem(where, "missing", "this key is required")
    if kind in _EXPECTED:
        return Problem(where, f"expected {_EXPECTED[kind]}, found {_kind(value)}")
    if kind in ("value_error", "assertion_error"):
        reason, _, fix = str(context.get("error", error["msg"])).partition("; ")
        return Problem(where, reason, fix)
    if kind == "literal_error":
        return Problem(where, f"{value!r} is not one of the choices", f"write one of {context['expected']}")
    if kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal"):
        bound = next(iter(context.values()))
        word = {"greater_than": "more than", "greater_than_equal": "at least", "less_than": "less than"}.get(kind, "at most")
        return Problem(where, f"{value} is out of range", f"write a number of {word} {bound}")
    return Problem(where, error["msg"][:1].lower() + error["msg"][1:], f"found {_kind(value)}")
