"""Nodes with a mount: each test has its own, with its own server."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gpufabric.plan.mounts import MountPlan
from tests.mounts.node import Node, cached_plan, running


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Node]]:
    """Start a node with a server and a mount; it is switched off after the test."""
    if os.geteuid() != 0 or not Path("/dev/fuse").exists():
        pytest.skip("mounts need root and /dev/fuse")
    with ExitStack() as stack:

        def make(plan: MountPlan | None = None, name: str = "disk") -> Node:
            disk = tmp_path / name
            disk.mkdir()
            return stack.enter_context(running(Node(disk, plan or cached_plan())))

        yield make


@pytest.fixture
def node(start: Callable[..., Node]) -> Node:
    """One with a cached mount."""
    return start()
