"""Wishes about the network: VPCs of its own, or some that exist."""

from ipaddress import IPv4Network
from typing import Annotated

from pydantic import AfterValidator, Field

from gpufabric.spec.base import WholeNumber, Wish
from gpufabric.spec.cloud.blocks import PRIVATE_BLOCKS
from gpufabric.spec.gcp.ids import NetworkName, ProjectId, Region, ResourceName, SubnetworkName, Zone
from gpufabric.spec.problems import shown

_TAKEN = IPv4Network("172.17.0.0/16")  # Docker's bridge on the nodes (GKE, Plan IP addresses)
_WIDEST, _NARROWEST = 11, 16


def _block(value: str) -> str:
    try:
        block = IPv4Network(value)
    except ValueError:
        raise ValueError(f"{shown(value)} is not an IPv4 block; write for example 10.0.0.0/14") from None
    if not _WIDEST <= block.prefixlen <= _NARROWEST:
        raise ValueError(f"{value} is a /{block.prefixlen}; write a /{_WIDEST} to a /{_NARROWEST}, such as 10.0.0.0/14")
    if not any(block.subnet_of(private) for private in PRIVATE_BLOCKS):
        raise ValueError(f"{value} is no private block; write a part of {', '.join(map(str, PRIVATE_BLOCKS))}")
    if block.overlaps(_TAKEN):
        raise ValueError(f"{value} overlaps {_TAKEN}, which nodes use inside; write for example 10.0.0.0/14")
    return value


def _once(value: list[str]) -> list[str]:
    if len(set(value)) != len(value):
        raise ValueError("a machine type is listed twice; write each once")
    return value


Block = Annotated[str, AfterValidator(_block)]


class NodeNetwork(Wish):
    """A network with a subnet in it, by name: one interface of a node."""

    network: NetworkName
    """Name of the VPC."""
    subnetwork: SubnetworkName
    """Name of the subnet, in the region."""


class GkePoolNetworks(Wish):
    """What one node pool is given: names, some of which other resources yield."""

    additional_networks: list[NodeNetwork]
    """The networks of the machine's fabric in rail order."""


class ExistingGcpNetwork(Wish):
    """A VPC that exists. Nothing in it is changed."""

    network: NetworkName
    """Name of the VPC of the nodes and the control plane."""
    subnetwork: SubnetworkName
    """Name of its subnet, with Private Google Access and a way out (Cloud NAT)."""
    pods_range: ResourceName
    """Name of the subnet's secondary range for pods."""
    services_range: ResourceName
    """Name of the subnet's secondary range for services."""
    gpu_networks: dict[str, list[NodeNetwork]] = Field(default_factory=dict)
    """The GPU networks in rail order, by machine type. Default: they are made out of ``cidr``."""


class GcpNetworkSpec(Wish):
    """The networks of one training cluster."""

    cidr: Block | None = None
    """Private block out of which all subnets are cut, /11 to /16. Default ``10.0.0.0/14``."""
    mtu: Annotated[WholeNumber, Field(ge=1300, le=8896)] | None = None
    """MTU of the nodes' own VPC, 1,300 to 8,896 bytes. Default: what Google uses for the machines. Not that of GPU networks."""
    existing: ExistingGcpNetwork | None = None
    """A VPC that exists, instead of ``mtu``. Default: one is made."""


class GcpNetworkWish(GcpNetworkSpec):
    """What one network component is asked for."""

    project: ProjectId
    """Project that owns what is made."""
    region: Region
    """Region of the subnets."""
    zone: Zone
    """Zone of the GPU nodes: a network of RDMA belongs to one."""
    machine_types: Annotated[list[str], AfterValidator(_once)] = Field(default_factory=list)
    """GPU machines that get the networks of their fabric. Default: none, and the nodes' own VPC alone is made."""
    gpu_nodes: Annotated[WholeNumber, Field(ge=0, le=5000)] = 0
    """How many GPU nodes the network has to hold, 0 to 5,000."""
    private_services: bool = False
    """Peer the VPC with Google's managed services: Managed Lustre and Filestore need it."""
