"""A group of GPU nodes on EKS."""

from typing import Annotated

from pydantic import Field

from gpufabric.spec.aws.capacity import AwsCapacitySpec
from gpufabric.spec.aws.ids import RoleArn, Zone
from gpufabric.spec.aws.tags import Tags
from gpufabric.spec.base import WholeNumber, matching
from gpufabric.spec.cloud import CloudNodeGroupSpec


class EksNodeGroupSpec(CloudNodeGroupSpec):
    """One managed node group of EKS."""

    capacity: AwsCapacitySpec = Field(default_factory=AwsCapacitySpec)
    """How the machines are had. Default: on demand."""
    ami_type: (
        Annotated[str, matching(r"[A-Za-z0-9_]{1,64}", "EKS's name of an image family", "AL2023_x86_64_NVIDIA")] | None
    ) = None
    """EKS's name of the image family. Default: AL2023 with NVIDIA's driver, for the machine's architecture."""
    ami_release: Annotated[str, matching(r"1\.\d+\.\d+-20\d{6}", "a release of EKS node images", "1.35.6-20260714")] | None = (
        None
    )
    """Release of the image. Default: the table's for the cluster's Kubernetes version."""
    root_volume_gib: Annotated[WholeNumber, Field(ge=50, le=16384)] = 200
    """Size of the root volume, 50 to 16,384 GiB. Default: 200."""
    public_ip: bool = False
    """Give nodes public addresses. Default: false. AWS cannot with more than one network interface."""
    auto_repair: bool = True
    """Let EKS replace or reboot nodes that its monitoring agent finds broken. Default: true."""
    imds_hop_limit: Annotated[WholeNumber, Field(ge=1, le=2)] = 1
    """How far instance metadata reaches, 1 to 2. Default: 1, the node itself; with 2 pods can take the node's credentials."""
    node_role_arn: RoleArn | None = None
    """ARN of the nodes' IAM role. Default: one is made, for a cluster whose CNI has its permissions by pod identity."""


class EksGpuNodesSpec(EksNodeGroupSpec):
    """One node group alone, in an organisation's own stack."""

    zone: Zone
    """Availability zone of the nodes' subnet, such as ``us-east-2b``."""
    kubernetes_version: str | None = None
    """Kubernetes version of the cluster, such as ``1.35``: the image release is pinned for it. Default: the table's."""
    tags: Tags = Field(default_factory=dict)
    """Tags of everything that is created. Default: none."""
