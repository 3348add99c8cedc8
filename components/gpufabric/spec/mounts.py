"""Wishes about one bucket, mounted on every node of a group."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gpufabric.spec.base import Namespace, WholeNumber, Wish, matching, name_part
from gpufabric.spec.node_group import Image, Selector
from gpufabric.spec.paths import NodePath, PodPath
from gpufabric.spec.problems import shown

# The mount's name stands in the name of the DaemonSet, its pods and the reports of its nodes.
NAME_LETTERS = 30
_BUCKET = r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]"
_PREFIX = re.compile(r"[A-Za-z0-9!_.*'()=-]+(/[A-Za-z0-9!_.*'()=-]+)*")


def _prefix(value: str) -> str:
    if value and (not _PREFIX.fullmatch(value) or ".." in value.split("/")):
        raise ValueError(f"{shown(value)} is not a folder of a bucket; write for example runs/llama, without a / at its ends")
    return value


MountName = Annotated[str, name_part(NAME_LETTERS)]
Seconds = Annotated[WholeNumber, Field(ge=0, le=86_400)]
Text = Annotated[str, matching(r"[!-~]{1,200}", "a word without blanks", "eu-central-1")]


class BucketSpec(Wish):
    """One bucket, or a folder of it, and how it is reached."""

    kind: Literal["s3", "gcs", "azure"]
    """Protocol: ``s3`` (also of every S3-compatible store), ``gcs`` or ``azure``."""
    name: Annotated[str, matching(_BUCKET, "the name of a bucket", "acme-weights")]
    """Name of the bucket, or of the container of Azure. It exists."""
    prefix: Annotated[str, AfterValidator(_prefix)] = ""
    """Folder of the bucket. Default: all of it."""
    region: Text | None = None
    """Region of the bucket. Required for ``s3``."""
    endpoint: Annotated[str, matching(r"https?://[!-~]{3,200}", "a URL", "https://s3.example.com")] | None = None
    """URL of an S3-compatible store. Default: AWS's own for the region."""
    provider: Annotated[str, matching(r"[A-Za-z0-9]{1,30}", "rclone's name of a provider", "Ceph")] | None = None
    """rclone's name of the maker of an S3-compatible store. Default: ``AWS``, with an endpoint ``Other``."""
    account: Annotated[str, matching(r"[a-z0-9]{3,24}", "a storage account", "acmeweights")] | None = None
    """Storage account. Required for ``azure``, which alone has one."""


class BucketAccess(Wish):
    """With which program a bucket is mounted, and as whom it is reached."""

    rclone_image: Image | None = None
    """Image with rclone and fusermount3, pinned: a mirror of the table's. Default: the table's image."""
    namespace: Namespace | None = None
    """An existing namespace. Default: one of its own, ``gpufabric-<stack>-mount-<name>``; with a CSI driver ``default``."""
    credentials_secret: (
        Annotated[str, matching(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", "a Secret's name", "bucket")] | None
    ) = None
    """Existing Secret of the namespace with the keys. Default: none, workload identity of the mount's service account."""
    service_account_annotations: dict[str, str] = Field(default_factory=dict)
    """Annotations of the mount's service account, by which the cloud knows it."""


class MountSpec(BucketAccess):
    """What every mount of a bucket is asked for."""

    name: MountName
    """Name of the mount, 1 to 30 of ``a-z``, ``0-9``, ``-``: of its folder on the nodes, and in metrics."""
    bucket: BucketSpec
    """What is mounted."""
    path: PodPath
    """Folder of pods in which the mount appears; the bucket's files are in ``<path>/files``."""
    node_selector: Selector | None = None
    """Labels of the nodes on which rclone mounts it. Required, unless a CSI driver does: then it is where a job's pods are."""
    image: Image | None = None
    """Image with Python 3.11 for the agent beside rclone, pinned; the gate's own image will do. Required with rclone."""
    read_only: bool | None = None
    """Pods cannot write. Default: the preset's; with a CSI driver true."""
    read_chunk_mib: Annotated[WholeNumber, Field(ge=1, le=1024)] | None = None
    """What one request asks of the bucket, 1 to 1,024 MiB. Default: the preset's."""
    read_streams: Annotated[WholeNumber, Field(ge=0, le=64)] | None = None
    """Requests of one file at once, 0 to 64. Default: the preset's."""
    upload_chunk_mib: Annotated[WholeNumber, Field(ge=5, le=1024)] | None = None
    """Part of a multipart upload, 5 to 1,024 MiB. Default: the preset's."""
    upload_concurrency: Annotated[WholeNumber, Field(ge=1, le=64)] | None = None
    """Parts of one file at once, 1 to 64. Default: the preset's."""
    dir_cache_s: Seconds | None = None
    """How long a listing is believed, seconds: another node's files show after that. Default: the preset's."""


class CachedMountSpec(MountSpec):
    """A bucket behind a cache on the node's disk (MOUNT_CACHED)."""

    preset: Literal["checkpoint", "dataset"] = "checkpoint"
    """What it is used for: ``checkpoint`` (written and read whole) or ``dataset`` (read in pieces, read-only)."""
    cache_path: NodePath
    """Folder of the node's local NVMe that holds the cache; each mount has one of its own below it."""
    cache_must_exist: bool = False
    """The folder is never made: the mount waits for it, as for ``cache`` of ``LocalNvme``. Default: false."""
    cache_gib: Annotated[WholeNumber, Field(ge=1, le=100_000)]
    """Size that the cache keeps to, 1 to 100,000 GiB. Files that are not uploaded yet are never given up for it."""
    checkpoint_gib: Annotated[float, Field(gt=0, le=100_000)] | None = None
    """What one node writes per checkpoint, above 0 and up to 100,000 GiB; the cache must hold two. Default: not known."""
    upload_mbytes_per_s: Annotated[float, Field(gt=0, le=100_000)] | None = None
    """Rate of one node to the bucket, measured, above 0 and up to 100,000 MB/s: a drain must fit. Default: not known."""
    drain_seconds: Annotated[WholeNumber, Field(ge=1, le=86_400)] = 600
    """How long an ending pod, or the mount itself, waits for its uploads, seconds, 1 to 86,400."""
    transfers: Annotated[WholeNumber, Field(ge=1, le=64)] | None = None
    """Files uploaded at once, 1 to 64; 1 keeps their order. Default: the preset's."""
    write_back_s: Seconds | None = None
    """Rest between the last close of a file and its upload, seconds. Default: the preset's."""


class BucketMountSpec(MountSpec):
    """A bucket without a cache (MOUNT)."""

    purpose: Literal["model", "dataset", "checkpoint"] = "model"
    """What it is used for. ``checkpoint`` is refused: without a cache no file can be changed or appended to."""
    driver: Literal["rclone", "gcsfuse", "mountpoint"] = "rclone"
    """Who mounts it: ``rclone`` on every node, or the cluster's CSI driver, by a claim in each job's pod: ``gcsfuse`` (GKE,
    a ``gcs`` bucket; the pod's service account must reach it) or ``mountpoint`` (EKS, an ``s3`` bucket of AWS; the driver's
    role must)."""
    cache_gib: Annotated[WholeNumber, Field(ge=1, le=100_000)] | None = None
    """Of a CSI driver: what it keeps of what was read, on the node's disk for each pod, 1 to 100,000 GiB. Default: nothing."""
