"""One node pool of GKE: everything that goes into it."""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import Any

from gpufabric.hardware import GcpMachine, gcp_machines
from gpufabric.plan.cloud_group import GPU_TAINT, HOLD_TAINT, disk_problems, node_labels
from gpufabric.plan.gcp.capacity import FROM_ZERO, plan_capacity
from gpufabric.plan.gcp.model import BLOCK, DRANET, DRIVER_DISABLED, EPHEMERAL, NETWORKS, GkeNodePoolPlan, LocalDisks
from gpufabric.plan.gcp.names import POOL_MOST, name_problems
from gpufabric.plan.gcp.network import network_problems, profile_problems
from gpufabric.plan.gcp.version import kubernetes_version, version_problems
from gpufabric.plan.machine import group_machine
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.gcp import GkeGpuNodesSpec, GkeNodePoolSpec
from gpufabric.spec.gcp.network import NodeNetwork

_DRIVERS = {"default": "DEFAULT", "latest": "LATEST", "disabled": DRIVER_DISABLED}
_IMAGE = "COS_CONTAINERD"  # the installers of TCPX, TCPXO and gIB know no other one
_QUEUED_TAINT = "cloud.google.com/gke-queued"
_DRANET_LABEL = {"cloud.google.com/gke-networking-dra-driver": "true"}


def plan_node_pool(
    wish: GkeNodePoolSpec, project: str, zone: str, tags: Mapping[str, str], *, now: datetime, path: str
) -> GkeNodePoolPlan:
    """The plan of one node pool; raises :class:`SpecError` with all its problems."""
    machine = group_machine(wish, gcp_machines(), "Google Cloud", path)
    if isinstance(machine, Problem):
        raise SpecError([machine])
    fabric = wish.network_tier == "best"
    problems = [
        *_fabric_problems(wish, machine, path),
        *disk_problems(wish, machine, path),
        *_boot_disk_problems(wish, machine, path),
        *_from_zero_problems(wish, path),
    ]
    try:
        asked = wish.capacity
        capacity = plan_capacity(asked, machine, wish.nodes, project, fabric=fabric, now=now, path=f"{path}.capacity")
    except SpecError as error:
        raise SpecError([*problems, *error.problems]) from None
    if problems:
        raise SpecError(problems)
    attachment = wish.fabric_attachment if fabric else None
    labels = node_labels(wish.name, machine.fabric if fabric else None)
    return GkeNodePoolPlan(
        name=wish.name,
        machine=machine,
        nodes=wish.nodes,
        capacity=capacity,
        labels=labels | (_DRANET_LABEL if attachment == DRANET else {}),
        # Nodes that come when a job asks for them are looked for on a template, which a job does not match while it is closed.
        taints=(GPU_TAINT,) if capacity.from_zero else (GPU_TAINT, HOLD_TAINT),
        zone=zone,
        tags=tags,
        gate_keys=_gate_keys(wish, attachment),
        project=project,
        attachment=attachment,
        image_type=_IMAGE,
        driver_version=_DRIVERS[wish.driver_version or machine.driver],
        boot_disk_type=wish.boot_disk_type or machine.boot_disk_types[0],
        boot_disk_gib=wish.boot_disk_gib,
        local_disks=_local_disks(wish, machine),
        auto_repair=not capacity.from_zero if wish.auto_repair is None else wish.auto_repair,
        auto_upgrade=not capacity.queued,
        # One node goes before the next one comes: there is no room for one more in a reservation, and seldom elsewhere.
        surge=None if capacity.from_zero else (0, 1),
    )


def plan_alone(
    wish: GkeGpuNodesSpec, *, now: datetime, path: str, handles: Set[str], networks: Sequence[NodeNetwork] = ()
) -> GkeNodePoolPlan:
    """The plan of a node pool in an organisation's own stack; raises :class:`SpecError`.

    ``handles``: names of what was given. ``networks``: those that were given, in rail order, with names of ours for Outputs.
    """
    problems = []
    if "cluster_name" not in handles:
        problems.append(Problem(f"{path}.cluster_name", "missing", "pass the name that your stack has"))
    if "location" not in handles:
        problems.append(Problem(f"{path}.location", "missing", "pass the cluster's region, or its zone if it is zonal"))
    problems += name_problems(path, "a node pool of GKE", POOL_MOST, path)
    try:
        plan = plan_node_pool(wish, wish.project, wish.zone, wish.tags, now=now, path=path)
    except SpecError as error:
        raise SpecError([*problems, *error.problems]) from None
    problems += _network_problems(plan, networks, f"{path}.additional_networks")
    if wish.network_profile is not None:
        problems += profile_problems(wish.network_profile, plan.machine, wish.zone, f"{path}.network_profile")
    version = kubernetes_version(wish.kubernetes_version, f"{path}.kubernetes_version")
    if isinstance(version, Problem):
        problems.append(version)
    else:
        problems += pool_version_problems(version, plan, f"{path}.kubernetes_version")
    if problems:
        raise SpecError(problems)
    return plan


