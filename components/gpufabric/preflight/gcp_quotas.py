"""Whether the project's quotas hold a plan: GPUs, the vCPUs of the system nodes, disks, networks."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from gpufabric.hardware.quotas import gcp_cpu_quota, gcp_disk_quota, gcp_gpu_quotas
from gpufabric.plan.gcp import GcpStackPlan
from gpufabric.plan.gcp.cluster import GkeClusterPlan
from gpufabric.preflight.gcp_client import Google, Json
from gpufabric.preflight.gcp_machines import zone_of
from gpufabric.preflight.questions import UnansweredError
from gpufabric.spec import Problem

Demand = Mapping[tuple[str, str], int]
"""GPUs by quota and by the family that is its dimension (empty: it has none)."""
_MORE = "ask Google for more (IAM & Admin, Quotas), which takes days"
_UNLIMITED = -1
_ALL_GPUS = "GPUS_ALL_REGIONS"


def gpu_demand(plan: GcpStackPlan) -> Demand:
    """What the groups ask for. A reservation counts when it is made."""
    needed: dict[tuple[str, str], int] = defaultdict(int)
    for group in plan.node_groups:
        row = gcp_gpu_quotas()[group.machine.accelerator_type]
        if group.capacity.kind == "reservation":
            continue
        on_demand = group.capacity.kind == "on_demand"
        key = (row.on_demand, row.gpu_family) if on_demand else (row.preemptible, "")
        needed[key] += group.nodes * group.machine.accelerators
    return needed


def network_demand(plan: GcpStackPlan) -> Mapping[str, int]:
    """Networks and what goes with them, by the names of the project's quotas."""
    network = plan.parts.network
    host = 1 if network.host else 0
    peered = 1 if network.host and network.host.services_peer else 0
    return {
        "NETWORKS": host + len(network.vpcs),
        "SUBNETWORKS": host + sum(len(each.subnets) for each in network.vpcs),
        "FIREWALLS": peered + sum(len(each.subnets) for each in network.vpcs if not each.profile),
        "ROUTERS": host,
    }


def gpus(google: Google, plan: GcpStackPlan, quota: str, family: str, wanted: int) -> Iterator[Problem]:
    """One quota of GPUs in the region. What runs already is not subtracted: this API does not say it."""
    where = f"projects/{google.project}/locations/global/services/compute.googleapis.com/quotaInfos/{quota}"
    found = google.find("cloudquotas.quotas.get", where)
    named = f"{quota}{f' of {family}' if family else ''}"
    if found is None:
        raise UnansweredError(f"Google knows no quota {quota}", "look for it in the console (IAM & Admin, Quotas)")
    granted = _granted(found, {"region": plan.region, "gpu_family": family}, plan.region)
    if granted != _UNLIMITED and granted < wanted:
        reason = f"{wanted} GPUs are asked for; the quota {named} is {granted} in {plan.region}"
        yield Problem("node_groups", reason, _MORE)


def all_gpus(google: Google, plan: GcpStackPlan, *, in_use: bool) -> Iterator[Problem]:
    """The one quota of all GPUs of the project, beside those by kind and region."""
    wanted = sum(g.nodes * g.machine.accelerators for g in plan.node_groups if g.capacity.kind == "on_demand")
    if wanted:
        found = google.get("compute.projects.get", f"projects/{google.project}")
        yield from _over(found, {_ALL_GPUS: wanted}, "node_groups", google.project, in_use=in_use)


def disks(google: Google, plan: GcpStackPlan, *, in_use: bool) -> Iterator[Problem]:
    """Boot disks of the GPU nodes."""
    wanted: dict[str, int] = defaultdict(int)
    for group in plan.node_groups:
        if row := gcp_disk_quota(group.boot_disk_type):
            wanted[row.metric] += group.nodes * group.boot_disk_gib
    found = google.get("compute.regions.get", f"projects/{google.project}/regions/{plan.region}")
    yield from _over(found, wanted, "node_groups", plan.region, in_use=in_use)


def system_cpus(google: Google, plan: GcpStackPlan, *, in_use: bool) -> Iterator[Problem]:
    """vCPUs of the system nodes."""
    cluster = plan.parts.cluster
    if not isinstance(cluster, GkeClusterPlan) or zone_of(google, plan) is None:
        return
    kind, at = cluster.system_machine_type, "cluster.system_nodes"
    found = google.find("compute.machineTypes.get", f"projects/{google.project}/zones/{plan.zone}/machineTypes/{kind}")
    if found is None:
        yield Problem(f"{at}.machine_type", f"Google does not offer {kind} in {plan.zone}", "write another one")
        return
    row = gcp_cpu_quota(kind)
    if row is None:
        raise UnansweredError(f"no table here says which quota {kind} counts towards", "look for it in the console")
    region = google.get("compute.regions.get", f"projects/{google.project}/regions/{plan.region}")
    wanted = {row.metric: cluster.system_nodes * int(found["guestCpus"])}
    yield from _over(region, wanted, at, plan.region, in_use=in_use)


def networks(google: Google, plan: GcpStackPlan, *, in_use: bool) -> Iterator[Problem]:
    """Networks, subnets, firewall rules and routers of the project."""
    found = google.get("compute.projects.get", f"projects/{google.project}")
    yield from _over(found, network_demand(plan), "network", google.project, in_use=in_use)


def _over(found: Json, wanted: Mapping[str, int], at: str, where: str, *, in_use: bool) -> Iterator[Problem]:
    """Quotas of a project or region that do not hold what is wanted. ``in_use``: what is used may be the stack's own."""
    quotas: Mapping[str, Mapping[str, Any]] = {each["metric"]: each for each in found.get("quotas", ())}
    lacking = sorted(metric for metric, count in wanted.items() if count and metric not in quotas)
    for metric, count in wanted.items():
        if metric not in quotas:
            continue
        limit, used = int(quotas[metric]["limit"]), 0 if in_use else int(quotas[metric].get("usage", 0))
        if limit != _UNLIMITED and used + count > limit:
            taken = f", and {used} are in use" if used else ""
            reason = f"{count} are asked for{taken}; the quota {metric} is {limit} in {where}"
            yield Problem(at, reason, _MORE)
    if lacking:
        raise UnansweredError(f"Google lists no {', '.join(lacking)} for {where}", "look for it in the console")


def _granted(info: Json, dimensions: Mapping[str, str], region: str) -> int:
    """The value of the first entry that is of these dimensions: they come from the most special to the most general.

    A value of 0 is left out of JSON by Google's APIs.
    """
    for each in info.get("dimensionsInfos", ()):
        places = each.get("applicableLocations") or [region]
        if region in places and all(dimensions.get(key) == value for key, value in each.get("dimensions", {}).items()):
            return int(each.get("details", {}).get("value", 0))
    return 0
