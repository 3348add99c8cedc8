"""Wishes about the local NVMe disks of nodes that no cloud stripes."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from gpufabric.spec.base import Namespace, WholeNumber, Wish, name_part
from gpufabric.spec.node_group import Image, Selector, TaintKeys
from gpufabric.spec.paths import DiskPath, PodPath
from gpufabric.spec.problems import shown

NAME_LETTERS = 20
_DEVICE = re.compile(r"/dev(/[A-Za-z0-9_.:+*?\[\]-]+)+")
_BY_ID = re.compile(r"/dev/disk/by-id/[A-Za-z0-9_.:+*?\[\]-]+")


def _devices(value: list[str]) -> list[str]:
    for each in value:
        if not _DEVICE.fullmatch(each) or ".." in each:
            raise ValueError(f"{shown(each)} is no path of a disk; write for example /dev/disk/by-id/nvme-SAMSUNG_MZQL2*")
    return value


def _wipe(value: list[str]) -> list[str]:
    for each in value:
        if not _BY_ID.fullmatch(each):
            raise ValueError(
                f"{shown(each)} may be another disk after a reboot; write what ls /dev/disk/by-id shows, with that folder"
            )
    return value


Devices = Annotated[list[str], AfterValidator(_devices)]
Wipe = Annotated[list[str], AfterValidator(_wipe)]
Disks = Annotated[WholeNumber, Field(ge=1, le=64)]


class GroupNvmeSpec(Wish):
    """The local NVMe of one node group, as a stack asks for it: mounted where ``local_disk`` of the group says."""

    disk_image: Image
    """Image with mdadm, xfsprogs and util-linux, pinned."""
    disks: Disks | None = None
    """How many disks each node has, 1 to 64: else nothing is formatted. Default: the machine's, or not known."""
    devices: Devices = Field(default_factory=list)
    """Disks by their path, shell patterns, where no cloud's model fits. Default: none."""
    wipe: Wipe = Field(default_factory=list)
    """Disks below ``/dev/disk/by-id``, shell patterns, that may be cleared of what others left there. Default: none."""
    local_volume: bool = False
    """Also a StorageClass for local volumes that you make. Default: false."""


class LocalNvmeSpec(GroupNvmeSpec):
    """The local NVMe of the nodes that a selector names."""

    name: Annotated[str, name_part(NAME_LETTERS)]
    """Name, part of the names of what is created: 1 to 20 of ``a-z``, ``0-9``, ``-``."""
    node_selector: Selector
    """Labels of the nodes whose disks are used."""
    image: Image
    """Image with Python 3.11 for the agent beside the disks, pinned; the gate's own image will do."""
    node_path: DiskPath = "/mnt/gpufabric/nvme"
    """Folder of the node where the file system is mounted."""
    pod_path: PodPath = "/scratch"
    """Folder of pods that shows the file system's ``scratch``."""
    namespace: Namespace | None = None
    """An existing namespace. Default: one of its own, ``gpufabric-<stack>-nvme-<name>``."""
    tolerates: TaintKeys = Field(default_factory=list)
    """Keys of taints (NoSchedule) beside those of GPUs and of the gate's hold. Default: none."""
