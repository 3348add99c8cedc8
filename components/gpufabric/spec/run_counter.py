"""The run counter in the text of a stack file: read it, or write another one and leave every other letter as it is."""

from collections.abc import Mapping
from typing import Any

import yaml

from gpufabric.spec.problems import Problem, SpecError
from gpufabric.spec.stack_file import CONFIG_KEY

_PATH = ("config", CONFIG_KEY, "validation")


def run_of(text: str) -> int | None:
    """The counter that a stack file's text names; None where it names none, or is no stack file."""
    try:
        value = _at(yaml.safe_load(text), (*_PATH, "run"))
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def with_run(text: str, run: int) -> str:
    """The text with ``validation.run: run``; raises :class:`SpecError` where it cannot be put there and nowhere else."""
    try:
        before = yaml.safe_load(text)
        edited = _edited(text, run)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise (error if isinstance(error, SpecError) else _refused("this is no YAML that can be edited")) from None
    try:
        after = yaml.safe_load(edited)
    except (yaml.YAMLError, ValueError):
        after = None
    if after != _with(before, (*_PATH, "run"), run):  # an anchor, a key written twice: an edit that reaches further
        raise _refused("the value stands where other keys use it, too")
    return edited


def _edited(text: str, run: int) -> str:
    node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    for key in _PATH:
        found = _value(node, key)
        node = found[1] if found else None
    if not isinstance(node, yaml.MappingNode):
        raise _refused("there is no validation block")
    if there := _value(node, "run"):
        value = there[1]
        return f"{text[: value.start_mark.index]}{run}{text[value.end_mark.index :]}"
    if node.flow_style:
        start = node.start_mark.index + 1
        return f"{text[:start]}run: {run}{', ' if node.value else ''}{text[start:]}"
    first = node.value[0][0].start_mark
    newline = "\r\n" if "\r\n" in text else "\n"
    return f"{text[: first.index]}run: {run}{newline}{' ' * first.column}{text[first.index :]}"


def _value(node: yaml.Node | None, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next(((name, value) for name, value in node.value if name.value == key), None)


def _with(value: Any, path: tuple[str, ...], run: int) -> Any:
    """A copy with another value at ``path``; what an alias shares with other places changes here alone."""
    key, *rest = path
    inner = value.get(key) if isinstance(value, Mapping) else None
    return {**(value or {}), key: _with(inner, tuple(rest), run) if rest else run}


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _refused(reason: str) -> SpecError:
    return SpecError([Problem(f"{CONFIG_KEY}.validation.run", reason, "raise it there by hand")])
