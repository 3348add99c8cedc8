"""Ring 4, Kubernetes: in-cluster components that every cloud uses, and the stack for a cluster of one's own."""

from typing import TYPE_CHECKING, Any

from gpufabric.kubernetes.nccl_validation import NcclValidation
from gpufabric.kubernetes.node_group import KubernetesNodeGroup
from gpufabric.kubernetes.stack import KubernetesTrainingStack

if TYPE_CHECKING:
    from gpufabric.kubernetes.fabric_gate import FabricGate

__all__ = ["FabricGate", "KubernetesNodeGroup", "KubernetesTrainingStack", "NcclValidation"]


def __getattr__(name: str) -> Any:
    """``FabricGate`` is imported when it is asked for: it alone needs two more modules of the SDK, a tenth of a second."""
    if name == "FabricGate":
        from gpufabric.kubernetes.fabric_gate import FabricGate

        return FabricGate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
