"""The whole wish on Google Cloud: what stands under ``gpufabric:stack`` with ``cloud: gcp``."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gpufabric.spec.base import Wish
from gpufabric.spec.cloud import ApiAccess
from gpufabric.spec.cloud.roles import StorageSpec
from gpufabric.spec.cloud.storage import Name, StoreKey
from gpufabric.spec.gcp.cluster import GkeClusterSpec
from gpufabric.spec.gcp.ids import ProjectId, Region, Zone
from gpufabric.spec.gcp.labels import Labels
from gpufabric.spec.gcp.network import GcpNetworkSpec
from gpufabric.spec.gcp.node_pool import GkeNodePoolSpec
from gpufabric.spec.gcp.storage import GcpFilesystemSpec, GcpStoreSpec
from gpufabric.spec.node_group import unique_names
from gpufabric.spec.scheduler import SchedulerSpec
from gpufabric.spec.validation import ValidationSpec


class GcpStackSpec(Wish):
    """A training cluster on GKE."""

    project: ProjectId
    """Id of the project, such as ``acme-training``."""
    region: Region
    """Region, such as ``us-central1``."""
    zone: Zone
    """Zone of the GPU nodes, such as ``us-central1-a``: a network of RDMA belongs to one."""
    api_access: ApiAccess | None = None
    """Who may reach the Kubernetes API. Required, unless the cluster exists: there is no default."""
    tags: Labels = Field(default_factory=dict)
    """Labels of everything that is created. Default: none."""
    network: GcpNetworkSpec = Field(default_factory=GcpNetworkSpec)
    """The networks. Default: VPCs of its own."""
    cluster: GkeClusterSpec = Field(default_factory=GkeClusterSpec)
    """The cluster. Default: one of its own."""
    node_groups: Annotated[list[GkeNodePoolSpec], AfterValidator(unique_names)]
    """The groups, at least one; names are unique."""
    stores: dict[StoreKey, GcpStoreSpec] = Field(default_factory=dict)
    """Buckets by name. Default: none."""
    filesystems: dict[Name, GcpFilesystemSpec] = Field(default_factory=dict)
    """Shared file systems by name. Default: none."""
    storage: StorageSpec | None = None
    """Which of them each role uses: data sets, models, checkpoints, scratch. Default: no roles."""
    scheduler: SchedulerSpec | None = None
    """The queue in front of every group. Nodes of ``kind: queued`` come when the turn of a job comes; other nodes wait for it.
    Default: none."""
    validation: ValidationSpec = Field(default_factory=ValidationSpec)
    """The gate of every group."""


class GcpTrainingSpec(GcpStackSpec):
    """A training cluster on ``cloud: gcp``, as a stack file says it."""

    cloud: Literal["gcp"]
    orchestrator: Literal["kubernetes"] = "kubernetes"
