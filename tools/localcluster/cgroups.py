"""Control groups: each node's kubelet gets a root of its own, otherwise each would clean away the pods of the other.

Built and tested on control groups v1 (hybrid layout). The v2 branch does the same with the one tree that v2 has; it is UNTESTED
for want of such a machine.
"""

import os
from contextlib import suppress
from functools import partial
from pathlib import Path

from tools.errors import ToolError
from tools.localcluster.waits import wait_until

TOP = "gpufabric"
V2_TREE = Path("/sys/fs/cgroup")


def root(tag: str, machine: str) -> str:
    """A machine's control group as the kubelet's cgroupRoot says it."""
    return f"/{TOP}/{tag}/{machine}"


def make(tag: str, machine: str) -> None:
    """Make the machine's control group in every hierarchy."""
    trees = _mounted("cgroup")
    for tree in trees:
        path = tree / root(tag, machine).lstrip("/")
        path.mkdir(parents=True, exist_ok=True)
        if (tree / "cpuset.cpus").exists():
            _fill_cpuset(tree, path)
    if not trees:
        _make_v2(V2_TREE / root(tag, machine).lstrip("/"))


def remove(tag: str, machine: str | None = None) -> None:
    """Remove a machine's control groups, or the whole cluster's; the top goes with the last cluster."""
    for tree in _mounted("cgroup", "cgroup2"):  # runc leaves a group in the unified tree of a hybrid layout, too
        path = tree / TOP / tag / (machine or "")
        # A killed process leaves its group a moment after it is gone.
        wait_until(f"control group {path} to be empty", partial(_removed, path), timeout_seconds=10)
        if machine is None:
            _try_rmdir(tree / TOP)


def _mounted(*kinds: str) -> list[Path]:
    mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    return [Path(mount[1]) for mount in mounts if mount[2] in kinds]


def _fill_cpuset(tree: Path, path: Path) -> None:
    """A cpuset starts empty in v1 and then admits no process; each level takes its parent's."""
    level = tree
    for part in path.relative_to(tree).parts:
        level = level / part
        for file in ("cpuset.cpus", "cpuset.mems"):
            if not (level / file).read_text().strip():
                (level / file).write_text((level.parent / file).read_text())


def _make_v2(path: Path) -> None:
    """UNTESTED. Controllers have to be handed down level by level."""
    path.mkdir(parents=True, exist_ok=True)
    wanted = {"cpu", "cpuset", "memory", "pids", "io", "hugetlb"}
    for level in reversed([p for p in (path, *path.parents) if p.is_relative_to(V2_TREE)]):
        there = wanted & set((level / "cgroup.controllers").read_text().split())
        try:
            (level / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in sorted(there)))
        except OSError as error:
            raise ToolError(f"cannot hand down control group controllers at {level}: {error}") from error


def _removed(path: Path) -> bool:
    for folder, _, _ in os.walk(path, topdown=False):
        _try_rmdir(Path(folder))
    return not path.exists()


def _try_rmdir(path: Path) -> None:
    with suppress(OSError):
        path.rmdir()
