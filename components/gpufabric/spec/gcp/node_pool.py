"""A group of GPU nodes on GKE."""

from typing import Annotated, Literal

from pydantic import Field

from gpufabric.spec.base import WholeNumber, matching
from gpufabric.spec.cloud import CloudNodeGroupSpec
from gpufabric.spec.gcp.capacity import GcpCapacitySpec
from gpufabric.spec.gcp.cluster import GkeVersionText
from gpufabric.spec.gcp.ids import NetworkProfile, ProjectId, Zone
from gpufabric.spec.gcp.labels import Labels
from gpufabric.spec.node_group import PreflightSpec


class GkeNodePoolSpec(CloudNodeGroupSpec):
    """One node pool of GKE."""

    capacity: GcpCapacitySpec = Field(default_factory=GcpCapacitySpec)
    """How the machines are had. Default: on demand."""
    fabric_attachment: Literal["networks", "dranet"] = "networks"
    """How nodes and pods get the fabric's cards. ``networks``: a network of GKE for each. ``dranet``: GKE makes the networks,
    and pods claim the cards."""
    driver_version: Literal["default", "latest", "disabled"] | None = None
    """NVIDIA's driver: GKE's ``default`` or ``latest``, or ``disabled``, where you install it. Default: the machine table's. It
    cannot be changed later."""
    boot_disk_type: Annotated[str, matching(r"[a-z]+(-[a-z]+)*", "a type of disk", "hyperdisk-balanced")] | None = None
    """Type of the boot disk, such as ``hyperdisk-balanced``. Default: the machine table's."""
    boot_disk_gib: Annotated[WholeNumber, Field(ge=50, le=65536)] = 200
    """Size of the boot disk, 50 to 65,536 GiB. Default: 200."""
    auto_repair: bool | None = None
    """Let GKE repair nodes that it finds broken. Default: true; false with ``flex_start`` and ``queued``, which refuse it."""
    preflight: PreflightSpec | None = None
    """Of ``flex_start`` and ``queued``: in which image jobs look at their nodes, which nobody could validate before.
    Default: the fabric's; on Ethernet required."""


class GkeGpuNodesSpec(GkeNodePoolSpec):
    """One node pool alone, in an organisation's own stack."""

    project: ProjectId
    """Project of the cluster."""
    zone: Zone
    """Zone of the nodes, such as ``us-central1-a``."""
    kubernetes_version: GkeVersionText | None = None
    """Version of the cluster, such as ``1.35`` or ``1.35.1-gke.1396000``: fabrics work from one on. Default: the table's."""
    network_profile: NetworkProfile | None = None
    """Profile of the RDMA network among ``additional_networks``, such as ``us-central1-a-vpc-roce``. Default: not checked."""
    tags: Labels = Field(default_factory=dict)
    """Labels of everything that is created. Default: none."""
