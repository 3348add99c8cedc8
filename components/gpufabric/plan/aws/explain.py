"""Say what a plan for AWS will build, and why."""

from collections.abc import Iterator

from gpufabric.plan.aws.cluster import ClusterPlan
from gpufabric.plan.aws.model import AwsParts, AwsStackPlan, EksNodeGroupPlan
from gpufabric.plan.explain import Line
from gpufabric.plan.explain_cloud import (
    api_line,
    bucket_line,
    capacity_line,
    existing_cluster_line,
    explain_stack,
    filesystem_line,
)
from gpufabric.plan.model import GroupsPlan


def explain_aws(plan: GroupsPlan) -> Iterator[tuple[str, tuple[Line, ...]]]:
    """First the stack, then each group."""
    if not isinstance(plan, AwsStackPlan):
        raise TypeError(f"no plan for AWS: {type(plan).__name__}")
    yield from explain_stack(plan, "EKS", _stack(plan), plan.node_groups, _nodes)


def _stack(plan: AwsStackPlan) -> Iterator[Line]:
    yield from _parts(plan.parts)
    yield Line("kubernetes", f"{plan.version.kubernetes}, node images {plan.version.ami_release}", str(plan.version.provenance))


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
        yield api_line("public" if parts.cluster.public_cidrs else "private", parts.cluster.public_cidrs)
        yield Line("control plane", parts.cluster.tier, "from the number of nodes, unless control_plane_tier says otherwise")
    else:
        yield existing_cluster_line(parts.cluster)
    yield Line("device plugins", ", ".join(parts.daemons), "pinned images, on held nodes too")
    for name, each in parts.filesystems.items():
        what = each.existing or f"{each.size_gib} GiB, {each.throughput_mbytes_per_s_per_tib} MB/s per TiB"
        yield filesystem_line(name, what, existing=each.existing is not None, protect=each.protect)
    for name, store in parts.stores.items():
        yield bucket_line(name, store.bucket, existing=store.existing, protect=store.protect)


def _nodes(plan: EksNodeGroupPlan) -> Iterator[Line]:
    capacity, machine = plan.capacity, plan.machine
    yield Line(
        "nodes",
        f"{plan.nodes} x {machine.name}, made as one managed node group",
        f"image {plan.ami_type} {plan.release_version}",
    )
    yield capacity_line(capacity)
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
