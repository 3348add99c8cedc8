"""Ring 2: what a user may ask for. Frozen pydantic models of plain values; whatever is wrong is a :class:`Problem`."""

from gpufabric.spec.node_group import FabricProfile, NodeGroupSpec
from gpufabric.spec.problems import Problem, SpecError
from gpufabric.spec.stack_file import CONFIG_KEY, StackFile, parse_spec, read_stack_file
from gpufabric.spec.training import ClusterSpec, ExistingCluster, TrainingSpec
from gpufabric.spec.validation import ValidationSpec, size_bytes

__all__ = [
    "CONFIG_KEY",
    "ClusterSpec",
    "ExistingCluster",
    "FabricProfile",
    "NodeGroupSpec",
    "Problem",
    "SpecError",
    "StackFile",
    "TrainingSpec",
    "ValidationSpec",
    "parse_spec",
    "read_stack_file",
    "size_bytes",
]
