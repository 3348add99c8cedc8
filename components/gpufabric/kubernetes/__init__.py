"""Ring 4, Kubernetes: in-cluster components that every cloud uses, and the stack for a cluster of one's own."""

from typing import TYPE_CHECKING

from gpufabric.kubernetes.later import later
from gpufabric.kubernetes.nccl_validation import NcclValidation
from gpufabric.kubernetes.node_group import KubernetesNodeGroup
from gpufabric.kubernetes.stack import KubernetesTrainingStack

if TYPE_CHECKING:
    from gpufabric.kubernetes.bucket_mount import BucketMount
    from gpufabric.kubernetes.cached_mount import CachedMount
    from gpufabric.kubernetes.fabric_daemons import FabricDaemons
    from gpufabric.kubernetes.fabric_gate import FabricGate
    from gpufabric.kubernetes.fabric_networks import FabricNetworks
    from gpufabric.kubernetes.job_queue import JobQueue
    from gpufabric.kubernetes.local_nvme import LocalNvme
    from gpufabric.kubernetes.node_health_check import NodeHealthCheck
    from gpufabric.kubernetes.shared_filesystem import SharedFilesystem

__all__ = [
    "BucketMount",
    "CachedMount",
    "FabricDaemons",
    "FabricGate",
    "FabricNetworks",
    "JobQueue",
    "KubernetesNodeGroup",
    "KubernetesTrainingStack",
    "LocalNvme",
    "NcclValidation",
    "NodeHealthCheck",
    "SharedFilesystem",
]

# More modules of the SDK cost a tenth of a second.
__getattr__ = later(
    __name__,
    {
        "BucketMount": "bucket_mount",
        "CachedMount": "cached_mount",
        "FabricDaemons": "fabric_daemons",
        "FabricGate": "fabric_gate",
        "FabricNetworks": "fabric_networks",
        "JobQueue": "job_queue",
        "LocalNvme": "local_nvme",
        "NodeHealthCheck": "node_health_check",
        "SharedFilesystem": "shared_filesystem",
    },
)
