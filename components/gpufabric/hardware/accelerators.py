"""Accelerators: what a pod must ask for to get them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, UnknownHardwareError, named_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator(Row):
    """One row of ``data/accelerators.toml``. ``pod_resource`` is empty for ``cpu``; ``memory_gb`` is per device, 1e9 bytes."""

    name: str
    title: str
    most_per_node: int
    pod_resource: str = ""
    memory_gb: int = 0


@cache
def accelerators() -> Mapping[str, Accelerator]:
    """All known accelerators by name."""
    return named_rows(Accelerator, "accelerators.toml")


def accelerator(name: str) -> Accelerator:
    """The accelerator called ``name``; raises :class:`UnknownHardwareError` with the known ones."""
    try:
        return accelerators()[name]
    except KeyError:
        raise UnknownHardwareError("accelerator", name, accelerators()) from None