def pool_version_problems(version: str, plan: GkeNodePoolPlan, path: str) -> list[Problem]:
    """A version of GKE that is too old for a node pool: its machine, fabric, attachment or capacity."""
    machine = plan.machine
    needs = [machine.name, *([machine.fabric] if plan.attachment else []), *([DRANET] if plan.attachment == DRANET else [])]
    return version_problems(version, [*needs, plan.capacity.kind], path)


def _network_problems(plan: GkeNodePoolPlan, given: Sequence[NodeNetwork], path: str) -> list[Problem]:
    if plan.attachment == NETWORKS:
        return list(network_problems(plan.machine, given, path))
    if not given:
        return []
    why = "with fabric_attachment: dranet GKE makes the networks" if plan.attachment else "Ethernet has the cluster's own alone"
    return [Problem(path, f"{len(given)} networks; {why}", "leave them out")]


def _fabric_problems(wish: GkeNodePoolSpec, machine: GcpMachine, path: str) -> list[Problem]:
    if wish.network_tier == "best":
        if machine.fabric:
            return []
        reason = f"best (the default) asks for GPUDirect or RDMA; {machine.name} has none"
        return [Problem(f"{path}.network_tier", reason, "write network_tier: standard", str(machine.provenance))]
    if wish.fabric_attachment == NETWORKS:
        return []
    reason = "dranet gives pods the fabric's cards; network_tier: standard asks for Ethernet"
    return [Problem(f"{path}.fabric_attachment", reason, "leave it out")]


def _boot_disk_problems(wish: GkeNodePoolSpec, machine: GcpMachine, path: str) -> list[Problem]:
    if wish.boot_disk_type in (None, *machine.boot_disk_types):
        return []
    fix = f"leave it out, or write {' or '.join(machine.boot_disk_types)}"
    reason = f"{machine.name} does not boot from {wish.boot_disk_type}"
    return [Problem(f"{path}.boot_disk_type", reason, fix, str(machine.provenance))]


def _from_zero_problems(wish: GkeNodePoolSpec, path: str) -> list[Problem]:
    if wish.capacity.kind in FROM_ZERO:
        if not wish.auto_repair:
            return []
        reason = f"GKE does not repair nodes of kind: {wish.capacity.kind}, which live for one job"
        return [Problem(f"{path}.auto_repair", reason, "leave it out", "GKE documentation, flex-start")]
    if wish.preflight is None:
        return []
    reason = f"nodes of kind: {wish.capacity.kind} are validated before any job; it is for those that come with one"
    return [Problem(f"{path}.preflight", reason, "leave it out")]


def _gate_keys(wish: GkeNodePoolSpec, attachment: str | None) -> dict[str, Any]:
    """What gate and jobs have to know: how cards are given, a taint that GKE adds, and that jobs look at their nodes."""
    keys: dict[str, Any] = {"fabric_attachment": DRANET} if attachment == DRANET else {}
    if wish.capacity.kind == "queued":
        keys["tolerates"] = [_QUEUED_TAINT]
    if wish.capacity.kind in FROM_ZERO:
        keys["preflight"] = wish.preflight.model_dump(exclude_none=True) if wish.preflight else {}
    return keys


def _local_disks(wish: GkeNodePoolSpec, machine: GcpMachine) -> LocalDisks | None:
    """Disks that come with the machine are said in any case: unsaid, GKE's answer differs from the program at every update."""
    if wish.disk_tier == "best":
        return LocalDisks(machine.local_disks, EPHEMERAL)
    return LocalDisks(machine.local_disks, BLOCK) if machine.disks_are_bundled else None
