"""Arguments about storage: buckets, and what stacks keep by role. See ``args.py`` for what such dicts may hold."""

from typing import NotRequired, TypedDict


class BucketArgs(TypedDict):
    """One bucket, or a folder of it, and how it is reached."""

    kind: str
    """Protocol: ``s3`` (also of every S3-compatible store), ``gcs`` or ``azure``."""
    name: str
    """Name of the bucket, or of the container of Azure. It exists."""
    prefix: NotRequired[str]
    """Folder of the bucket. Default: all of it."""
    region: NotRequired[str]
    """Region of the bucket. Required for ``s3``."""
    endpoint: NotRequired[str]
    """URL of an S3-compatible store. Default: AWS's own for the region."""
    provider: NotRequired[str]
    """rclone's name of the maker of an S3-compatible store. Default: ``AWS``, with an endpoint ``Other``."""
    account: NotRequired[str]
    """Storage account. Required for ``azure``, which alone has one."""


class BucketAccessArgs(TypedDict):
    """With which program a bucket is mounted, and as whom it is reached."""

    rclone_image: NotRequired[str]
    """Image with rclone and fusermount3, pinned: a mirror of the table's. Default: the table's image."""
    namespace: NotRequired[str]
    """An existing namespace. Default: one of its own, ``gpufabric-<stack>-mount-<name>``; with a CSI driver ``default``."""
    credentials_secret: NotRequired[str]
    """Existing Secret of the namespace with the keys. Default: none, workload identity of the mount's service account."""
    service_account_annotations: NotRequired[dict[str, str]]
    """Annotations of the mount's service account, by which the cloud knows it. Default: none."""


class RoleArgs(TypedDict):
    """One role. Which keys apply follows from ``kind``; what does not apply is refused."""

    kind: NotRequired[str]
    """``auto`` (default): decided by what the stack has. Else ``bucket``, ``shared_filesystem`` or ``local_nvme``."""
    store: NotRequired[str]
    """Of a bucket: its key under ``stores``. Default: the model's bucket for checkpoints, else the only one."""
    filesystem: NotRequired[str]
    """Of a shared file system: its key under ``filesystems``. Default: the only one."""
    mode: NotRequired[str]
    """Of a bucket: ``MOUNT`` (straight) or ``MOUNT_CACHED`` (through the node's NVMe). Default: what suits the role."""
    driver: NotRequired[str]
    """Of ``MOUNT``: ``rclone``, ``gcsfuse`` (GKE) or ``mountpoint`` (EKS). Default: the CSI driver of a cluster that the stack
    makes, else ``rclone``."""
    path: NotRequired[str]
    """Folder in pods. Default: ``/data``, ``/models``, ``/checkpoints`` or ``/scratch``."""
    size_gib: NotRequired[int]
    """What the role holds, 1 to 100,000,000 GiB: for its cost, and whether it fits. Default: not known."""
    cache_gib: NotRequired[int]
    """Cache on each node, 1 to 100,000 GiB. Default: of ``MOUNT_CACHED`` an equal share of three quarters of the NVMe, of
    ``MOUNT`` none; with rclone it can have none."""


class CheckpointRoleArgs(RoleArgs):
    """Checkpoints: durable, and where models are loaded from."""

    checkpoint_gib: NotRequired[float]
    """What one node writes per checkpoint, above 0 and up to 100,000 GiB; a cache must hold two. Default: not known."""
    upload_mbytes_per_s: NotRequired[float]
    """Of ``MOUNT_CACHED``: rate of one node to the bucket, above 0 and up to 100,000 MB/s. Default: the published one."""
    drain_seconds: NotRequired[int]
    """Of ``MOUNT_CACHED``: how long an ending pod waits for uploads, 1 to 86,400 s. Default: half more than they take."""


class StorageArgs(TypedDict):
    """The roles. One that is left out is not planned."""

    dataset: NotRequired[RoleArgs]
    """Batches: read, small, random, again and again. Default: not planned."""
    model: NotRequired[RoleArgs]
    """Weights to start from: read, large, once. Default: not planned."""
    checkpoint: NotRequired[CheckpointRoleArgs]
    """Saves: written by all ranks at once, read on resume. Default: not planned."""
    scratch: NotRequired[RoleArgs]
    """What may be lost with its node. Default: not planned."""
    service_account: NotRequired[str]
    """Service account of jobs, in the namespace ``default``: with ``gcsfuse`` it reads the bucket. Default: ``default``."""


class OwnStoreArgs(BucketArgs, BucketAccessArgs):
    """One bucket that exists; roles of ``storage`` refer to it by its key under ``stores``."""


class NfsArgs(TypedDict):
    """A folder that an NFS server offers; every Kubernetes mounts it without a driver."""

    server: str
    """Host name or address of the server, as the nodes reach it."""
    path: str
    """The folder that it offers."""


class CsiVolumeArgs(TypedDict):
    """A volume that a CSI driver of the cluster mounts, such as a Lustre file system."""

    driver: str
    """Name of the driver, as the cluster has it."""
    handle: str
    """What the driver calls the volume; no other volume of the cluster has it."""
    attributes: NotRequired[dict[str, str]]
    """What else the driver is told, in its own words. Default: nothing."""


class OwnFilesystemArgs(TypedDict):
    """One shared file system that exists: its key is the name of a claim (ReadWriteMany) in the namespace of the jobs."""

    nfs: NotRequired[NfsArgs]
    """A folder of an NFS server: the stack makes the claim, in the namespace ``default``. Default: the claim exists."""
    csi: NotRequired[CsiVolumeArgs]
    """The same of a CSI driver that the cluster has. Default: the claim exists."""
    mount_options: NotRequired[list[str]]
    """Options of the mount, such as ``nconnect=16``. Default: none."""
    size_gib: NotRequired[int]
    """What it holds, 1 to 100,000,000 GiB: whether a role fits. Default: not known."""
