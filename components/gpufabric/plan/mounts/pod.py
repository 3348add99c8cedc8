"""What a pod needs to use a mount: the folder, and for a cached one the barrier at its end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufabric.mounts import contract
from gpufabric.plan.merge import Merge

_AFTER_BARRIER_S = 30
"""What the containers themselves have to end after the barrier, seconds; Kubernetes' own default."""

# Read-only is the folder, not the bucket below it: nothing can be written where the bucket is missing.
_HOW: Mapping[str, Any] = {"mountPropagation": "HostToContainer", "readOnly": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodMount:
    """``files`` is where the bucket is, in a pod. ``drain_seconds`` 0: nothing has to be waited for."""

    mount: str
    path: str
    drain_seconds: int = 0

    @property
    def files(self) -> str:
        return f"{self.path}/{contract.FILES}"

    @property
    def flush(self) -> tuple[str, ...]:
        """The barrier, as a job calls it after a save that must be in the bucket; empty where close is enough."""
        return ("/bin/sh", f"{self.path}/{contract.FLUSH}") if self.drain_seconds else ()

    @property
    def volume(self) -> Mapping[str, Any]:
        """``Directory``: a pod waits on a node whose bucket was not mounted since its boot."""
        host = contract.folder(contract.HOST_ROOT, self.mount)
        return {"name": f"mount-{self.mount}", "hostPath": {"path": host, "type": "Directory"}}

    @property
    def pre_stop(self) -> Mapping[str, Any] | None:
        if not self.drain_seconds:
            return None
        return {"exec": {"command": [*self.flush, "--timeout", str(self.drain_seconds)]}}

    @property
    def grace_seconds(self) -> int:
        """The pod's terminationGracePeriodSeconds, at least; 0: as it is."""
        return self.drain_seconds + _AFTER_BARRIER_S if self.drain_seconds else 0

    def apply_to(self, spec: Mapping[str, Any], *, container: str | None = None) -> dict[str, Any]:
        """A copy of ``spec`` with this mount merged in, as :meth:`PodProfile.apply_to`, and raises as it does.

        Kubernetes runs a preStop only when a pod is ended from outside; a job that must not succeed before its last save is
        in the bucket calls ``flush`` itself. Uploads go on after a pod's end either way.
        """
        merge = Merge.of(spec, container)
        self.merge_into(merge)
        return merge.result

    def merge_into(self, merge: Merge) -> None:
        """Add it to a pod that a merge is at."""
        merge.volume(self.volume, mount_path=self.path, **_HOW)
        if self.pre_stop:
            merge.pre_stop(self.pre_stop)
            merge.grace_seconds(self.grace_seconds)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for stack outputs and users of other languages."""
        return {
            "files": self.files,
            "flush": list(self.flush),
            "volume": dict(self.volume),
            "volumeMount": {"name": self.volume["name"], "mountPath": self.path, **_HOW},
            "terminationGracePeriodSeconds": self.grace_seconds or None,
            "preStop": self.pre_stop,
        }
