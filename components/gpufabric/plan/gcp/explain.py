"""Say what a plan for Google Cloud will build, and why."""

from collections.abc import Iterator

from gpufabric.plan.explain import Line
from gpufabric.plan.explain_cloud import (
    api_line,
    bucket_line,
    capacity_line,
    existing_cluster_line,
    explain_stack,
    filesystem_line,
)
from gpufabric.plan.gcp.cluster import GkeClusterPlan
from gpufabric.plan.gcp.filesystem import FilestorePlan, FilesystemPlan, ManagedLustrePlan
from gpufabric.plan.gcp.model import DRANET, EPHEMERAL, GcpParts, GcpStackPlan, GkeNodePoolPlan
from gpufabric.plan.gcp.network import network_count
from gpufabric.plan.model import GroupsPlan


def explain_gcp(plan: GroupsPlan) -> Iterator[tuple[str, tuple[Line, ...]]]:
    """First the stack, then each group."""
    if not isinstance(plan, GcpStackPlan):
        raise TypeError(f"no plan for Google Cloud: {type(plan).__name__}")
    yield from explain_stack(plan, "GKE", _stack(plan), plan.node_groups, _nodes)


def _stack(plan: GcpStackPlan) -> Iterator[Line]:
    yield from _parts(plan.parts)
    yield Line("kubernetes", plan.version, "GKE takes the newest patch of a minor version")


def _parts(parts: GcpParts) -> Iterator[Line]:
    network = parts.network
    if network.existing:
        yield Line("network", f"{network.existing.network}, which exists", "nothing of it is changed")
    elif network.host:
        made = f"nodes in {network.host.nodes}, pods in {network.host.pods}"
        yield Line("network", f"a VPC with MTU {network.host.mtu}, {made}", "private nodes; out through one NAT gateway")
    if network.vpcs:
        rdma = next((each.profile.rpartition("/")[2] for each in network.vpcs if each.profile), None)
        why = f"that of RDMA has the profile {rdma}" if rdma else "one for each rail"
        many = sum(len(each.subnets) for each in network.vpcs)
        yield Line("GPU networks", f"{len(network.vpcs)} VPCs with {many} subnets", why)
    if isinstance(parts.cluster, GkeClusterPlan):
        yield api_line(parts.cluster.access, parts.cluster.public_cidrs)
        system = f"{parts.cluster.system_nodes} x {parts.cluster.system_machine_type}"
        yield Line("system nodes", system, "DNS, controllers and the gate's coordinator run there")
    else:
        yield existing_cluster_line(parts.cluster.name)
    for name, each in parts.filesystems.items():
        what = each.existing or f"{each.size_gib} GiB, {_speed(each)}"
        yield filesystem_line(name, what, existing=each.existing is not None, protect=each.protect)
    for name, store in parts.stores.items():
        yield bucket_line(name, store.bucket, existing=store.existing, protect=store.protect)


def _speed(plan: FilesystemPlan) -> str:
    if isinstance(plan, ManagedLustrePlan):
        return f"{plan.throughput_mbytes_per_s_per_tib} MB/s per TiB"
    return plan.tier.lower() if isinstance(plan, FilestorePlan) else ""


def _nodes(plan: GkeNodePoolPlan) -> Iterator[Line]:
    capacity, machine = plan.capacity, plan.machine
    many = f"0 to {plan.nodes}" if capacity.from_zero else str(plan.nodes)
    driver = f"{plan.image_type}, driver {plan.driver_version}"
    yield Line("nodes", f"{many} x {machine.name}, made as one node pool", driver)
    why = "nodes come when a job asks for them: the gate's outcome is pending" if capacity.from_zero else ""
    yield capacity_line(capacity, why)
    if capacity.affinity and capacity.affinity.values:
        yield Line("reservation", ", ".join(capacity.affinity.values), capacity.affinity.consume_type)
    if plan.attachment == DRANET:
        yield Line("interfaces", f"{machine.fabric_devices} for GPUs, by DRANET", "GKE makes their networks; pods claim them")
    elif plan.attachment:
        number = f"{network_count(machine)} beside the node's own"
        yield Line("interfaces", f"{number}, {machine.fabric_devices} of them for GPUs", str(machine.provenance))
    if plan.attachment and plan.nodes == 1:
        yield Line("one node", "its fabric is not measured, only what is inside it", "it has no other end: two nodes show it")
    if capacity.compact:
        why = "the fabric is fastest between machines that stand near each other"
        yield Line("placement", f"compact, {capacity.placement_policy or 'by a policy of its own'}", why)
    if plan.local_disks:
        use = "striped, for containers and scratch" if plan.local_disks.use == EPHEMERAL else "raw, left to you"
        yield Line("local disks", f"{plan.local_disks.count}, {use}", "disk_tier")
    if plan.surge:
        reason = f"no room for one more is counted on: up to {plan.nodes} nodes are drained one by one in an update"
        yield Line("updates", "without extra nodes", reason)
