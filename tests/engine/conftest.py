"""A plain AWS program over the stand-in."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.engine.stack import EngineStack, made_stack

PROGRAM = Path(__file__).parent / "plain"
CONFIG = {"aws:region": "us-east-2"}


def plain_stack(folder: Path) -> AbstractContextManager[EngineStack]:
    """The stack, before its first ``up``."""
    return made_stack("plain", folder, PROGRAM, "aws")


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[EngineStack]:
    """For one test."""
    with plain_stack(tmp_path) as stack:
        stack.write(CONFIG)
        yield stack


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineStack]:
    """For a module whose tests are the steps of one life, in their order."""
    with plain_stack(tmp_path_factory.mktemp("life")) as stack:
        stack.write(CONFIG)
        yield stack
