"""Ring 1: what is known about hardware. TOML tables in ``data/``, read into frozen dataclasses.

Every number stands once, with its unit in the key, its kind (``vendor``, ``measured`` or ``derived``), its source and
the month it was read. A lookup of something unknown raises :class:`UnknownHardwareError`, which lists what is known.
"""

from gpufabric.hardware.accelerators import Accelerator, accelerator, accelerators
from gpufabric.hardware.baselines import Baseline, find_baseline, most_nodes_known
from gpufabric.hardware.closed_nodes import NeededDaemonSet, find_daemonset, needed_daemonsets
from gpufabric.hardware.eks import (
    AmiType,
    CapacityBlockRules,
    EksVersion,
    ami_types,
    capacity_block_rules,
    eks_version,
    eks_versions,
)
from gpufabric.hardware.fabrics import Fabric, fabric, fabrics, machine_fabrics
from gpufabric.hardware.gke import (
    GkeFabric,
    GkeLimits,
    GkeMinimum,
    GkeVersion,
    default_gke_version,
    gke_fabrics,
    gke_limits,
    gke_minimums,
    gke_versions,
)
from gpufabric.hardware.images import NcclTestsImage, find_image, nccl_tests_images, nccl_tests_program
from gpufabric.hardware.machines import (
    AwsMachine,
    GcpMachine,
    Machine,
    aws_machine,
    aws_machines,
    gcp_machines,
    machine,
    machines,
)
from gpufabric.hardware.memtest import MemtestLevel, memtest_levels
from gpufabric.hardware.tables import Provenance, TableError, UnknownHardwareError

__all__ = [
    "Accelerator",
    "AmiType",
    "AwsMachine",
    "Baseline",
    "CapacityBlockRules",
    "EksVersion",
    "Fabric",
    "GcpMachine",
    "GkeFabric",
    "GkeLimits",
    "GkeMinimum",
    "GkeVersion",
    "Machine",
    "MemtestLevel",
    "NcclTestsImage",
    "NeededDaemonSet",
    "Provenance",
    "TableError",
    "UnknownHardwareError",
    "accelerator",
    "accelerators",
    "ami_types",
    "aws_machine",
    "aws_machines",
    "capacity_block_rules",
    "default_gke_version",
    "eks_version",
    "eks_versions",
    "fabric",
    "fabrics",
    "find_baseline",
    "find_daemonset",
    "find_image",
    "gcp_machines",
    "gke_fabrics",
    "gke_limits",
    "gke_minimums",
    "gke_versions",
    "machine",
    "machine_fabrics",
    "machines",
    "memtest_levels",
    "most_nodes_known",
    "nccl_tests_images",
    "nccl_tests_program",
    "needed_daemonsets",
]
