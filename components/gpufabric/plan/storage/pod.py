"""What a pod needs to reach files that are no bucket: a claim, or the node's own disks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufabric.plan.merge import Merge
from gpufabric.plan.profile import PodFiles
from gpufabric.plan.storage.model import FILESYSTEM, RolePlan


@dataclass(frozen=True, slots=True)
class PodVolume:
    """One volume and its folder in the container."""

    volume: Mapping[str, Any]
    path: str

    def merge_into(self, merge: Merge) -> None:
        """Add it to a pod that a merge is at."""
        merge.volume(self.volume, mount_path=self.path)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for stack outputs and users of other languages."""
        mount = {"name": self.volume["name"], "mountPath": self.path}
        return {"files": self.path, "volume": dict(self.volume), "volumeMount": mount}


def pod_files(plan: RolePlan, group: str) -> PodFiles:
    """The role's files in pods on nodes of ``group``."""
    mount = plan.on(group).mount
    if mount:
        return mount.pod
    name = f"role-{plan.role}"
    if plan.choice.kind == FILESYSTEM:
        return PodVolume({"name": name, "persistentVolumeClaim": {"claimName": plan.choice.key}}, plan.path)
    if folder := plan.on(group).folder:  # Directory: no pod fills the system's disk where this one is not mounted
        return PodVolume({"name": name, "hostPath": {"path": folder, "type": "Directory"}}, plan.path)
    return PodVolume({"name": name, "emptyDir": {}}, plan.path)  # the kubelet's folder is on the striped disks
