"""Say what a plan for AWS will build, and why."""

from collections.abc import Iterator

from gpufabric.plan.aws.cluster import ClusterPlan
from gpufabric.plan.aws.model import AwsParts, AwsStackPlan, EksNodeGroupPlan
from gpufabric.plan.cloud_model import Phase
from gpufabric.plan.explain import Line, explain_group
from gpufabric.plan.model import GroupsPlan

_PHASES = {
    Phase.BEFORE: "its window has not begun: no nodes until then, and the gate's outcome is pending",
    Phase.OPEN: "the nodes are asked for now",
    Phase.AFTER: "its window is over: no nodes, and the gate's outcome is pending",
}


def explain_aws(plan: GroupsPlan) -> Iterator[tuple[str, tuple[Line, ...]]]:
    """First the stack, then each group."""
    if not isinstance(plan, AwsStackPlan):
        raise TypeError(f"no plan for AWS: {type(plan).__name__}")
    yield f"{plan.stack}: EKS in {plan.zone}", tuple(_stack(plan))
    for group, nodes in zip(plan.groups, plan.node_groups, strict=True):
        yield explain_group(group, _nodes(nodes))


def _stack(plan: AwsStackPlan) -> Iterator[Line]:
    yield from _parts(plan.parts)
    yield Line("kubernetes", f"{plan.version.kubernetes}, node images {plan.version.ami_release}", str(plan.version.provenance))
    known = plan.cost.usd_per_hour
    yield Line("cost", "not known" if known is None else f"{known:.2f} US dollars per hour", "; ".join(plan.cost.parts))


def _parts(parts: AwsParts) -> Iterator[Line]:
    network = parts.network
    if network.existing:
        group = network.existing.security_group or "made"
        yield Line("network", f"{network.existing.vpc}, which exists", f"EFA security group: {group}")
    else:
        (gpu,) = [each.cidr for each in network.subnets if each.key == "gpu"]
        zones = ", ".join(each.zone for each in network.cluster_subnets)
        yield Line("network", f"a VPC {network.cidr}, GPU nodes in {gpu}", f"cluster in {zones}; out through one NAT gateway")
    if isinstance(parts.cluster, ClusterPlan):
        callers = ", ".join(parts.cluster.public_cidrs)
        yield Line("API", f"from {callers} and from inside" if callers else "from inside the VPC alone", "api_access")
        yield Line("control plane", parts.cluster.tier, "from the number of nodes, unless control_plane_tier says otherwise")
    else:
        yield Line("cluster", f"{parts.cluster}, which exists", "nothing of it is changed")
    yield Line("device plugins", ", ".join(parts.daemons), "pinned images, on held nodes too")
    for name, each in parts.filesystems.items():
        what = each.existing or f"{each.size_gib} GiB, {each.throughput_mbytes_per_s_per_tib} MB/s per TiB"
        kept = "protected: a destroy stops before it" if each.protect else "not protected: goes with the stack"
        yield Line(f"file system {name}", what, "exists" if each.existing else kept)
    for name, store in parts.stores.items():
        kept = "kept when the stack goes" if store.protect else "goes with the stack, if it is empty"
        yield Line(f"bucket {name}", store.bucket, "exists" if store.existing else kept)


def _nodes(plan: EksNodeGroupPlan) -> Iterator[Line]:
    capacity, machine = plan.capacity, plan.machine
    yield Line(
        "nodes",
        f"{plan.nodes} x {machine.name}, made as one managed node group",
        f"image {plan.ami_type} {plan.release_version}",
    )
    what = capacity.kind.replace("_", " ") + (f" {capacity.reservation_id}" if capacity.reservation_id else "")
    yield Line("capacity", what, _PHASES[capacity.phase])
    if capacity.scale_up:
        at = f"{capacity.scale_up.at:%Y-%m-%dT%H:%MZ}"
        yield Line("scale-up", f"{capacity.scale_up.nodes} nodes at {at}", "a scheduled action of the group")
    efa = [each for each in plan.interfaces if each.kind != "interface"]
    yield Line("interfaces", f"{len(plan.interfaces)}, of them {len(efa)} with EFA alone", str(machine.provenance))
    if efa and plan.nodes == 1:
        yield Line("one node", "its EFA is not measured, only what is inside it", "EFA has no other end: two nodes show it")
    if capacity.own_placement_group or capacity.placement_group:
        name = capacity.placement_group or "of its own"
        yield Line("placement group", f"cluster, {name}", "EFA is fastest between machines that stand near each other")
    if capacity.reserved:
        reason = f"reserved capacity has no room for one more: up to {plan.nodes} nodes are drained one by one in an update"
        yield Line("updates", "without extra nodes (MINIMAL)", reason)
    taints = ", ".join(f"{each.key}={each.value}" for each in plan.taints)
    yield Line("taints", taints, "nothing lands on a node that was not validated")
