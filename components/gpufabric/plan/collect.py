"""Ask for several plans and keep every problem of every one, so that all are reported together."""

from collections.abc import Callable
from typing import TypeVar

from gpufabric.spec import Problem, SpecError

T = TypeVar("T")


def kept(problems: list[Problem], make: Callable[[], T]) -> T | None:
    """What ``make`` returns; None where it raises :class:`SpecError`, whose problems go into ``problems``."""
    try:
        return make()
    except SpecError as error:
        problems += [problem for problem in error.problems if problem not in problems]
        return None


def kept_by_key(problems: list[Problem], keys: list[str], make: Callable[[str], T]) -> dict[str, T]:
    """What ``make`` returns for each key, without those that have problems."""
    found = {key: kept(problems, lambda key=key: make(key)) for key in keys}  # type: ignore[misc]
    return {key: each for key, each in found.items() if each is not None}
