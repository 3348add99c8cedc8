"""Ring 4, Kubernetes: in-cluster components that every cloud uses, and the stack for a cluster of one's own."""

from typing import TYPE_CHECKING, Any

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
    from gpufabric.kubernetes.node_health_check import NodeHealthCheck

__all__ = [
    "BucketMount",
    "CachedMount",
    "FabricDaemons",
    "FabricGate",
    "FabricNetworks",
    "JobQueue",
    "KubernetesNodeGroup",
    "KubernetesTrainingStack",
    "NcclValidation",
    "NodeHealthCheck",
]


def __getattr__(name: str) -> Any:
    """What not every stack uses is imported when it is asked for: more modules of the SDK cost a tenth of a second."""
    if name == "BucketMount":
        from gpufabric.kubernetes.bucket_mount import BucketMount

        return BucketMount
    if name == "CachedMount":
        from gpufabric.kubernetes.cached_mount import CachedMount

        return CachedMount
    if name == "FabricDaemons":
        from gpufabric.kubernetes.fabric_daemons import FabricDaemons

        return FabricDaemons
    if name == "FabricGate":
        from gpufabric.kubernetes.fabric_gate import FabricGate

        return FabricGate
    if name == "FabricNetworks":
        from gpufabric.kubernetes.fabric_networks import FabricNetworks

        return FabricNetworks
    if name == "JobQueue":
        from gpufabric.kubernetes.job_queue import JobQueue

        return JobQueue
    if name == "NodeHealthCheck":
        from gpufabric.kubernetes.node_health_check import NodeHealthCheck

        return NodeHealthCheck
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
