"""Fabrics of a cluster of one's own: what a pod asks for, and the line that proves the fabric carries the traffic."""

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
    pod_resources: Mapping[str, int] = field(default_factory=dict)
    pod_resources_per_gpu: Mapping[str, int] = field(default_factory=dict)


@cache
def fabrics() -> Mapping[str, Fabric]:
    """All known fabrics by name."""
    return named_rows(Fabric, "fabrics.toml")


def fabric(name: str) -> Fabric:
    """The fabric called ``name``; raises :class:`UnknownHardwareError` with the known ones."""
    try:
        return fabrics()[name]
    except KeyError:
        raise UnknownHardwareError("fabric", name, fabrics()) from None
