"""From a wish for a fabric to what a pod must have: a named fabric of the table, or an explicit profile."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpufabric.hardware import (
    Accelerator,
    UnknownHardwareError,
    accelerator,
    accelerators,
    fabric,
    fabrics,
    find_image,
    machine,
    machine_fabrics,
)
from gpufabric.hardware.fabric_pods import FabricPod, fabric_pods
from gpufabric.spec import FabricProfile, NodeGroupSpec, Problem, dotted

EXPLICIT = "an explicit profile"
_SAID_BY_KEYS = {"NCCL_SOCKET_IFNAME": "interface", "NCCL_IB_HCA": "hcas"}
_OF_THE_GATE = ("PYTHONPATH", "JOB_COMPLETION_INDEX")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFabric:
    """The decided fabric of one group.

    ``resources`` are per pod. ``transport_regex`` is None where nothing proves it yet. ``devices``: RDMA devices of a node by
    name or prefix (empty: no RDMA), ``devices_per_node`` of them where the number is known, else 0. ``rank_image``: the
    group's own; ``table_image``: the machine table's, for a wish that names none. ``pod``: what else its pods have, with
    ``rails`` devices of the fabric per node; ``claims``: they are given by dynamic resource allocation.
    """

    name: str
    tier: str
    interface: str
    devices: tuple[str, ...]
    resources: Mapping[str, int | str]
    environment: Mapping[str, str]
    transport_regex: str | None
    rank_image: str | None
    source: str
    devices_per_node: int = 0
    table_image: str | None = None
    pod: FabricPod | None = None
    rails: int = 0
    claims: bool = False

    @property
    def rdma(self) -> bool:
        return bool(self.devices)


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
    if count and not row.most_per_node:
        return Problem(f"{path}.accelerators", f"{name} takes no count", f"write {name}")
    if per_node > row.most_per_node:
        reason = f"{per_node} x {name} per node; a node holds at most {row.most_per_node}"
        return Problem(f"{path}.accelerators", reason, f"write {name}:{row.most_per_node} and more nodes", str(row.provenance))
    return GroupAccelerators(row, per_node)


def group_fabric(group: NodeGroupSpec, gpus: int, path: str) -> GroupFabric | Problem:
    """The fabric of a group, or why it cannot be had. Nothing is downgraded: a tier that does not fit is a problem."""
    said = [key for key in ("fabric", "machine_type", "profile") if getattr(group, key) is not None]
    if len(said) > 1:
        return Problem(f"{path}.{said[0]}", f"{' and '.join(said)} say the same thing twice", "keep one of them")
    if group.profile is not None:
        found: GroupFabric | Problem = _explicit(group.profile, gpus)
    elif group.machine_type is not None:
        found = _of_machine(group.machine_type, group, path)
    elif group.fabric is not None:
        found = _named(group.fabric, gpus, path)
    else:
        return Problem(f"{path}.fabric", "missing", f"write one of {', '.join(sorted(fabrics()))}, or give an explicit profile")
    if isinstance(found, Problem):
        return found
    if group.fabric_attachment is not None and found.pod is None:
        reason = f"{found.name} is not attached by networks or claims"
        return Problem(f"{path}.fabric_attachment", reason, "leave it out")
    if group.network_tier == "best" and found.tier != "best":
        reason = f"best (the default) asks for GPUDirect or RDMA; {found.name} has none"
        having = ", ".join(sorted(name for name, row in fabrics().items() if row.tier == "best"))
        fix = f"name a fabric that has it ({having})" if group.fabric else "list the adapters under profile.hcas"
        return Problem(f"{path}.network_tier", reason, f"{fix}, or write network_tier: standard")
    if group.network_tier == "standard" and found.tier == "best":
        fix = "leave profile.hcas out" if group.profile else "fabric: ethernet"
        return Problem(
            f"{path}.network_tier", f"standard asks for ordinary Ethernet; {found.name} is RDMA", f"write best, or {fix}"
        )
    return found


def profile_problems(group: NodeGroupSpec, path: str) -> list[Problem]:
    """What an explicit profile must not say, because another key says it or the gate's own programs use the name."""
    if group.profile is None:
        return []
    problems = []
    accelerated = next(
        (row.pod_resource for row in accelerators().values() if group.accelerators.startswith(f"{row.name}:")), ""
    )
    if accelerated and accelerated in group.profile.resources:
        where = dotted(f"{path}.profile.resources", [accelerated])
        problems.append(Problem(where, f"accelerators: {group.accelerators} asks for it already", "leave it out"))
    for name, value in group.profile.environment.items():
        where = f"{path}.profile.environment.{name}"
        if key := _SAID_BY_KEYS.get(name):
            problems.append(Problem(where, f"profile.{key} says this", f"leave it out, and write {key}: there"))
        elif name in _OF_THE_GATE or name.startswith("GATE_"):
            problems.append(Problem(where, "the gate's own programs use this name", "leave it out, and set it in your job"))
        elif name == "NCCL_DEBUG" and value != "INFO":
            reason = "the gate needs INFO, which prints the transport in use"
            problems.append(Problem(where, reason, "leave it out, and set it in your job"))
    return problems


