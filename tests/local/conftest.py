"""A cluster of the tests' own, brought up once per session through the command line, as a user would."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.folders import REPOSITORY, cache_folder, locked
from tools.image.recipe import read_recipe
from tools.localcluster.cluster import kubeconfig_of

# A second session on this machine waits for the first, or takes a name of its own, from which all its clusters have theirs.
NAME = os.environ.get("GPUFABRIC_TEST_CLUSTER", "test")


def cli(name: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run `python3 -m tools.localcluster --name NAME ...`."""
    command = [sys.executable, "-m", "tools.localcluster", "--name", name, *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if check:
        assert done.returncode == 0, f"{' '.join(arguments)}: {done.stdout}\n{done.stderr}"
    return done


@dataclass(frozen=True)
class LocalCluster:
    """Handle for tests: what a user has, and the command line."""

    name: str
    kubeconfig: Path
    image: str

    def cli(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command on this cluster."""
        return cli(self.name, *arguments, check=check)

    def degrade(self, node: str, rate: str) -> None:
        """Slow a node's link down."""
        self.cli("degrade", node, rate)

    def restore(self) -> None:
        """Give every node that is on its healthy link back."""
        self.cli("restore")

    def kill(self, node: str) -> None:
        """Cut a node's power."""
        self.cli("kill", node)

    def revive(self, node: str) -> None:
        """Switch it on and wait until it is Ready."""
        self.cli("revive", node)


@contextmanager
def running_cluster(name: str, *up: str) -> Iterator[LocalCluster]:
    """A cluster of this name from `up` to `down`, whatever happens between. A second session with the same name waits."""
    if os.geteuid() != 0:
        pytest.skip("the local cluster needs root")
    with locked(cache_folder() / "test-sessions" / name):
        cli(name, "down")  # of an earlier session that was killed
        try:
            cli(name, "up", *up)
            yield LocalCluster(name, kubeconfig_of(name), read_recipe("gate").reference)
        finally:
            cli(name, "down")


@pytest.fixture(scope="session")
def four() -> Iterator[LocalCluster]:
    """A healthy cluster with more workers: system, n0 to n3. A test that breaks something repairs it.

    Labels for tests that validate several groups in one ``up``: ``bay`` is a node's own, ``side`` is shared by two.
    """
    sides = {"n0": "east", "n1": "east", "n2": "west", "n3": "west"}
    labels = [
        text for node, side in sides.items() for text in ("--label", f"{node}:bay={node}", "--label", f"{node}:side={side}")
    ]
    with running_cluster(f"{NAME}-four", "--workers", "4", *labels) as made:
        yield made


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    """A healthy cluster: system, n0, n1. A test that breaks something repairs it."""
    with running_cluster(NAME) as made:
        yield made
