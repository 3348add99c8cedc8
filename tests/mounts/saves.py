"""Saves through each mode at several bandwidths of the server, in one run: what ``make bench`` prints and the tests assert."""

import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mounts.node import MIB, Node, cached_plan, plain_plan, running, save, sum_of

MODES = ("local disk", "MOUNT_CACHED", "MOUNT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """One save: seconds until the program had closed its file, and until the file was in the bucket; None: never there."""

    mode: str
    mbytes_per_s: int
    size: int
    close_s: float
    durable_s: float | None
    equal: bool


def saves(folder: Path, size: int, bandwidths: tuple[int, ...]) -> Iterator[Save]:
    """Every mode at every bandwidth (MB/s; 0: unlimited), a file of ``size`` bytes each."""
    for mode, plan in (("MOUNT_CACHED", cached_plan()), ("MOUNT", plain_plan())):
        disk = folder / mode.lower()
        disk.mkdir()
        with running(Node(disk, plan)) as node:
            for bandwidth in bandwidths:
                node.limit(bandwidth)
                if mode == "MOUNT_CACHED":
                    yield _timed(Attempt("local disk", bandwidth, size), disk / f"local-{bandwidth}.pt", None)
                yield _timed(Attempt(mode, bandwidth, size), node.files / f"model-{bandwidth}.pt", node)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is about to be saved."""

    mode: str
    mbytes_per_s: int
    size: int


def _timed(what: Attempt, path: Path, node: Node | None) -> Save:
    wanted = sum_of(what.size, seed=what.mbytes_per_s)
    started = time.monotonic()
    save(path, what.size, seed=what.mbytes_per_s)
    closed = time.monotonic() - started
    equal = _durable(node, path.name, wanted) if node else True
    ended = time.monotonic() - started
    return Save(
        mode=what.mode,
        mbytes_per_s=what.mbytes_per_s,
        size=what.size,
        close_s=closed,
        durable_s=ended if node else None,
        equal=equal,
    )


def _durable(node: Node, name: str, wanted: str) -> bool:
    """The barrier where there is one; then what is really in the bucket."""
    if node.plan.pod.flush:
        done = node.flush(timeout_s=600)
        assert done.returncode == 0, done.stderr
    return node.in_bucket().get(name) == wanted


def table(found: list[Save]) -> str:
    """A line per save; ratios are to MOUNT_CACHED of the same bandwidth."""
    cached = {each.mbytes_per_s: each.close_s for each in found if each.mode == "MOUNT_CACHED"}
    lines = [f"{'mode':14}{'server':>12}{'size':>10}{'close':>10}{'in bucket':>12}{'close / MOUNT_CACHED':>22}"]
    for each in sorted(found, key=lambda save: (-save.mbytes_per_s or -(10**9), MODES.index(save.mode))):
        server = f"{each.mbytes_per_s} MB/s" if each.mbytes_per_s else "unlimited"
        durable = "never" if each.durable_s is None else f"{each.durable_s:.2f} s"
        ratio = f"{each.close_s / cached[each.mbytes_per_s]:.2f}"
        lines.append(f"{each.mode:14}{server:>12}{each.size // MIB:>6} MiB{each.close_s:>8.2f} s{durable:>12}{ratio:>22}")
    return "\n".join(lines)


def main() -> int:
    """Print the table of one run: ``python3 -m tests.mounts.saves [MIB]``; ``make bench`` does."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    with tempfile.TemporaryDirectory() as folder:
        found = list(saves(Path(folder), size * MIB, (25, 50, 100)))
    print(table(found), flush=True)
    if all(each.equal for each in found):
        return 0
    print("a file in the bucket is not what was written", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
