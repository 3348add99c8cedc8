"""The parts of a stack beside its node pools: network, cluster, file systems, buckets.

``*_args`` are what the stack gives its components. The plans are made from the same values, so that nothing passes here and is
refused there.
"""

from collections.abc import Sequence
from typing import Any

from gpufabric.hardware.daemons import daemons_for
from gpufabric.plan.cloud_group import gpu_nodes, total_problems
from gpufabric.plan.collect import kept, kept_by_key
from gpufabric.plan.fabric_networks import widest
from gpufabric.plan.gcp.bucket import GcsBucketPlan, plan_bucket
from gpufabric.plan.gcp.cluster import HANDLES, ExistingGkePlan, GkeClusterPlan, plan_cluster
from gpufabric.plan.gcp.filesystem import FilesystemPlan, plan_filestore, plan_lustre
from gpufabric.plan.gcp.model import NETWORKS, GcpParts, GkeNodePoolPlan
from gpufabric.plan.gcp.names import POOL_MOST, name_problems
from gpufabric.plan.gcp.network import NetworkPlan, plan_network
from gpufabric.plan.storage.parts import same_bucket_problems
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.gcp import GcpTrainingSpec
from gpufabric.spec.gcp.cluster import GkeClusterWish
from gpufabric.spec.gcp.network import GcpNetworkWish
from gpufabric.spec.gcp.storage import FilestoreWish, GcsBucketWish, ManagedLustreWish

LUSTRE, FILESTORE = "lustre", "filestore"
_KEYS_OF = {LUSTRE: "throughput_mbytes_per_s_per_tib", FILESTORE: "tier"}


def plan_parts(spec: GcpTrainingSpec, groups: Sequence[GkeNodePoolPlan], name: str) -> GcpParts:
    """The plans of all parts of the stack ``name``; raises :class:`SpecError` with every problem of every one."""
    problems = _between_parts(spec, name)
    network = kept(problems, lambda: _network(spec, groups))
    cluster = kept(problems, lambda: _cluster(spec, name))
    filesystems = kept_by_key(problems, list(spec.filesystems), lambda key: _filesystem(spec, key, name))
    stores = kept_by_key(problems, list(spec.stores), lambda key: _bucket(spec, key))
    if problems or network is None or cluster is None:
        raise SpecError(problems)
    by_networks = [group.machine.name for group in groups if group.attachment == NETWORKS]
    return GcpParts(
        network=network,
        cluster=cluster,
        filesystems=filesystems,
        stores=stores,
        daemons=daemons_for(dict.fromkeys(group.machine.fabric for group in groups if group.attachment)),
        networked=widest(dict.fromkeys(by_networks)),
    )


def network_args(spec: GcpTrainingSpec, groups: Sequence[GkeNodePoolPlan]) -> dict[str, Any]:
    """Args of the stack's GcpNetwork."""
    wish = spec.network.model_dump(exclude_unset=True, exclude_none=True)
    machines = dict.fromkeys(group.machine.name for group in groups if group.attachment == NETWORKS)
    # File systems stand in a network of Google's, which is peered with the nodes'. One that exists has its peering.
    made = spec.network.existing is None and any(each.existing is None for each in spec.filesystems.values())
    more = {
        "machine_types": list(machines),
        "gpu_nodes": gpu_nodes(spec.node_groups),
        **({"private_services": True} if made else {}),
    }
    return {**_place(spec), **more, **wish}


def cluster_args(spec: GcpTrainingSpec) -> dict[str, Any]:
    """Args of the stack's GkeCluster, without the names of its network, which another resource yields."""
    wish = spec.cluster.model_dump(exclude_unset=True, exclude_none=True)
    if spec.api_access:
        wish["api_access"] = spec.api_access.model_dump(exclude_unset=True)
    if spec.cluster.existing:
        return {"project": spec.project, "region": spec.region, **wish}
    drivers = [*(["gcsfuse"] if spec.stores else []), *dict.fromkeys(each.kind for each in spec.filesystems.values())]
    return {**_place(spec), "csi_drivers": drivers, "tags": spec.tags, **wish}


def filesystem_args(spec: GcpTrainingSpec, name: str) -> dict[str, Any]:
    """Args of one ManagedLustre or Filestore, without its network. The claim is named as the file system."""
    wish = spec.filesystems[name].model_dump(exclude_unset=True, exclude_none=True, exclude={"kind"})
    return {"project": spec.project, "zone": spec.zone, "claim": name, "tags": spec.tags, **wish}


def bucket_args(spec: GcpTrainingSpec, name: str) -> dict[str, Any]:
    """Args of one GcsBucket."""
    store = spec.stores[name]
    where = {} if store.existing else {"region": spec.region}
    wish = store.model_dump(exclude_unset=True, exclude_none=True)
    return {"project": spec.project, **where, "tags": spec.tags, **wish}


def _place(spec: GcpTrainingSpec) -> dict[str, Any]:
    return {"project": spec.project, "region": spec.region, "zone": spec.zone}


def _network(spec: GcpTrainingSpec, groups: Sequence[GkeNodePoolPlan]) -> NetworkPlan:
    return plan_network(GcpNetworkWish.parse(network_args(spec, groups), "network"), at="network")


def _cluster(spec: GcpTrainingSpec, name: str) -> GkeClusterPlan | ExistingGkePlan:
    wish = GkeClusterWish.parse(cluster_args(spec), "cluster")
    return plan_cluster(name, wish, handles=set() if wish.existing else set(HANDLES), at="cluster")


def _filesystem(spec: GcpTrainingSpec, key: str, name: str) -> FilesystemPlan:
    wish, at = spec.filesystems[key], f"filesystems.{key}"
    for kind, stray in _KEYS_OF.items():
        if kind != wish.kind and getattr(wish, stray) is not None:
            raise SpecError(
                [Problem(f"{at}.{stray}", f"does not apply to kind: {wish.kind}", f"leave it out, or write kind: {kind}")]
            )
    args, handles = filesystem_args(spec, key), set() if wish.existing else {"network"}
    if wish.kind == FILESTORE:
        return plan_filestore(f"{name}-{key}", FilestoreWish.parse(args, at), handles=handles, at=at)
    return plan_lustre(f"{name}-{key}", ManagedLustreWish.parse(args, at), handles=handles, at=at)


def _bucket(spec: GcpTrainingSpec, key: str) -> GcsBucketPlan:
    at = f"stores.{key}"
    return plan_bucket(GcsBucketWish.parse(bucket_args(spec, key), at), at=at)


def _between_parts(spec: GcpTrainingSpec, name: str) -> list[Problem]:
    problems = total_problems(spec.node_groups)
    if spec.cluster.existing and not spec.network.existing:
        reason = "missing: the cluster exists, and its nodes live in its VPC"
        fix = "write {network: ..., subnetwork: ..., pods_range: ..., services_range: ...}"
        problems.append(Problem("network.existing", reason, fix))
    for position, group in enumerate(spec.node_groups):
        problems += name_problems(f"{name}-{group.name}", "a node pool of GKE", POOL_MOST, f"node_groups[{position}].name")
    return [*problems, *same_bucket_problems({key: store.name for key, store in spec.stores.items()})]
