"""From a wish for a fabric to what a pod must have: a named fabric of the table, or an explicit profile."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpufabric.hardware import Accelerator, UnknownHardwareError, accelerator, fabric
from gpufabric.spec import FabricProfile, NodeGroupSpec, Problem

EXPLICIT = "explicit profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFabric:
    """The decided fabric of one group. ``resources`` are per pod; ``transport_regex`` is None where nothing proves it yet."""

    name: str
    tier: str
    interface: str
    hcas: tuple[str, ...]
    resources: Mapping[str, int]
    environment: Mapping[str, str]
    transport_regex: str | None
    rank_image: str | None
    source: str

    @property
    def rdma(self) -> bool:
        return bool(self.hcas)


@dataclass(frozen=True, slots=True)
class GroupAccelerators:
    """``H100:8`` taken apart; ``count`` is per node, 0 for ``cpu``."""

    accelerator: Accelerator
    count: int

    @property
    def resources(self) -> dict[str, int]:
        return {self.accelerator.pod_resource: self.count} if self.count else {}

    def __str__(self) -> str:
        return f"{self.accelerator.name}:{self.count}" if self.count else self.accelerator.name


def group_accelerators(group: NodeGroupSpec, path: str) -> GroupAccelerators | Problem:
    """The accelerators of a group, or why there are none such."""
    name, _, count = group.accelerators.partition(":")
    try:
        row = accelerator(name)
    except UnknownHardwareError as error:
        return Problem(f"{path}.accelerators", str(error), "write one of these")
    per_node = int(count or 0)
    if per_node > row.most_per_node:
        reason = f"{per_node} x {name} per node; a node holds at most {row.most_per_node}"
        return Problem(f"{path}.accelerators", reason, f"write {name}:{row.most_per_node} and more nodes", str(row.provenance))
    return GroupAccelerators(row, per_node)


def group_fabric(group: NodeGroupSpec, gpus: int, path: str) -> GroupFabric | Problem:
    """The fabric of a group, or why it cannot be had. Nothing is downgraded: a tier that does not fit is a problem."""
    if (group.fabric is None) == (group.profile is None):
        given = "both given" if group.fabric else "neither given"
        return Problem(f"{path}.fabric", f"fabric and profile: {given}", "name one fabric, or say it explicitly with profile")
    found = _named(group.fabric, gpus, path) if group.fabric else _explicit(group.profile or FabricProfile(), gpus)
    if isinstance(found, Problem):
        return found
    if group.network_tier == "best" and found.tier != "best":
        asked = "network_tier: best (the default) asks for GPUDirect or RDMA"
        reason = f"{asked}; {found.name} has none" + ("" if group.fabric else ": its hcas are empty")
        return Problem(f"{path}.network_tier", reason, "name a fabric that has it, or write network_tier: standard")
    if group.network_tier == "standard" and found.tier == "best":
        reason = f"standard asks for ordinary Ethernet; {found.name} is RDMA"
        return Problem(f"{path}.network_tier", reason, "write network_tier: best, or fabric: ethernet")
    return found


def _named(name: str, gpus: int, path: str) -> GroupFabric | Problem:
    try:
        row = fabric(name)
    except UnknownHardwareError as error:
        return Problem(f"{path}.fabric", str(error), "write one of these, or give an explicit profile")
    return GroupFabric(
        name=row.name,
        tier=row.tier,
        interface=row.interface,
        hcas=row.hcas,
        resources={**row.pod_resources, **{key: each * gpus for key, each in row.pod_resources_per_gpu.items() if gpus}},
        environment=_environment(row.interface, row.hcas, gpus),
        transport_regex=row.transport_regex,
        rank_image=None,
        source=str(row.provenance),
    )


def _explicit(profile: FabricProfile, gpus: int) -> GroupFabric:
    tier = "best" if profile.hcas else "standard"
    return GroupFabric(
        name=EXPLICIT,
        tier=tier,
        interface=profile.interface,
        hcas=tuple(profile.hcas),
        resources=dict(profile.resources),
        environment={**_environment(profile.interface, tuple(profile.hcas), gpus), **profile.environment},
        transport_regex=fabric("infiniband" if profile.hcas else "ethernet").transport_regex,
        rank_image=profile.image,
        source="given in the spec",
    )


def _environment(interface: str, hcas: tuple[str, ...], gpus: int) -> dict[str, str]:
    """NCCL's bootstrap interface is always said (NCCL may pick a wrong one: nccl issue 876); HCAs where there are any."""
    if not gpus:
        return {}
    bootstrap = {"NCCL_SOCKET_IFNAME": interface}
    return {**bootstrap, "NCCL_IB_HCA": ",".join(hcas)} if hcas else bootstrap
