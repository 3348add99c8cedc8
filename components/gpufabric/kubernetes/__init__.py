"""Ring 4, Kubernetes: in-cluster components that every cloud uses, and the stack for a cluster of one's own."""

from gpufabric.kubernetes.fabric_gate import FabricGate
from gpufabric.kubernetes.nccl_validation import NcclValidation
from gpufabric.kubernetes.node_group import KubernetesNodeGroup
from gpufabric.kubernetes.stack import KubernetesTrainingStack

__all__ = ["FabricGate", "KubernetesNodeGroup", "KubernetesTrainingStack", "NcclValidation"]
