"""Ring 2: what a user may ask for. Frozen pydantic models of plain values; whatever is wrong is a :class:`Problem`."""

from gpufabric.spec.gate import GateSpec
from gpufabric.spec.health_check import HealthCheckSpec
from gpufabric.spec.node_group import FabricProfile, LocalDiskSpec, MemtestSpec, NodeGroupSpec, PreflightSpec
from gpufabric.spec.problems import Problem, SpecError, dotted
from gpufabric.spec.project import find_stack_file
from gpufabric.spec.queue import QueueSpec
from gpufabric.spec.run_counter import run_of, with_run
from gpufabric.spec.scheduler import SchedulerSpec
from gpufabric.spec.stack_file import CONFIG_KEY, AnyTrainingSpec, StackFile, parse_spec, read_stack_file
from gpufabric.spec.training import ClusterSpec, ExistingCluster, GroupsSpec, TrainingSpec
from gpufabric.spec.validation import ValidationSpec, size_bytes

__all__ = [
    "CONFIG_KEY",
    "AnyTrainingSpec",
    "ClusterSpec",
    "ExistingCluster",
    "FabricProfile",
    "GateSpec",
    "GroupsSpec",
    "HealthCheckSpec",
    "LocalDiskSpec",
    "MemtestSpec",
    "NodeGroupSpec",
    "PreflightSpec",
    "Problem",
    "QueueSpec",
    "SchedulerSpec",
    "SpecError",
    "StackFile",
    "TrainingSpec",
    "ValidationSpec",
    "dotted",
    "find_stack_file",
    "parse_spec",
    "read_stack_file",
    "run_of",
    "size_bytes",
    "with_run",
]
