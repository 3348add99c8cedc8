"""Ring 1: what is known about hardware. TOML tables in ``data/``, read into frozen dataclasses.

Every number stands once, with its unit in the key, its kind (``vendor``, ``measured`` or ``derived``), its source and
the month it was read. A lookup of something unknown raises :class:`UnknownHardwareError`, which lists what is known.
"""

from gpufabric.hardware.accelerators import Accelerator, accelerator, accelerators
from gpufabric.hardware.baselines import Baseline, find_baseline
from gpufabric.hardware.fabrics import Fabric, fabric, fabrics
from gpufabric.hardware.images import all_reduce_program
from gpufabric.hardware.tables import Provenance, TableError, UnknownHardwareError

__all__ = [
    "Accelerator",
    "Baseline",
    "Fabric",
    "Provenance",
    "TableError",
    "UnknownHardwareError",
    "accelerator",
    "accelerators",
    "all_reduce_program",
    "fabric",
    "fabrics",
    "find_baseline",
]
