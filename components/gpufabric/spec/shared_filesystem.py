"""Wishes about a shared file system that a server of one's own offers."""

from typing import Annotated

from pydantic import Field

from gpufabric.spec.base import WholeNumber, Wish, matching
from gpufabric.spec.cloud.storage import Name

_OPTION = r"[A-Za-z0-9_.:=/-]{1,200}"
Option = Annotated[str, matching(_OPTION, "one option of mount", "nconnect=16")]


class NfsSpec(Wish):
    """A folder that an NFS server offers; every Kubernetes mounts it without a driver."""

    server: Annotated[str, matching(r"[A-Za-z0-9:._-]{1,253}", "a host name or an address", "nfs.example.com")]
    """Host name or address of the server, as the nodes reach it."""
    path: Annotated[str, matching(r"(/[A-Za-z0-9_.-]+)+|/", "an absolute path", "/export/data")]
    """The folder that it offers."""


class CsiVolumeSpec(Wish):
    """A volume that a CSI driver of the cluster mounts, such as a Lustre file system."""

    driver: Annotated[str, matching(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?", "the name of a CSI driver", "fsx.csi.aws.com")]
    """Name of the driver, as the cluster has it."""
    handle: Annotated[str, matching(r"[!-~]{1,250}", "a handle without blanks", "fs-0123456789abcdef0")]
    """What the driver calls the volume; no other volume of the cluster has it."""
    attributes: dict[str, str] = Field(default_factory=dict)
    """What else the driver is told, in its own words."""


class FilesystemSource(Wish):
    """Where the files are: one of ``nfs`` and ``csi``."""

    nfs: NfsSpec | None = None
    """A folder of an NFS server."""
    csi: CsiVolumeSpec | None = None
    """A volume of a CSI driver that the cluster has."""
    mount_options: list[Option] = Field(default_factory=list)
    """Options of the mount, such as ``nconnect=16``."""

    @property
    def source_given(self) -> bool:
        """Whether it is said where the files are."""
        return self.nfs is not None or self.csi is not None


class SharedFilesystemSpec(FilesystemSource):
    """What one shared file system component is asked for."""

    claim: Name = "shared"
    """Name of the PersistentVolumeClaim that pods mount."""
    namespace: Name = "default"
    """Namespace of the claim; it exists."""
    size_gib: Annotated[WholeNumber, Field(ge=1, le=100_000_000)] = 1
    """What the claim says that it holds, 1 to 100,000,000 GiB; nothing enforces it."""
