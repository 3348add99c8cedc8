"""Namespaces that a wish takes for granted."""

from collections.abc import Iterable, Iterator

from gpufabric.spec import Problem
from gpufabric.validation.api import Api, path


def namespace_problems(api: Api, names: Iterable[str], at: str) -> Iterator[Problem]:
    """Those that are not there; ``at``: where they were named. Raises ApiError."""
    for name in names:
        if api.find(path("namespaces", name)) is None:
            fix = f"make it first (kubectl create namespace {name}), or name others"
            yield Problem(at, f"there is no namespace {name}", fix)
