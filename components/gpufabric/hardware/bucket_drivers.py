"""Clouds' own CSI drivers for buckets: gcsfuse on GKE, Mountpoint for S3 on EKS."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, named_rows

RCLONE, GCSFUSE, MOUNTPOINT = "rclone", "gcsfuse", "mountpoint"
"""Who mounts a bucket. rclone, which is no CSI driver, has a table of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketDriver(Row):
    """One row of ``data/bucket_drivers.toml``, whose head says what each key means."""

    name: str
    csi_name: str
    bucket: str
    addon: str = ""
    addon_version: str = ""


@cache
def bucket_drivers() -> Mapping[str, BucketDriver]:
    """All drivers by name."""
    return named_rows(BucketDriver, "bucket_drivers.toml")
