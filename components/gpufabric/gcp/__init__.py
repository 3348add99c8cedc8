"""Ring 4, Google Cloud: the components of a training cluster on GKE, each usable alone, and the stack that composes them."""

from typing import TYPE_CHECKING

from gpufabric.gcp.gke_cluster import GkeCluster
from gpufabric.gcp.network import GcpNetwork
from gpufabric.gcp.node_pool import GkeGpuNodePool
from gpufabric.gcp.stack import GcpTrainingStack
from gpufabric.kubernetes.later import later

if TYPE_CHECKING:
    from gpufabric.gcp.filestore import Filestore
    from gpufabric.gcp.gcs_bucket import GcsBucket
    from gpufabric.gcp.managed_lustre import ManagedLustre

__all__ = [
    "Filestore",
    "GcpNetwork",
    "GcpTrainingStack",
    "GcsBucket",
    "GkeCluster",
    "GkeGpuNodePool",
    "ManagedLustre",
]

# Each has a module of the SDK of its own.
__getattr__ = later(__name__, {"Filestore": "filestore", "GcsBucket": "gcs_bucket", "ManagedLustre": "managed_lustre"})
