"""Machines of a cloud: what one holds, which fabric it has, and why some are refused. Each cloud's table adds its own keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, UnknownHardwareError, named_rows

X86_64, ARM64 = "x86_64", "arm64"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine(Row):
    """What the machine tables (``data/machines_*.toml``) of all clouds share; their heads say what each key means.

    ``fabric_devices``: devices of the fabric, all of which a pod asks for. A number that is not known is 0.
    """

    name: str
    accelerator: str
    accelerators: int
    vcpus: int
    memory_gib: int
    fabric: str
    fabric_devices: int
    network_gbits_per_s: int
    architecture: str = X86_64
    local_disks: int = 0
    local_disk_gb: int = 0
    capacity_kinds: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def holds(self) -> str:
        """``H100:8``: what one machine holds, as a user writes it."""
        return f"{self.accelerator}:{self.accelerators}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsMachine(Machine):
    """A row of ``data/machines_aws.toml``: network cards, and where on them EFA interfaces go."""

    network_cards: int
    interfaces_per_card: int = 0
    efa_on_card_0: bool
    efa_cards: str = ""

    @property
    def cards_with_efa(self) -> tuple[int, ...]:
        """``efa_cards`` as numbers: ``1-3`` and ``1,2,3`` are (1, 2, 3)."""
        found: list[int] = []
        for part in filter(None, self.efa_cards.split(",")):
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpMachine(Machine):
    """A row of ``data/machines_gcp.toml``: Google's name of the GPU, disks, and what flex-start can do."""

    accelerator_type: str
    boot_disk_types: tuple[str, ...]
    disks_are_bundled: bool = False
    driver: str = "default"
    flex_compact: bool = False


@cache
def aws_machines() -> Mapping[str, AwsMachine]:
    """AWS's machines by instance type."""
    return named_rows(AwsMachine, "machines_aws.toml")


@cache
def gcp_machines() -> Mapping[str, GcpMachine]:
    """Google Cloud's machines by machine type."""
    return named_rows(GcpMachine, "machines_gcp.toml")


@cache
def machines() -> Mapping[str, Machine]:
    """The machines of every cloud by name; no two clouds share one."""
    return {**aws_machines(), **gcp_machines()}


def aws_machine(name: str) -> AwsMachine:
    """The instance type ``name``; raises :class:`UnknownHardwareError` with the known ones."""
    try:
        return aws_machines()[name]
    except KeyError:
        raise UnknownHardwareError("machine", name, aws_machines()) from None


def machine(name: str) -> Machine:
    """The machine ``name`` of any cloud; raises :class:`UnknownHardwareError` with the known ones."""
    try:
        return machines()[name]
    except KeyError:
        raise UnknownHardwareError("machine", name, machines()) from None
