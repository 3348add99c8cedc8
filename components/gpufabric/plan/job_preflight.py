"""The look at a node before a job whose node nobody has validated: an init container of the pod profile."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from gpufabric.plan.fabric import GroupAccelerators, GroupFabric
from gpufabric.plan.images import unpinned
from gpufabric.spec import NodeGroupSpec, Problem

NAME = "gpufabric-preflight"


def preflight_problems(group: NodeGroupSpec, accelerators: GroupAccelerators, fabric: GroupFabric, path: str) -> list[Problem]:
    """What makes the look impossible."""
    if group.preflight is None:
        return []
    at = f"{path}.preflight"
    if not accelerators.count:
        return [Problem(at, f"it looks at GPUs; {path} has accelerators: cpu", "leave it out")]
    if group.scheduler is not None and group.scheduler.provisioning is None:
        reason = "the queue gives out validated nodes alone, and here nodes are made for each job"
        return [Problem(at, reason, "leave out scheduler, or preflight")]
    if not group.preflight.image and not fabric.table_image:
        reason = f"missing: no rank image is known for {fabric.name}"
        return [Problem(f"{at}.image", reason, "name an image with a shell and nvidia-smi, with its tag or digest")]
    return unpinned(f"{at}.image", group.preflight.image)


def preflight_container(
    group: NodeGroupSpec, accelerators: GroupAccelerators, fabric: GroupFabric, mounts: Mapping[str, str]
) -> Mapping[str, Any] | None:
    """The init container. Kubernetes gives its devices on to the job's container, and the pod's interfaces are its own, too."""
    if group.preflight is None:
        return None
    row = fabric.pod
    rails = [f"eth{row.first_interface + rail}" for rail in range(fabric.rails)] if row and not fabric.claims else []
    devices = 0 if fabric.claims else fabric.devices_per_node  # a claim's devices are the container's that names it
    return {
        "name": NAME,
        "image": group.preflight.image or fabric.table_image,
        "command": ["/bin/sh", "-c", script(), NAME, str(accelerators.count), str(devices), *rails],
        "resources": {"limits": {key: str(count) for key, count in accelerators.resources.items()}},
        **({"volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts.items()]} if mounts else {}),
    }


def script() -> str:
    """The shell program, in the command itself: a job's namespace holds nothing of ours to mount."""
    return (files("gpufabric.plan") / "job_preflight.sh").read_text("utf-8")
