"""Fabrics of clusters of one's own and of clouds' machines: what a pod asks for, and the line that proves the fabric."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from gpufabric.hardware.tables import Row, UnknownHardwareError, named_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric(Row):
    """One row of ``data/fabrics.toml``; the head of that file says what each key means."""

    name: str
    title: str
    tier: str
    interface: str
    transport_regex: str
    hcas: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    pod_resources: Mapping[str, int | str] = field(default_factory=dict)
    pod_resources_per_gpu: Mapping[str, int] = field(default_factory=dict)
    of_machines: bool = False
    pod_resource_per_device: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    node_huge_pages_2mib: int = 0
    rank_image: str = ""


@cache
def _rows() -> Mapping[str, Fabric]:
    return named_rows(Fabric, "fabrics.toml")


@cache
def fabrics() -> Mapping[str, Fabric]:
    """The fabrics that a user can name, by name."""
    return {name: row for name, row in _rows().items() if not row.of_machines}


@cache
def machine_fabrics() -> Mapping[str, Fabric]:
    """The fabrics of clouds' machines, by the name that the machine tables use."""
    return {name: row for name, row in _rows().items() if row.of_machines}


def fabric(name: str) -> Fabric:
    """The fabric called ``name``; raises :class:`UnknownHardwareError` with the known ones."""
    try:
        return fabrics()[name]
    except KeyError:
        raise UnknownHardwareError("fabric", name, fabrics()) from None
