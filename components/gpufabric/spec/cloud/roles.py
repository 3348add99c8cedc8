"""Storage by role: what training reads and writes, and where it is to be kept."""

from typing import Annotated, Literal

from pydantic import Field

from gpufabric.spec.base import WholeNumber, Wish
from gpufabric.spec.cloud.storage import Name, StoreKey
from gpufabric.spec.paths import PodPath


class RoleSpec(Wish):
    """One role. Which keys apply follows from ``kind``; what does not apply is refused."""

    kind: Literal["auto", "bucket", "shared_filesystem", "local_nvme"] = "auto"
    """``auto``: decided by what the stack has; ``gpufabric explain`` says why. Else where the role's files are kept."""
    store: StoreKey | None = None
    """Of a bucket: its key under ``stores``. Default: the model's bucket for checkpoints, else the only one."""
    filesystem: Name | None = None
    """Of a shared file system: its key under ``filesystems``. Default: the only one."""
    mode: Literal["MOUNT", "MOUNT_CACHED"] | None = None
    """Of a bucket: ``MOUNT`` (straight) or ``MOUNT_CACHED`` (through the node's NVMe). Default: what suits the role."""
    driver: Literal["rclone", "gcsfuse", "mountpoint"] | None = None
    """Of ``MOUNT``: who mounts the bucket. Default: the CSI driver of a cluster that the stack makes, ``gcsfuse`` on GKE and
    ``mountpoint`` on EKS; else ``rclone``."""
    path: PodPath | None = None
    """Folder in pods. Default: ``/data``, ``/models``, ``/checkpoints`` or ``/scratch``."""
    size_gib: Annotated[WholeNumber, Field(ge=1, le=100_000_000)] | None = None
    """What the role holds, 1 to 100,000,000 GiB: for its cost, and whether it fits. Default: not known."""
    cache_gib: Annotated[WholeNumber, Field(ge=1, le=100_000)] | None = None
    """Cache on each node, 1 to 100,000 GiB. Default: of ``MOUNT_CACHED`` an equal share of three quarters of the NVMe, of
    ``MOUNT`` none; with rclone it can have none."""


class CheckpointRoleSpec(RoleSpec):
    """Checkpoints: durable, and where models are loaded from."""

    checkpoint_gib: Annotated[float, Field(gt=0, le=100_000)] | None = None
    """What one node writes per checkpoint, above 0 and up to 100,000 GiB; a cache must hold two. Default: not known."""
    upload_mbytes_per_s: Annotated[float, Field(gt=0, le=100_000)] | None = None
    """Of ``MOUNT_CACHED``: rate of one node to the bucket, above 0 and up to 100,000 MB/s. Default: the published one."""
    drain_seconds: Annotated[WholeNumber, Field(ge=1, le=86_400)] | None = None
    """Of ``MOUNT_CACHED``: how long an ending pod waits for uploads, 1 to 86,400 s. Default: half more than they take."""


class StorageSpec(Wish):
    """The roles. One that is left out is not planned."""

    dataset: RoleSpec | None = None
    """Batches: read, small, random, again and again. Default: not planned."""
    model: RoleSpec | None = None
    """Weights to start from: read, large, once. Default: not planned."""
    checkpoint: CheckpointRoleSpec | None = None
    """Saves: written by all ranks at once, read on resume. Default: not planned."""
    scratch: RoleSpec | None = None
    """What may be lost with its node. Default: not planned."""
    service_account: Name = "default"
    """Service account of jobs, in the namespace ``default``: with ``gcsfuse`` it reads the bucket."""
