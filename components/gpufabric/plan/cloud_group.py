"""What every cloud decides alike of a group of nodes: labels, taints, disks, and the group that its gate and its jobs see."""

from collections.abc import Sequence

from gpufabric.hardware import Machine
from gpufabric.plan.also import unused_floor_problems
from gpufabric.plan.cloud import GPU_TAINT_KEY, GPU_TAINT_VALUE, LABEL_FABRIC, LABEL_GROUP, HourlyCost, Taint
from gpufabric.plan.cloud_model import CloudGroupPlan
from gpufabric.plan.cost import Machines, hourly_cost
from gpufabric.plan.inside import kept_problems
from gpufabric.plan.model import GroupPlan
from gpufabric.plan.resolve import resolve_group
from gpufabric.spec import NodeGroupSpec, Problem, SpecError, ValidationSpec
from gpufabric.spec.cloud import CloudNodeGroupSpec
from gpufabric.validation.contract import TAINT_HOLD

GPU_TAINT = Taint(GPU_TAINT_KEY, GPU_TAINT_VALUE)
HOLD_TAINT = Taint(TAINT_HOLD, "")
_MOST_NODES = 5000
"""Kubernetes documentation, considerations for large clusters."""


def node_labels(name: str, fabric: str | None) -> dict[str, str]:
    """Labels of the group's nodes. That of the fabric is only where its devices are: what serves them selects by it."""
    return {LABEL_GROUP: name, **({LABEL_FABRIC: fabric} if fabric else {})}


def disk_problems(wish: CloudNodeGroupSpec, machine: Machine, path: str) -> list[Problem]:
    """Local disks asked for where there are none."""
    if wish.disk_tier == "network" or machine.local_disk_gb:
        return []
    reason = f"best (the default) asks for local NVMe disks; {machine.name} has none that are known here"
    return [Problem(f"{path}.disk_tier", reason, "write disk_tier: network", str(machine.provenance))]


def gate_group(plan: CloudGroupPlan) -> NodeGroupSpec:
    """The same group as its gate and its jobs see it: nodes with our label, and the fabric of the machine."""
    machine = plan.machine
    fabric = {"machine_type": machine.name} if LABEL_FABRIC in plan.labels else {"fabric": "ethernet"}
    return NodeGroupSpec.parse(
        {
            "name": plan.name,
            "node_selector": {LABEL_GROUP: plan.name},
            "accelerators": machine.holds,
            "nodes": plan.nodes,
            "network_tier": "best" if LABEL_FABRIC in plan.labels else "standard",
            **fabric,
            **plan.gate_keys,
        }
    )


def plan_gates(groups: Sequence[CloudGroupPlan], validation: ValidationSpec, stack: str, service: str) -> tuple[GroupPlan, ...]:
    """The gate of each group; raises :class:`SpecError`. ``service``: the cloud's Kubernetes, as a sentence names it."""
    plans: list[GroupPlan] = []
    problems = kept_problems(validation)
    tainted = any(HOLD_TAINT in group.taints for group in groups)
    if tainted and "hold" in validation.model_fields_set and validation.hold != "taint":
        reason = f"nodes of {service} are made with the hold's taint, which only a gate with hold: taint takes away"
        problems.append(Problem("validation.hold", reason, "leave it out"))
    for position, group in enumerate(groups):
        wish = group_validation(group, validation)
        try:
            at = f"node_groups[{position}]"
            plans.append(resolve_group(gate_group(group), wish, stack, at, scheduler_path="scheduler"))
        except SpecError as error:
            problems += error.problems
    if problems := problems or unused_floor_problems(validation, plans):
        raise SpecError(problems)
    return tuple(plans)


def group_validation(group: CloudGroupPlan, validation: ValidationSpec) -> ValidationSpec:
    """What is measured in one group.

    Where nodes are made with the hold's taint, the gate takes it away. Where nodes may lack it does not wait: pending.
    """
    hold = "taint" if HOLD_TAINT in group.taints else "label"
    return validation.model_copy(update={"hold": hold, **({"wait": False} if group.capacity.may_lack_nodes else {})})


def cost_of(cloud: str, region: str, groups: Sequence[CloudGroupPlan]) -> HourlyCost:
    """What the groups' machines cost together."""
    return hourly_cost(cloud, region, [Machines(each.name, each.machine.name, each.nodes, _price_of(each)) for each in groups])


def _price_of(group: CloudGroupPlan) -> str:
    """Under which price the group runs: a reservation costs what on demand does; other kinds have prices of their own."""
    return "on_demand" if group.capacity.kind == "reservation" else group.capacity.kind


def gpu_nodes(groups: Sequence[CloudNodeGroupSpec]) -> int:
    """Nodes of all groups together, no more than a cluster holds: what is said of more is said by :func:`total_problems`."""
    return min(sum(group.nodes for group in groups), _MOST_NODES)


def total_problems(groups: Sequence[CloudNodeGroupSpec]) -> list[Problem]:
    """More nodes together than Kubernetes takes."""
    total = sum(group.nodes for group in groups)
    if total <= _MOST_NODES:
        return []
    reason = f"{total} nodes together; Kubernetes is tested to {_MOST_NODES:,} in one cluster"
    return [Problem("node_groups", reason, "ask for fewer, or split the cluster")]
