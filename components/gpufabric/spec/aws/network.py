"""Wishes about the network: a VPC of its own, or one that exists."""

from ipaddress import IPv4Network
from typing import Annotated

from pydantic import AfterValidator, Field

from gpufabric.spec.aws.ids import SecurityGroupId, SubnetId, VpcId, Zone
from gpufabric.spec.aws.tags import Tags
from gpufabric.spec.base import WholeNumber, Wish
from gpufabric.spec.cloud.blocks import PRIVATE_BLOCKS
from gpufabric.spec.problems import shown

_TAKEN = IPv4Network("172.17.0.0/16")  # Docker's bridge: EKS refuses to reach it (EKS user guide, VPC requirements)


def _block(value: str) -> str:
    try:
        block = IPv4Network(value)
    except ValueError:
        raise ValueError(f"{shown(value)} is not an IPv4 block; write for example 10.0.0.0/16") from None
    if not 16 <= block.prefixlen <= 20:
        raise ValueError(f"{value} is a /{block.prefixlen}; write a /16 to a /20 (a VPC's block is at most a /16)")
    listed = ", ".join(map(str, PRIVATE_BLOCKS))
    if not any(block.subnet_of(private) for private in PRIVATE_BLOCKS):
        raise ValueError(f"{value} is no private block; write a part of {listed}")
    if block.overlaps(_TAKEN):
        raise ValueError(f"{value} overlaps {_TAKEN}, which nodes use inside; write for example 10.0.0.0/16")
    return value


def _subnets(value: list[str]) -> list[str]:
    if len(set(value)) != len(value):
        raise ValueError("a subnet is listed twice; write each once")
    if len(value) < 2:
        raise ValueError("EKS needs subnets in at least two zones; list at least two")
    return value


def _zones(value: list[str]) -> list[str]:
    if len(set(value)) != len(value):
        raise ValueError("a zone is listed twice; write each once")
    if len(value) < 2:
        raise ValueError("EKS needs subnets in at least two zones; write two or three zones of the region")
    if len(value) > 3:
        raise ValueError(f"{len(value)} zones; write two or three: more serve nothing here")
    return value


Block = Annotated[str, AfterValidator(_block)]


class ExistingNetwork(Wish):
    """A VPC that exists. Nothing in it is changed; only the EFA security group is made there, unless one is named."""

    vpc: VpcId
    """Id of the VPC."""
    subnets: Annotated[list[SubnetId], AfterValidator(_subnets)]
    """Private subnets of the cluster, in two zones or more; at least two."""
    node_subnet: SubnetId | None = None
    """The private subnet of the nodes, in ``zone``. Default: the first of ``subnets``."""
    security_group: SecurityGroupId | None = None
    """EFA security group that exists: all traffic to itself, in and out. Default: one is made."""


class AwsNetworkSpec(Wish):
    """The network of one training cluster."""

    cidr: Block = "10.0.0.0/16"
    """Private block of the VPC, /16 to /20. Default ``10.0.0.0/16``."""
    gpu_cidr: Block | None = None
    """A second block of the VPC, for the GPU nodes alone, when half of ``cidr`` is too small. Default: none."""
    zones: Annotated[list[Zone], AfterValidator(_zones)] | None = None
    """Two or three zones of the cluster's own interfaces. Default: ``zone``, and the first of a, b, c that is another one."""
    existing: ExistingNetwork | None = None
    """A VPC that exists, instead of all the keys above. Default: one is made."""


class AwsNetworkWish(AwsNetworkSpec):
    """What one network component is asked for."""

    zone: Zone
    """The zone of the GPU nodes: EFA does not cross zones."""
    gpu_nodes: Annotated[WholeNumber, Field(ge=0, le=5000)] = 0
    """How many GPU nodes the network has to hold, 0 to 5,000."""
    tags: Tags = Field(default_factory=dict)
    """Tags of everything that is made."""
