"""What this machine's clusters share: which indices are taken, and what on the host has to be put back after the last one."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tools.errors import ToolError
from tools.folders import locked, state_folder
from tools.localcluster.addresses import MAX_CLUSTERS, Addresses, free_index
from tools.localcluster.commands import run
from tools.localcluster.links import interfaces, routes

# The kubelet sets these for the whole machine, which is not its own here.
SYSCTLS = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops")

# Default folders of a node's programs; each node mounts its own over them, and a mount needs something to lie on.
MOUNT_POINTS = ("/var/lib/kubelet", "/var/lib/cni", "/var/lib/containerd", "/var/log")

NETNS = Path("/run/netns")


@dataclass
class Registry:
    """Contents of registry.json."""

    clusters: dict[str, int] = field(default_factory=dict)
    sysctls: dict[str, str] = field(default_factory=dict)
    made_folders: list[str] = field(default_factory=list)
    # The first `ip netns add` after a boot mounts its folder onto itself, and nothing ever undoes that.
    had_netns_mount: bool = True


@contextmanager
def _open() -> Iterator[Registry]:
    folder = state_folder()
    file = folder / "registry.json"
    with locked(folder):
        registry = Registry(**json.loads(file.read_text())) if file.exists() else Registry()
        yield registry
        unfinished = file.with_suffix(".new")
        unfinished.write_text(json.dumps(vars(registry), indent=1))
        unfinished.rename(file)
        if not registry.clusters:
            file.unlink()
            with suppress(OSError):  # not empty: something else of the user's lies there
                (folder / "clusters").rmdir()
            with suppress(OSError):
                folder.rmdir()


def known_index(name: str) -> int | None:
    """The index a cluster holds, if it is registered."""
    file = state_folder() / "registry.json"
    if not file.exists():
        return None
    index = json.loads(file.read_text())["clusters"].get(name)
    return None if index is None else int(index)


def enter(name: str) -> Addresses:
    """Register a cluster (or find it registered), and note the host's settings before the first one changes them."""
    with _open() as registry:
        if not registry.clusters:
            registry.had_netns_mount = _is_mounted(NETNS)
            registry.sysctls = {key: Path(f"/proc/sys/{key}").read_text().strip() for key in SYSCTLS}
        if name not in registry.clusters:
            index = free_index(registry.clusters.values(), interfaces(), routes())
            if index is None:
                raise ToolError(
                    f"no free address range: all {MAX_CLUSTERS} are held by clusters or overlap a route of this machine"
                )
            registry.clusters[name] = index
        for folder in map(Path, MOUNT_POINTS):
            if not folder.exists():
                folder.mkdir(parents=True)
                registry.made_folders.append(str(folder))
        return Addresses(registry.clusters[name])


def leave(name: str) -> None:
    """Give the index back; with the last cluster, put the host's settings back."""
    with _open() as registry:
        registry.clusters.pop(name, None)
        if registry.clusters:
            return
        for key, value in registry.sysctls.items():
            Path(f"/proc/sys/{key}").write_text(value)
        for folder in registry.made_folders:
            with suppress(OSError):  # in use by something else meanwhile
                Path(folder).rmdir()
        registry.made_folders = []
        if not registry.had_netns_mount and _is_mounted(NETNS) and not any(NETNS.iterdir()):
            run("umount", str(NETNS))
            NETNS.rmdir()


def _is_mounted(folder: Path) -> bool:
    """By the kernel's table: Path.is_mount cannot tell when both sides lie on one file system."""
    return any(line.split()[4] == str(folder) for line in Path("/proc/self/mountinfo").read_text().splitlines())
