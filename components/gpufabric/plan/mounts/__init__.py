"""Mounted buckets: what runs on the nodes, what a pod needs, and what keeps files that are nowhere else from being given up."""

from gpufabric.plan.mounts.csi import CsiMountPlan
from gpufabric.plan.mounts.model import BucketMountPlan, CachedMountPlan, MountPlan
from gpufabric.plan.mounts.pod import PodClaimed, PodFolder, PodMount
from gpufabric.plan.mounts.resolve import resolve_bucket_mount, resolve_cached_mount

__all__ = [
    "BucketMountPlan",
    "CachedMountPlan",
    "CsiMountPlan",
    "MountPlan",
    "PodClaimed",
    "PodFolder",
    "PodMount",
    "resolve_bucket_mount",
    "resolve_cached_mount",
]
