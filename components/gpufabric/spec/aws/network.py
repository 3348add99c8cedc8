"""The network of a cluster on AWS: made, or one that exists."""

from typing import Annotated

from pydantic import AfterValidator

from gpufabric.spec.aws.ids import SubnetId, VpcId
from gpufabric.spec.base import Wish


def _two_or_more(value: list[SubnetId]) -> list[SubnetId]:
    if len(set(value)) < 2:
        raise ValueError("EKS needs subnets in two zones or more; list at least two")
    return value


class ExistingNetwork(Wish):
    """A VPC that exists."""

    vpc: VpcId
    """Id of the VPC."""
    subnets: Annotated[list[SubnetId], AfterValidator(_two_or_more)]
    """Private subnets of the cluster, in two zones or more; at least two."""
    node_subnet: SubnetId | None = None
    """The private subnet of the GPU nodes, in the stack's zone. Default: the first of ``subnets``."""


class AwsNetworkSpec(Wish):
    """A VPC of its own, or an existing one."""

    existing: ExistingNetwork | None = None
    """A VPC that exists. Default: one is made."""
    cidr: str = "10.0.0.0/16"
    """Addresses of the VPC that is made. Default: 10.0.0.0/16."""
