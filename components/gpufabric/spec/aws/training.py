"""The whole wish on AWS: what stands under ``gpufabric:stack`` with ``cloud: aws``."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gpufabric.spec.aws.cluster import EksClusterSpec
from gpufabric.spec.aws.ids import Region, Zone
from gpufabric.spec.aws.network import AwsNetworkSpec
from gpufabric.spec.aws.node_group import EksNodeGroupSpec
from gpufabric.spec.aws.storage import AwsFilesystemSpec, AwsStoreSpec
from gpufabric.spec.aws.tags import Tags
from gpufabric.spec.base import Wish
from gpufabric.spec.cloud import ApiAccess
from gpufabric.spec.cloud.roles import StorageSpec
from gpufabric.spec.cloud.storage import Name, StoreKey
from gpufabric.spec.node_group import unique_names
from gpufabric.spec.validation import ValidationSpec


class AwsStackSpec(Wish):
    """A training cluster on EKS."""

    region: Region
    """Region, such as ``us-east-2``."""
    zone: Zone
    """Availability zone of the GPU nodes, such as ``us-east-2b``: EFA does not cross zones."""
    api_access: ApiAccess | None = None
    """Who may reach the Kubernetes API. Required, unless the cluster exists: there is no default."""
    tags: Tags = Field(default_factory=dict)
    """Tags of everything that is created. Default: none."""
    network: AwsNetworkSpec = Field(default_factory=AwsNetworkSpec)
    """The network. Default: a VPC of its own."""
    cluster: EksClusterSpec = Field(default_factory=EksClusterSpec)
    """The cluster. Default: one of its own."""
    node_groups: Annotated[list[EksNodeGroupSpec], AfterValidator(unique_names)]
    """The groups, at least one; names are unique."""
    stores: dict[StoreKey, AwsStoreSpec] = Field(default_factory=dict)
    """Buckets by name. Default: none."""
    filesystems: dict[Name, AwsFilesystemSpec] = Field(default_factory=dict)
    """FSx for Lustre file systems by name. Default: none."""
    storage: StorageSpec | None = None
    """Which of them each role uses: data sets, models, checkpoints, scratch. Default: no roles."""
    validation: ValidationSpec = Field(default_factory=ValidationSpec)
    """The gate of every group."""


class AwsTrainingSpec(AwsStackSpec):
    """A training cluster on ``cloud: aws``, as a stack file says it."""

    cloud: Literal["aws"]
    orchestrator: Literal["kubernetes"] = "kubernetes"
