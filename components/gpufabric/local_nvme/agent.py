"""The agent beside the disks: tells the cluster how large the file system is, by a label of its node.

It may change that one label of that one node; an admission policy holds it to this. Without it the disks are used all the same.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpufabric.local_nvme import contract
from gpufabric.validation.api import Api, ApiError, path

_LOOK_EVERY_SECONDS = 5.0
_TELL_EVERY_SECONDS = 300.0
"""Also without a change: a node may have been registered anew, without its labels."""
_GIB = 1 << 30


def size_gib(folder: Path) -> int | None:
    """Whole GiB of the file system; None while it is not mounted, or does not answer."""
    try:
        (folder / contract.MARKER).stat()
        os.listdir(folder)  # noqa: PTH208  # a file system that has shut down fails here, and not in statvfs
        found = os.statvfs(folder)
    except OSError:
        return None
    return found.f_blocks * found.f_frsize // _GIB


def node_labels(node: str, size: int | None) -> dict[str, Any]:
    """The node as it is applied: with our label, or without any, which takes ours away."""
    labels = {} if size is None else {contract.LABEL_GIB: str(size)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": labels}}


@dataclass(slots=True)
class Agent:
    """``tell`` hands a size to the cluster; it may raise ApiError, and is then asked again."""

    folder: Path
    tell: Callable[[int | None], None]
    _told: tuple[int | None] | None = None
    _told_at: float = field(default=float("-inf"))

    def step(self, *, ending: bool = False) -> None:
        """Look once; tell what changed, or what was told long ago. At the end: nobody looks any more, so nothing is said."""
        size = None if ending else size_gib(self.folder)
        now = time.monotonic()
        if self._told == (size,) and now - self._told_at < _TELL_EVERY_SECONDS:
            return
        try:
            self.tell(size)
        except ApiError as error:
            print(f"agent: {error}", file=sys.stderr, flush=True)
        else:
            self._told, self._told_at = (size,), now


def make(environment: Mapping[str, str], api: Api) -> Agent:
    """The agent that the environment describes."""
    node = environment[contract.ENV_NODE]

    def tell(size: int | None) -> None:
        api.apply(path("nodes", node), node_labels(node, size), contract.FIELD_MANAGER)

    return Agent(Path(environment[contract.ENV_PATH]), tell)


def main() -> int:
    """Run until told to end."""
    agent, ending = make(os.environ, Api.in_cluster()), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    while not ending.is_set():
        agent.step()
        ending.wait(_LOOK_EVERY_SECONDS)
    agent.step(ending=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
