"""Samples whose whole lives run two at a time: an engine alone does not fill two cores."""

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import pytest

T = TypeVar("T")


def selected(request: pytest.FixtureRequest, argument: str, among: Collection[T]) -> list[T]:
    """Values of an argument that the selected tests are called with."""
    params = (getattr(item, "callspec").params for item in request.session.items if hasattr(item, "callspec"))  # noqa: B009
    return [each[argument] for each in params if each.get(argument) in among]


@contextmanager
def two_at_a_time(samples: Collection[T], live: Callable[[T], None]) -> Iterator[Mapping[T, Future[None]]]:
    """Start all lives, in their order; each test waits for its own."""
    with ThreadPoolExecutor(2) as pool:
        yield {sample: pool.submit(live, sample) for sample in samples}
