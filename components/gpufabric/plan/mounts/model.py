"""What a mount is, once decided."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufabric.plan.mounts.pod import PodMount


@dataclass(frozen=True, slots=True, kw_only=True)
class MountPlan:
    """One bucket on every node of a group: the objects of its namespace, and what pods need.

    ``own_namespace``: it is made, and goes with the mount. ``object_name`` is that of the DaemonSet, its account and its
    ConfigMap. ``role_rules`` is empty where the mount has nothing to report.
    """

    mount: str
    namespace: str
    own_namespace: bool
    object_name: str
    service_account_annotations: Mapping[str, str]
    files: Mapping[str, str]
    daemon_set_annotations: Mapping[str, str]
    daemon_set_spec: Mapping[str, Any]
    role_rules: tuple[Mapping[str, Any], ...]
    pod: PodMount

    @property
    def account(self) -> Mapping[str, str]:
        """The service account that reaches the bucket."""
        return {"namespace": self.namespace, "name": self.object_name}


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedMountPlan(MountPlan):
    """With a cache. ``guard`` and ``guard_binding``: no removal while a node holds files that are nowhere else."""

    guard_name: str
    guard: Mapping[str, Any]
    guard_binding: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketMountPlan(MountPlan):
    """Without a cache: what a program has closed is in the bucket."""
