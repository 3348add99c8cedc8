"""A wish that a component refuses: what it says, and that nothing was registered."""

from collections.abc import Callable, Sequence

import pytest

from gpufabric.spec import SpecError
from tests.kubernetes.mocked import Recording


def refused(declare: Callable[[Recording], object], there: Sequence[str] = ()) -> list[str]:
    """The lines of the error; fails unless it is a SpecError, before anything but ``there`` was registered."""
    recording = Recording()
    with pytest.raises(SpecError) as caught:
        declare(recording)
    assert [each.label for each in recording.resources] == list(there)
    return str(caught.value).split("\n")


def begin(said: Sequence[str], lines: Sequence[str]) -> bool:
    """Is each of the lines the begin of one that was said, in their order, and nothing more said?"""
    return len(said) == len(lines) and all(line.startswith(start) for line, start in zip(said, lines, strict=True))
