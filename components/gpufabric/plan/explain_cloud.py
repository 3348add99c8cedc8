"""What is said of every cloud's plan alike: the order of its rows, capacity, taints, storage and cost."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from gpufabric.plan.cloud_group import HOLD_TAINT
from gpufabric.plan.cloud_model import CapacityPlan, CloudGroupPlan, CloudStackPlan, Phase
from gpufabric.plan.explain import Line, explain_group
from gpufabric.plan.storage.explain import role_lines, speed_lines

G = TypeVar("G", bound=CloudGroupPlan)

_PHASES = {
    Phase.BEFORE: "its window has not begun: no nodes until then, and the gate's outcome is pending",
    Phase.OPEN: "the nodes are asked for now",
    Phase.AFTER: "its window is over: no nodes, and the gate's outcome is pending",
}


def explain_stack(
    plan: CloudStackPlan, service: str, made: Iterable[Line], groups: Iterable[G], nodes: Callable[[G], Iterable[Line]]
) -> Iterator[tuple[str, tuple[Line, ...]]]:
    """First the stack, then each group. ``service``: the cloud's Kubernetes. ``nodes``: what is said of a group's nodes."""
    yield f"{plan.stack}: {service} in {plan.zone}", (*made, *role_lines(plan.storage), _cost(plan))
    for gate, group in zip(plan.groups, groups, strict=True):
        yield explain_group(gate, (*nodes(group), *speed_lines(plan.storage, group.name), _taints(group)))


def capacity_line(capacity: CapacityPlan, why: str = "") -> Line:
    """How the machines are had; ``why`` where not the window says it."""
    what = capacity.kind.replace("_", " ") + (f" {capacity.reservation_id}" if capacity.reservation_id else "")
    return Line("capacity", what, why or _PHASES[capacity.phase])


def api_line(kind: str, cidrs: Sequence[str]) -> Line:
    """From where the API is reached. ``kind``: public, private or dns."""
    callers = {
        "public": f"from {', '.join(cidrs)} and from inside",
        "private": "from inside the VPC alone",
        "dns": "by its DNS name, by whom IAM lets in",
    }
    return Line("API", callers[kind], "api_access")


def existing_cluster_line(name: str) -> Line:
    """A cluster that exists."""
    return Line("cluster", f"{name}, which exists", "nothing of it is changed")


def filesystem_line(name: str, what: str, *, existing: bool, protect: bool) -> Line:
    """One shared file system, and what becomes of it."""
    kept = "protected: a destroy stops before it" if protect else "not protected: goes with the stack"
    return Line(f"file system {name}", what, "exists" if existing else kept)


def bucket_line(name: str, bucket: str, *, existing: bool, protect: bool) -> Line:
    """One bucket, and what becomes of it."""
    kept = "kept when the stack goes" if protect else "goes with the stack, if it is empty"
    return Line(f"bucket {name}", bucket, "exists" if existing else kept)


def _cost(plan: CloudStackPlan) -> Line:
    known = plan.cost.usd_per_hour
    return Line("cost", "not known" if known is None else f"{known:.2f} US dollars per hour", "; ".join(plan.cost.parts))


def _taints(group: CloudGroupPlan) -> Line:
    taints = ", ".join(f"{each.key}={each.value}" for each in group.taints)
    closed = HOLD_TAINT in group.taints
    why = (
        "nothing lands on a node that was not validated"
        if closed
        else "jobs look at their nodes themselves: none is there before"
    )
    return Line("taints", taints, why)
