"""What a user may ask for on Google Cloud."""

from gpufabric.spec.gcp.capacity import GcpCapacitySpec
from gpufabric.spec.gcp.cluster import GkeClusterSpec
from gpufabric.spec.gcp.network import GcpNetworkSpec
from gpufabric.spec.gcp.node_pool import GkeGpuNodesSpec, GkeNodePoolSpec
from gpufabric.spec.gcp.storage import GcpFilesystemSpec, GcpStoreSpec
from gpufabric.spec.gcp.training import GcpStackSpec, GcpTrainingSpec

__all__ = [
    "GcpCapacitySpec",
    "GcpFilesystemSpec",
    "GcpNetworkSpec",
    "GcpStackSpec",
    "GcpStoreSpec",
    "GcpTrainingSpec",
    "GkeClusterSpec",
    "GkeGpuNodesSpec",
    "GkeNodePoolSpec",
]
