"""Wishes about the EKS cluster: who reaches its API, who administers it, what runs beside the GPU nodes."""

from typing import Annotated, Literal

from pydantic import Field

from gpufabric.spec.aws.ids import PrincipalArn, Region
from gpufabric.spec.aws.tags import Tags
from gpufabric.spec.base import WholeNumber, Wish, matching
from gpufabric.spec.cloud import ApiAccess

_CLUSTER_NAME = r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}"
_VERSION = r"1\.[0-9]{2}"
# Letters, a digit and then g are Graviton: m7g, c7gn, g5g; but not g6e (EC2 user guide, instance type names).
_MACHINE = r"(?!a1\.|[a-z]+[0-9]+g[a-z]*\.)[a-z0-9-]{2,20}\.[a-z0-9-]{2,20}"


class ExistingEks(Wish):
    """An EKS cluster that exists. Nothing of it is changed."""

    name: Annotated[str, matching(_CLUSTER_NAME, "the name of an EKS cluster", "training")]
    """Its name, in the region of the stack."""


class SystemNodes(Wish):
    """CPU nodes without taint, where CoreDNS, controllers and the gate's coordinator run."""

    machine_type: Annotated[str, matching(_MACHINE, "a machine type with an x86 processor", "m7i.xlarge")] = "m7i.xlarge"
    """Machine type, x86. Default ``m7i.xlarge``: 4 vCPU, 16 GiB."""
    nodes: Annotated[WholeNumber, Field(ge=2, le=50)] = 2
    """How many, 2 to 50. Default 2: one may fail."""


class EksClusterSpec(Wish):
    """The cluster, as it stands under ``cluster`` in a stack file."""

    kubernetes_version: Annotated[str, matching(_VERSION, "a Kubernetes version", "'1.34'")] | None = None
    """Kubernetes version in quotes, also of a cluster that exists. Default: the one for which the table pins node images."""
    admin_principals: list[PrincipalArn] = Field(default_factory=list)
    """IAM roles and users that administer the cluster, beside the one that creates it. Default: none."""
    control_plane_tier: Literal["standard", "tier-xl", "tier-2xl", "tier-4xl", "tier-8xl"] | None = None
    """Size of the control plane. Default: from the number of nodes. AWS bills all but ``standard`` by the hour."""
    system_nodes: SystemNodes = SystemNodes()
    """The CPU nodes. Default: two ``m7i.xlarge``."""
    existing: ExistingEks | None = None
    """A cluster that exists, instead of the keys above but the version. Default: one is made."""


class EksClusterWish(EksClusterSpec):
    """What one cluster component is asked for."""

    region: Region
    """Region of the cluster, such as ``us-east-2``."""
    api_access: ApiAccess | None = None
    """From where the API can be called. Required, unless the cluster exists."""
    gpu_nodes: Annotated[WholeNumber, Field(ge=0, le=5000)] = 0
    """How many GPU nodes the cluster will hold, 0 to 5,000."""
    prefix_delegation: bool = True
    """Whether pods get addresses in blocks of 16: needed where a network card holds two interfaces."""
    tags: Tags = Field(default_factory=dict)
    """Tags of everything that is made."""
