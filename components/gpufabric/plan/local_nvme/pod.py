"""What a pod needs to use the disks of its node."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufabric.local_nvme import contract
from gpufabric.plan.merge import Merge

_VOLUME = "local-nvme"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodScratch:
    """``node_path``: where the file system is on the node. ``path``: where a pod sees its ``scratch``."""

    node_path: str
    path: str

    @property
    def volume(self) -> Mapping[str, Any]:
        """``Directory``: a pod waits while the file system is not mounted, and never writes to the node's root disk."""
        return {"name": _VOLUME, "hostPath": {"path": f"{self.node_path}/{contract.SCRATCH}", "type": "Directory"}}

    def apply_to(self, spec: Mapping[str, Any], *, container: str | None = None) -> dict[str, Any]:
        """A copy of ``spec`` with the folder merged in, as :meth:`PodProfile.apply_to`, and raises as it does."""
        merge = Merge.of(spec, container)
        self.merge_into(merge)
        return merge.result

    def merge_into(self, merge: Merge) -> None:
        """Add it to a pod that a merge is at."""
        merge.volume(self.volume, mount_path=self.path)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for stack outputs and users of other languages."""
        mount = {"name": _VOLUME, "mountPath": self.path}
        return {"files": self.path, "volume": dict(self.volume), "volumeMount": mount}