def _named(name: str, gpus: int, path: str) -> GroupFabric | Problem:
    try:
        row = fabric(name)
    except UnknownHardwareError as error:
        return Problem(f"{path}.fabric", str(error), "write one of these, or give an explicit profile")
    return GroupFabric(
        name=row.name,
        tier=row.tier,
        interface=row.interface,
        devices=row.hcas,
        resources={**row.pod_resources, **{key: each * gpus for key, each in row.pod_resources_per_gpu.items() if gpus}},
        environment=_environment(row.interface, row.hcas, gpus),
        transport_regex=row.transport_regex,
        rank_image=None,
        source=str(row.provenance),
    )


def _of_machine(name: str, group: NodeGroupSpec, path: str) -> GroupFabric | Problem:
    """The fabric of a cloud's machine: a pod asks for all its devices, since a fabric is measured with all of them."""
    try:
        row = machine(name)
    except UnknownHardwareError as error:
        return Problem(f"{path}.machine_type", str(error), "write one of these, or give an explicit profile")
    if group.accelerators != row.holds:
        reason = f"{name} holds {row.holds}, not {group.accelerators}"
        return Problem(f"{path}.accelerators", reason, f"write {row.holds}", str(row.provenance))
    if not row.fabric:
        return _named("ethernet", row.accelerators, path)
    found = machine_fabrics()[row.fabric]
    pod = fabric_pods().get(found.name)
    claims = group.fabric_attachment == "dranet"
    if claims and pod and not pod.device_class:
        having = ", ".join(sorted(each.name for each in fabric_pods().values() if each.device_class))
        reason = f"no device class of dynamic resource allocation is known for {found.name} ({name}), only for {having}"
        return Problem(f"{path}.fabric_attachment", reason, "write networks, or leave it out", str(pod.provenance))
    per_device = {found.pod_resource_per_device: row.fabric_devices} if found.pod_resource_per_device else {}
    return GroupFabric(
        name=found.name,
        tier=found.tier,
        interface=found.interface,
        devices=found.devices,
        devices_per_node=row.fabric_devices if found.devices else 0,
        resources={**found.pod_resources, **per_device},
        environment={**_environment(found.interface, (), row.accelerators), **found.environment},
        transport_regex=found.transport_regex,
        rank_image=None,
        table_image=pinned_image(found.rank_image) or (pod.plugin if pod else None),
        source=f"{row.network_gbits_per_s} Gbit/s over {row.fabric_devices} devices: {row.provenance}",
        pod=pod,
        rails=row.fabric_devices,
        claims=claims,
    )


def pinned_image(repository: str) -> str | None:
    """The image of ``repository`` with the tag of the image table; None where a fabric names none."""
    row = find_image(repository) if repository else None
    return f"{repository}:{row.pinned}" if row and row.pinned else None


def _explicit(profile: FabricProfile, gpus: int) -> GroupFabric:
    tier = "best" if profile.hcas else "standard"
    return GroupFabric(
        name=EXPLICIT,
        tier=tier,
        interface=profile.interface,
        devices=tuple(profile.hcas),
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
