"""Wishes about storage on AWS: buckets, and one Lustre file system."""

from typing import Annotated, Literal

from pydantic import Field

from gpufabric.spec.aws.ids import BucketName, FileSystemId
from gpufabric.spec.aws.tags import Tags
from gpufabric.spec.base import WholeNumber, Wish
from gpufabric.spec.cloud.storage import Name, ServiceAccountRef


class AwsStoreSpec(Wish):
    """One bucket; roles of ``storage`` refer to it by its key under ``stores``."""

    name: BucketName
    """Name of the bucket, unique in the world: 3 to 63 of ``a-z``, ``0-9``, ``-``."""
    existing: bool = False
    """Use the bucket as it is, in this region, and change nothing of it. Default: it is made."""
    protect: bool = True
    """Keep the bucket when it leaves the program or the stack is destroyed."""


class S3BucketWish(AwsStoreSpec):
    """What one bucket component is asked for."""

    access: Literal["read", "write"] = "write"
    """What pods may do: ``read``, or ``write`` (read, write and delete objects)."""
    service_accounts: list[ServiceAccountRef] = Field(default_factory=list)
    """Service accounts of the cluster whose pods may reach the bucket."""
    dangling_upload_days: Annotated[WholeNumber, Field(ge=1, le=365)] = 7
    """After how many days an upload that was never finished is removed, 1 to 365."""
    old_version_days: Annotated[WholeNumber, Field(ge=1, le=3650)] = 30
    """After how many days an overwritten or deleted version of an object is removed, 1 to 3,650."""
    tags: Tags = Field(default_factory=dict)
    """Tags of everything that is made."""


class MountpointDriverWish(Wish):
    """What the driver of Mountpoint for S3 is asked for."""

    access: Literal["read", "write"] = "read"
    """What it may do with the buckets: ``read``, or ``write`` (read, write and delete objects)."""
    tags: Tags = Field(default_factory=dict)
    """Tags of everything that is made."""


class AwsFilesystemSpec(Wish):
    """A Lustre file system, PERSISTENT_2 on SSD."""

    size_gib: Annotated[WholeNumber, Field(ge=1, le=10_000_000)] | None = None
    """Capacity, 1 to 10,000,000 GiB on AWS's grid (an error offers the nearest two). Required, unless one exists."""
    throughput_mbytes_per_s_per_tib: Annotated[WholeNumber, Field(ge=1, le=1000)] = 250
    """Throughput per TiB, MB/s: 125, 250, 500 or 1,000."""
    efa: bool = True
    """Lustre over EFA: the full rate of EFA nodes. Only when it is made; the capacity steps are larger."""
    metadata_ops_per_s: Annotated[WholeNumber, Field(ge=1, le=192_000)] | None = None
    """Metadata operations per second to pay for, 1,500 to 192,000. Default: what AWS derives from the capacity."""
    existing: FileSystemId | None = None
    """A file system that exists, instead of all the keys above."""
    protect: bool = True
    """Refuse to delete the file system."""


class FsxLustreWish(AwsFilesystemSpec):
    """What one file system component is asked for."""

    claim: Name = "shared"
    """Name of the PersistentVolumeClaim that pods mount."""
    namespace: Name = "default"
    """Namespace of the claim; it exists."""
    driver: bool = True
    """Install the CSI driver's add-on. ``false`` where the cluster has it."""
    tags: Tags = Field(default_factory=dict)
    """Tags of everything that is made."""
