"""The memory test before every job: an init container of the pod profile that uses the same GPUs as the job."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from gpufabric.hardware import memtest_levels
from gpufabric.plan.fabric import GroupAccelerators
from gpufabric.plan.images import unpinned
from gpufabric.spec import NodeGroupSpec, Problem

NAME = "gpufabric-memtest"


def memtest_problems(group: NodeGroupSpec, accelerators: GroupAccelerators, path: str) -> list[Problem]:
    """What makes the test impossible, or worth nothing."""
    if group.memtest is None:
        return []
    if not accelerators.count:
        return [Problem(f"{path}.memtest", f"it tests the memory of GPUs; {path} has accelerators: cpu", "leave it out")]
    if accelerators.accelerator.pod_resource != "nvidia.com/gpu":
        return [Problem(f"{path}.memtest", "dcgmi tests GPUs of NVIDIA", "leave it out")]
    return unpinned(f"{path}.memtest.image", group.memtest.image)


def memtest_container(group: NodeGroupSpec, accelerators: GroupAccelerators) -> Mapping[str, Any] | None:
    """The init container. Kubernetes gives an init container's devices on to the job's container: nothing is asked twice."""
    if group.memtest is None:
        return None
    level = memtest_levels()[group.memtest.level]
    return {
        "name": NAME,
        "image": group.memtest.image,
        "command": ["/bin/sh", "-c", script(), NAME, str(level.dcgm_level), level.row],
        "resources": {"limits": {key: str(count) for key, count in accelerators.resources.items()}},
    }


def script() -> str:
    """The shell program, in the command itself: a job's namespace holds nothing of ours to mount."""
    return (files("gpufabric.plan") / "memtest.sh").read_text("utf-8")
