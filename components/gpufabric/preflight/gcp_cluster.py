"""Whether the cluster fits: one that exists as it is, one that is made by the versions that Google offers."""

from collections.abc import Iterator
from typing import Any

from gpufabric.hardware.gke import version_numbers
from gpufabric.plan.gcp import GcpStackPlan
from gpufabric.plan.gcp.cluster import ExistingGkePlan, GkeClusterPlan, cluster_path
from gpufabric.plan.gcp.filesystem import ManagedLustrePlan
from gpufabric.plan.gcp.model import NETWORKS
from gpufabric.plan.gcp.node_pool import pool_version_problems
from gpufabric.plan.gcp.parts import LUSTRE
from gpufabric.plan.gcp.version import version_problems
from gpufabric.preflight.gcp_client import Google, Json, last
from gpufabric.preflight.gcp_network import network_path
from gpufabric.spec import Problem

_AT = "cluster.existing.name"
_VERSION = "cluster.kubernetes_version"
_USABLE = ("RUNNING", "RECONCILING")
_LUSTRE, _FILESTORE, _FUSE = "lustreCsiDriverConfig", "gcpFilestoreCsiDriverConfig", "gcsFuseCsiDriverConfig"


def find_cluster(google: Google, plan: GcpStackPlan) -> Json | None:
    """The cluster of the plan, made or existing, as it is now; None where there is none."""
    cluster = plan.parts.cluster
    path = cluster.path if isinstance(cluster, ExistingGkePlan) else cluster_path(cluster.project, cluster.region, cluster.name)
    return google.find("container.clusters.get", path)


def running(plan: GcpStackPlan, found: Json | None) -> frozenset[str]:
    """The groups whose node pools are there already."""
    pools = [str(pool["name"]) for pool in (found or {}).get("nodePools", ())]
    names = {group.name: f"{plan.stack}-{group.name}-" for group in plan.node_groups}
    return frozenset(group for group, prefix in names.items() if any(pool.startswith(prefix) for pool in pools))


def existing(google: Google, plan: GcpStackPlan, cluster: ExistingGkePlan) -> Iterator[Problem]:
    """A cluster that exists: whether it is there, new enough, with the networks and drivers that the stack needs."""
    found = find_cluster(google, plan)
    if found is None:
        yield Problem(_AT, f"Google knows no GKE cluster {cluster.name} in {cluster.location}", "check name and location")
        return
    if found.get("status") not in _USABLE:
        yield Problem(_AT, f"{cluster.name} is {found.get('status')}", "wait until it is RUNNING, or repair it")
    if found.get("autopilot", {}).get("enabled"):
        yield Problem(_AT, f"{cluster.name} is an Autopilot cluster, which takes no node pools", "name a Standard cluster")
    yield from _versions(plan, str(found.get("currentMasterVersion", "")), cluster.name)
    yield from _network(plan, found, cluster)
    yield from _drivers(plan, found, cluster)


def version(google: Google, plan: GcpStackPlan, cluster: GkeClusterPlan) -> Iterator[Problem]:
    """The version of a cluster that is made: the channel offers it, and its newest patch is new enough for the groups."""
    where = f"projects/{google.project}/locations/{cluster.region}/serverConfig"
    found = google.get("container.clusters.list", where)
    channels = {str(each["channel"]): [str(v) for v in each.get("validVersions", ())] for each in found.get("channels", ())}
    wanted = version_numbers(cluster.version)
    offered = channels.get(cluster.release_channel, [])
    fits = [each for each in offered if version_numbers(each)[: len(wanted)] == wanted]
    if fits:
        yield from _too_old(plan, max(fits, key=version_numbers), _VERSION)
        return
    channel = cluster.release_channel.lower()
    minors = sorted({".".join(each.split(".")[:2]) for each in offered}, key=version_numbers)
    others = [name.lower() for name, versions in channels.items() if _has(versions, wanted)]
    reason = (
        f"GKE offers no {cluster.version} in the channel {channel} of {cluster.region}; it has {', '.join(minors) or 'none'}"
    )
    fix = f"write release_channel: {' or '.join(sorted(others))}" if others else "write one of these, in quotes"
    yield Problem(_VERSION, reason, fix)


def _has(versions: list[str], wanted: tuple[int, ...]) -> bool:
    return any(version_numbers(each)[: len(wanted)] == wanted for each in versions)


def _too_old(plan: GcpStackPlan, version: str, at: str) -> Iterator[Problem]:
    """For the groups, or for the driver of a file system."""
    for group in plan.node_groups:
        yield from pool_version_problems(version, group, at)
    if any(isinstance(each, ManagedLustrePlan) for each in plan.parts.filesystems.values()):
        yield from version_problems(version, [LUSTRE], at)


def _versions(plan: GcpStackPlan, has: str, name: str) -> Iterator[Problem]:
    for problem in _too_old(plan, has, _AT):
        yield Problem(_AT, f"{name}: {problem.reason}", "upgrade the control plane", problem.rule)


def _network(plan: GcpStackPlan, found: Json, cluster: ExistingGkePlan) -> Iterator[Problem]:
    config: dict[str, Any] = found.get("networkConfig", {})
    if config.get("datapathProvider") != "ADVANCED_DATAPATH" and any(group.attachment for group in plan.node_groups):
        yield Problem(_AT, f"{cluster.name} has no Dataplane V2, which a cluster is made with", "name, or make, another one")
    if not config.get("enableMultiNetworking") and any(group.attachment == NETWORKS for group in plan.node_groups):
        reason = f"{cluster.name} has no multi-networking, which a cluster is made with: its nodes get no cards of the fabric"
        yield Problem(_AT, reason, "name, or make, another one", "GKE, Set up multi-network support")
    wanted = plan.parts.network.existing
    if wanted is None:
        return
    path = network_path(plan.project, wanted.network)
    if config.get("network") and config["network"] != path:
        reason = f"{cluster.name} is in {config['network']}, not in {path}"
        yield Problem("network.existing.network", reason, f"write network: {last(str(config['network']))}")
    ranges = found.get("ipAllocationPolicy", {})
    if not ranges.get("useIpAliases", True):
        yield Problem(_AT, f"{cluster.name} is not VPC-native", "name, or make, another one")


def _drivers(plan: GcpStackPlan, found: Json, cluster: ExistingGkePlan) -> Iterator[Problem]:
    """What mounts the storage of the stack, and who pods are to the buckets."""
    addons = found.get("addonsConfig", {})
    kinds = {isinstance(each, ManagedLustrePlan) for each in plan.parts.filesystems.values()}
    wanted = {_LUSTRE: True in kinds, _FILESTORE: False in kinds, _FUSE: bool(plan.parts.stores)}
    flags = {_LUSTRE: "LustreCsiDriver", _FILESTORE: "GcpFilestoreCsiDriver", _FUSE: "GcsFuseCsiDriver"}
    for key, needed in wanted.items():
        if needed and not addons.get(key, {}).get("enabled"):
            fix = f"gcloud container clusters update {cluster.name} --update-addons={flags[key]}=ENABLED"
            yield Problem(_AT, f"{cluster.name} lacks the driver {flags[key]}", fix)
    if plan.parts.stores and not found.get("workloadIdentityConfig", {}).get("workloadPool"):
        fix = f"gcloud container clusters update {cluster.name} --workload-pool={plan.project}.svc.id.goog"
        yield Problem(_AT, f"{cluster.name} has no workload identity: its pods reach no bucket", fix)
