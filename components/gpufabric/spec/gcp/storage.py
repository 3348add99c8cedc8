"""Wishes about storage on Google Cloud: buckets, and shared file systems (Managed Lustre, Filestore)."""

from typing import Annotated, Literal

from pydantic import Field

from gpufabric.spec.base import WholeNumber, Wish, matching
from gpufabric.spec.cloud.storage import Name, ServiceAccountRef
from gpufabric.spec.gcp.ids import BucketName, ProjectId, Region, Zone
from gpufabric.spec.gcp.labels import Labels

InstanceName = Annotated[
    str, matching(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", "the name of an instance (1 to 63 of a-z, 0-9 and -)", "training-data")
]


class GcpStoreSpec(Wish):
    """One bucket; roles of ``storage`` refer to it by its key under ``stores``."""

    name: BucketName
    """Name of the bucket, unique in the world: 3 to 63 of ``a-z``, ``0-9``, ``-``, ``_``."""
    existing: bool = False
    """Use the bucket as it is and change nothing of it but who may reach it. Default: it is made, in the region."""
    hierarchical_namespace: bool = True
    """Real folders that are renamed at once, as checkpoints are. Only when it is made."""
    protect: bool = True
    """Keep the bucket when it leaves the program or the stack is destroyed."""


class GcsBucketWish(GcpStoreSpec):
    """What one bucket component is asked for."""

    project: ProjectId
    """Project of the bucket and of the cluster."""
    region: Region | None = None
    """Region of the bucket. Required, unless it exists."""
    access: Literal["read", "write"] = "write"
    """What pods may do: ``read``, or ``write`` (read, write and delete objects)."""
    service_accounts: list[ServiceAccountRef] = Field(default_factory=list)
    """Service accounts of the project's clusters whose pods may reach the bucket."""
    readers: list[ServiceAccountRef] = Field(default_factory=list)
    """Service accounts whose pods may read the bucket, whatever ``access`` says."""
    soft_delete_days: Annotated[WholeNumber, Field(ge=0, le=90)] = 7
    """For how many days a deleted or overwritten object can be restored, 7 to 90, or 0 for none."""
    dangling_upload_days: Annotated[WholeNumber, Field(ge=1, le=365)] = 7
    """After how many days an upload that was never finished is removed, 1 to 365."""
    tags: Labels = Field(default_factory=dict)
    """Labels of everything that is made."""


class GcpFilesystemSpec(Wish):
    """One shared file system."""

    kind: Literal["lustre", "filestore"] = "lustre"
    """``lustre``: Managed Lustre, in the zone. ``filestore``: NFS."""
    size_gib: Annotated[WholeNumber, Field(ge=1, le=100_000_000)] | None = None
    """Capacity in GiB on Google's grid (an error offers the nearest two). Required, unless one exists."""
    throughput_mbytes_per_s_per_tib: Annotated[WholeNumber, Field(ge=1, le=1000)] | None = None
    """Of Lustre: throughput per TiB, MB/s: 125, 250, 500 or 1,000. Default 250. It cannot be changed later."""
    tier: Literal["zonal", "regional", "basic_ssd"] | None = None
    """Of Filestore. Default ``zonal``."""
    existing: InstanceName | None = None
    """Name of an instance that exists and that the nodes can reach, instead of size, throughput and tier of one."""
    protect: bool = True
    """Refuse to delete the file system."""


class _FilesystemWish(Wish):
    """What both kinds of file systems are asked for as components."""

    project: ProjectId
    """Project of the file system."""
    zone: Zone
    """Zone of the GPU nodes, where the file system stands too."""
    size_gib: Annotated[WholeNumber, Field(ge=1, le=100_000_000)] | None = None
    """Capacity in GiB on Google's grid (an error offers the nearest two). Required, unless one exists."""
    existing: InstanceName | None = None
    """Name of an instance that exists and that the nodes can reach, instead of the keys that shape one."""
    claim: Name = "shared"
    """Name of the PersistentVolumeClaim that pods mount."""
    namespace: Name = "default"
    """Namespace of the claim; it exists."""
    protect: bool = True
    """Refuse to delete the file system."""
    tags: Labels = Field(default_factory=dict)
    """Labels of everything that is made."""


class ManagedLustreWish(_FilesystemWish):
    """What one Managed Lustre component is asked for."""

    throughput_mbytes_per_s_per_tib: Annotated[WholeNumber, Field(ge=1, le=1000)] = 250
    """Throughput per TiB, MB/s: 125, 250, 500 or 1,000. It cannot be changed later."""


class FilestoreWish(_FilesystemWish):
    """What one Filestore component is asked for."""

    tier: Literal["zonal", "regional", "basic_ssd"] = "zonal"
    """``zonal``: fast, in one zone. ``regional``: over three zones. ``basic_ssd``: small and simple."""
