"""What a pod needs to use a mount: the folder or the claim, and for a cached one the barrier at its end."""

from abc import ABC, abstractmethod
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
class PodFolder(ABC):
    """``files`` is where the bucket is, in a pod: the same folder whoever mounts it."""

    mount: str
    path: str

    @property
    def files(self) -> str:
        return f"{self.path}/{contract.FILES}"

    def apply_to(self, spec: Mapping[str, Any], *, container: str | None = None) -> dict[str, Any]:
        """A copy of ``spec`` with this mount merged in, as :meth:`PodProfile.apply_to`, and raises as it does."""
        merge = Merge.of(spec, container)
        self.merge_into(merge)
        return merge.result

    @abstractmethod
    def merge_into(self, merge: Merge) -> None:
        """Add it to a pod that a merge is at."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data for stack outputs and users of other languages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodClaimed(PodFolder):
    """A claim in the pod's own namespace. Nothing has to be waited for at its end: what was closed is in the bucket.

    ``annotations``: of the pod, which the driver asks for.
    """

    claim: str
    read_only: bool
    annotations: Mapping[str, str]

    @property
    def volume(self) -> Mapping[str, Any]:
        return {"name": f"mount-{self.mount}", "persistentVolumeClaim": {"claimName": self.claim, **self._how}}

    @property
    def _how(self) -> Mapping[str, Any]:
        return {"readOnly": True} if self.read_only else {}

    def merge_into(self, merge: Merge) -> None:
        """Add it to a pod that a merge is at."""
        merge.annotations(self.annotations)
        merge.volume(self.volume, mount_path=self.files, **self._how)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for stack outputs and users of other languages."""
        asked = {"podAnnotations": dict(self.annotations)} if self.annotations else {}
        mount = {"name": self.volume["name"], "mountPath": self.files, **self._how}
        return {"files": self.files, "volume": dict(self.volume), "volumeMount": mount, **asked}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodMount(PodFolder):
    """A folder of the node. ``drain_seconds`` 0: nothing has to be waited for.

    Kubernetes runs a preStop only when a pod is ended from outside; a job that must not succeed before its last save is in the
    bucket calls ``flush`` itself. Uploads go on after a pod's end either way.
    """

    drain_seconds: int = 0

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
