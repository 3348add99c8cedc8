"""Arguments of stacks about storage by role. See ``args.py`` for what such dicts may hold."""

from typing import NotRequired, TypedDict


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
    path: NotRequired[str]
    """Folder in pods. Default: ``/data``, ``/models``, ``/checkpoints`` or ``/scratch``."""
    size_gib: NotRequired[int]
    """What the role holds, 1 to 100,000,000 GiB: for its cost, and whether it fits. Default: not known."""
    cache_gib: NotRequired[int]
    """Of ``MOUNT_CACHED``: cache on each node, 1 to 100,000 GiB. Default: an equal share of three quarters of the NVMe."""


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
