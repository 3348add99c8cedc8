"""What a stack has to keep files in, and what was decided for each role."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpufabric.hardware.bucket_drivers import bucket_drivers
from gpufabric.hardware.storage import StorageBackend

if TYPE_CHECKING:
    from gpufabric.plan.mounts import CsiMountPlan, MountPlan  # which stacks without mounts need not load

DATASET, MODEL, CHECKPOINT, SCRATCH = ROLES = ("dataset", "model", "checkpoint", "scratch")
AUTO, BUCKET, FILESYSTEM, NVME = "auto", "bucket", "shared_filesystem", "local_nvme"
MOUNT, MOUNT_CACHED = "MOUNT", "MOUNT_CACHED"
CLAIM = "claim"
"""The product of a shared file system that exists: nothing is known of it but its claim."""
OFFERS: Mapping[str, str] = {
    BUCKET: "stores: {weights: {name: ...}}",
    FILESYSTEM: "filesystems: {data: {size_gib: ...}}",
    NVME: "disk_tier: best",
}
"""What a cloud's stack writes to have a kind of storage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFilesystem:
    """One file system. What is not known of one that exists is None. Rates are of the whole file system, GB/s (1e9 bytes)."""

    product: str
    size_gib: int | None = None
    read_gbytes_per_s: float | None = None
    write_gbytes_per_s: float | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class OwnDriver:
    """The cloud's CSI driver for buckets. ``unknown``: why it may not be there, then it has to be asked for by name.

    ``lacking``: why it cannot be there.
    """

    name: str
    unknown: str = ""
    lacking: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """One group of nodes. ``network_gbytes_per_s``: of one node; infinite where it is not known.

    ``nvme_gib``: its local disks together, 0 where it has none that pods may use; they are mounted at ``nvme_path``.
    ``scratch_path``: a folder of them for pods; empty where the kubelet's own folder lies on them. ``cache_path``: a folder for
    caches that is there once they are mounted, and is never made; empty where folders may be made at ``nvme_path``.
    """

    group: str
    selector: Mapping[str, str]
    nodes: int
    gpus: int
    network_gbytes_per_s: float
    nvme_gib: int
    nvme_path: str
    scratch_path: str = ""
    cache_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """All that a stack can keep files in. ``buckets``: what a mount is told of each bucket, by its key under ``stores``.

    ``access``: what else it is told there, to get in. ``offers``: what a stack of this cloud writes to have more, by kind.
    ``region`` is empty where there is none. ``driver``: None where the cloud has none.
    """

    cloud: str
    region: str
    buckets: Mapping[str, Mapping[str, Any]]
    filesystems: Mapping[str, SharedFilesystem]
    groups: tuple[Nodes, ...]
    access: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    offers: Mapping[str, str] = field(default_factory=lambda: OFFERS)
    driver: OwnDriver | None = None

    @property
    def all_have_nvme(self) -> bool:
        """Whether a pod finds local NVMe wherever it runs."""
        return all(each.nvme_gib for each in self.groups)


@dataclass(frozen=True, slots=True)
class Choice:
    """Where a role is kept. ``key``: under ``stores`` or ``filesystems``; empty on local NVMe. ``why``: one line.

    ``driver``: who mounts a bucket straight; empty else.
    """

    kind: str
    key: str
    mode: str
    why: str
    backend: StorageBackend
    driver: str = ""

    @property
    def by_csi(self) -> bool:
        """Whether the cluster's own driver mounts it."""
        return self.driver in bucket_drivers()

    @property
    def place(self) -> tuple[str, str]:
        """The store itself, however it is mounted."""
        return (self.kind, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnGroup:
    """A role as the nodes of one group see it; rates in GB/s, None: not known.

    ``mount_args``: args of the CachedMount or BucketMount that brings a bucket onto these nodes, and ``mount`` what they make;
    empty for what is no bucket. ``folder``: of local disks, what pods mount; empty: the kubelet's own folder is on them.
    ``largest_checkpoint_gib``: what fits the cache twice, and is uploaded before a pod must end; of a cached checkpoint alone.
    """

    group: str
    gpus: int
    read_gbytes_per_s: float | None
    write_gbytes_per_s: float | None
    source: str
    mount_args: Mapping[str, Any] = field(default_factory=dict)
    mount: "MountPlan | CsiMountPlan | None" = None
    folder: str = ""
    largest_checkpoint_gib: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePlan:
    """One role. ``usd_per_month`` None: not known, and ``cost_why`` says what is missing.

    ``reader``: service account of jobs, where they reach a bucket by their own identity; else empty.
    """

    role: str
    choice: Choice
    name: str
    path: str
    usd_per_month: float | None
    cost_why: str
    reader: Mapping[str, str]
    groups: tuple[OnGroup, ...]

    def on(self, group: str) -> OnGroup:
        """The role on the nodes of ``group``."""
        return next(each for each in self.groups if each.group == group)
