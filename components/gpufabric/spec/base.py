"""What all spec models share: frozen, plain values only, unknown keys refused, pydantic's errors in our words."""

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from gpufabric.spec.problems import Problem, SpecError, dotted, shown

_HALF = re.compile("[\ud800-\udfff]")  # one of a surrogate pair: YAML can write it, nothing can send it
DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
LABEL_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")  # a DNS label of RFC 1123


def _integral(value: object) -> object:
    """``2.0`` is 2: Pulumi sends every number to a hosted component as a float."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _namespace(value: str) -> str:
    if not _NAMESPACE.fullmatch(value):
        raise ValueError(f"{shown(value)} cannot be a namespace; write the name that kubectl get namespaces shows")
    return value


WholeNumber = Annotated[int, BeforeValidator(_integral)]
Namespace = Annotated[str, AfterValidator(_namespace)]


def matching(pattern: str | re.Pattern[str], what: str, example: str) -> AfterValidator:
    """A validator: the whole text matches ``pattern``, or a ValueError that shows an example."""
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise ValueError(f"{shown(value)} is not {what}; write for example {example}")
        return value

    return AfterValidator(check)


def name_part(letters: int) -> AfterValidator:
    """A validator: the text can be part of Kubernetes names and has at most so many letters, or a ValueError."""

    def check(value: str) -> str:
        if len(value) > letters or not DNS_LABEL.fullmatch(value):
            raise ValueError(
                f"{shown(value)} cannot be part of Kubernetes names; "
                f"write 1 to {letters} of a-z, 0-9 and -, beginning with a letter and not ending in -"
            )
        return value

    return AfterValidator(check)


class Wish(BaseModel):
    """Base of every spec model.

    ``strict``: the string ``"2"`` is not a number of nodes. ``defer_build``: a program of one cloud uses a few of the models.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    @classmethod
    def parse(cls, raw: object, path: str = "") -> Self:
        """Read plain data (from YAML or a component's args); raises :class:`SpecError` with every problem of its shape."""
        if not isinstance(raw, Mapping):
            raise SpecError([Problem(path, f"expected a mapping, found {shown(raw)}", _known(cls.model_fields))])
        problems: list[Problem] = []
        plain = _text_keys(raw, path, problems)
        try:
            model = cls.model_validate(plain)
        except ValidationError as error:
            told = {problem.path for problem in problems}
            found = [_problem(cls, each, path) for each in error.errors(include_url=False)]
            raise SpecError([*problems, *(each for each in found if each.path not in told)]) from None
        if problems:
            raise SpecError(problems)
        return model


def _text_keys(value: object, path: str, problems: list[Problem]) -> object:
    """The value without keys that are no text (``3:``, ``yes:``), and a problem for each of them."""
    if isinstance(value, list):
        return [_text_keys(each, f"{path}[{position}]", problems) for position, each in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    kept = {}
    for key, each in value.items():
        if isinstance(key, str) and not _HALF.search(key):
            kept[key] = _text_keys(each, dotted(path, [key]), problems)
        else:
            fix = "take the half character out" if isinstance(key, str) else "put the key in quotes"
            problems.append(Problem(path, f"expected a text as the key, found {shown(key)}", fix))
    return kept


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


_MAPPING = ("a mapping", "write key: value pairs")
_EXPECTED = {
    "int_type": ("a whole number", "write digits without quotes, such as 2"),
    "int_from_float": ("a whole number", "write digits without quotes, such as 2"),
    "float_type": ("a number", "write digits without quotes, such as 0.5"),
    "finite_number": ("a number", "write digits without quotes, such as 0.5"),
    "string_type": ("a text", "write a text"),
    "bool_type": ("true or false", "write one of them, without quotes"),
    "list_type": ("a list", "write [...], or lines that begin with -"),
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
}
_BOUNDS = {
    "greater_than": "above {gt:.10g}",
    "greater_than_equal": "from {ge:g} up",
    "less_than": "below {lt:.10g}",
    "less_than_equal": "up to {le:.10g}",
}


def _problem(model: type[BaseModel], error: ErrorDetails, path: str) -> Problem:
    loc, kind, value, context = error["loc"], error["type"], error["input"], error.get("ctx", {})
    if kind == "value_error" and loc[-1:] == ("[key]",):  # pydantic's word for a key of a mapping, which has its own path
        loc = loc[:-1]
    where = dotted(path, loc)
    if kind == "extra_forbidden":
        known = _fields_at(model, loc[:-1])
        from difflib import get_close_matches  # only for an error: it costs as much as the rest of this room

        near = get_close_matches(str(loc[-1]), known, n=1)
        return Problem(where, "unknown key", f"did you mean {near[0]}?" if near else _known(known))
    if kind == "missing":
        return Problem(where, "missing", "this key is required")
    if kind in _EXPECTED:
        expected, fix = _EXPECTED[kind]
        if kind == "string_type" and isinstance(value, int | float | date):
            fix = "put it in quotes"
        if nested := _fields_at(model, loc) if kind.startswith("model") else []:
            fix = _known(nested)
        return Problem(where, f"expected {expected}, found {shown(value)}", fix)
    if kind == "value_error":
        reason, _, fix = str(context["error"]).partition("; ")
        return Problem(where, reason, fix)
    if kind == "literal_error":
        choices = str(context["expected"]).replace("'", "")
        return Problem(where, f"{shown(value)} is not a choice here", f"write {choices}")
    if kind in _BOUNDS:
        return Problem(where, f"{shown(value)} is out of range", f"write a number {_BOUNDS[kind].format(**context)}")
    return Problem(where, error["msg"][:1].lower() + error["msg"][1:], f"found {shown(value)}")


def _known(keys: Iterable[str]) -> str:
    return f"known keys: {', '.join(keys)}"
