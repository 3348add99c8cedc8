"""A group of equal machines that a cloud makes."""

from typing import Annotated, Literal

from pydantic import Field

from gpufabric.spec.base import WholeNumber, Wish
from gpufabric.spec.node_group import Accelerators, GroupName


class CloudNodeGroupSpec(Wish):
    """What the node groups of every cloud share."""

    name: GroupName
    """Name of the group, part of the names of what is created for it: 1 to 20 of ``a-z``, ``0-9``, ``-``."""
    accelerators: Accelerators | None = None
    """``NAME:COUNT`` per node in SkyPilot's words, such as ``H100:8``. Default: what ``machine_type`` holds."""
    machine_type: str | None = None
    """The cloud's name of the machine. Default: the only one that has ``accelerators``; several are listed in an error."""
    nodes: Annotated[WholeNumber, Field(ge=1, le=5000)]
    """Number of nodes, exactly. 1 to 5,000 (the size Kubernetes is tested to)."""
    network_tier: Literal["best", "standard"] = "best"
    """``best``: GPUDirect or RDMA at the machine's full rate, or an error. ``standard``: Ethernet, asked for by name."""
    disk_tier: Literal["best", "network"] = "best"
    """``best``: the machine's NVMe disks, striped, hold containers and scratch. ``network``: the root volume alone."""
