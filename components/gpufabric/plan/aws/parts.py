"""The parts of a stack beside its node groups: network, cluster, file systems, buckets, device plugins.

``*_args`` are what the stack gives its components. The plans are made from the same values, so that nothing passes here and is
refused there.
"""

from collections.abc import Sequence
from typing import Any

from gpufabric.hardware.daemons import daemon_of
from gpufabric.plan.aws.bucket import BucketPlan, plan_bucket
from gpufabric.plan.aws.cluster import ClusterPlan, plan_cluster
from gpufabric.plan.aws.filesystem import LustrePlan, plan_filesystem
from gpufabric.plan.aws.model import INTERFACE, AwsParts, EksNodeGroupPlan
from gpufabric.plan.aws.network import plan_network
from gpufabric.plan.cloud import LABEL_FABRIC
from gpufabric.plan.cloud_group import gpu_nodes, total_problems
from gpufabric.plan.collect import kept, kept_by_key
from gpufabric.plan.storage.parts import same_bucket_problems
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.aws import AwsTrainingSpec
from gpufabric.spec.aws.cluster import EksClusterWish
from gpufabric.spec.aws.network import AwsNetworkWish
from gpufabric.spec.aws.storage import FsxLustreWish, S3BucketWish

_GPU, _EFA = "nvidia.com/gpu", "vpc.amazonaws.com/efa"


def plan_parts(spec: AwsTrainingSpec, groups: Sequence[EksNodeGroupPlan], name: str) -> AwsParts:
    """The plans of all parts of the stack ``name``; raises :class:`SpecError` with every problem of every one."""
    problems = _between_parts(spec)
    network = kept(problems, lambda: plan_network(AwsNetworkWish.parse(network_args(spec), "network"), at="network"))
    cluster = kept(problems, lambda: _cluster(spec, groups, name))
    filesystems = kept_by_key(problems, list(spec.filesystems), lambda key: _filesystem(spec, key))
    stores = kept_by_key(problems, list(spec.stores), lambda key: _bucket(spec, key))
    if problems or network is None or cluster is None:
        raise SpecError(problems)
    return AwsParts(network=network, cluster=cluster, filesystems=filesystems, stores=stores, daemons=daemons_of(groups))


def network_args(spec: AwsTrainingSpec) -> dict[str, Any]:
    """Args of the stack's AwsNetwork."""
    wish = spec.network.model_dump(exclude_unset=True, exclude_none=True)
    return {"zone": spec.zone, "gpu_nodes": gpu_nodes(spec.node_groups), "tags": spec.tags, **wish}


def cluster_args(spec: AwsTrainingSpec, groups: Sequence[EksNodeGroupPlan]) -> dict[str, Any]:
    """Args of the stack's EksCluster, without its subnets, which another resource yields."""
    wish = spec.cluster.model_dump(exclude_unset=True, exclude_none=True)
    if spec.api_access:
        wish["api_access"] = spec.api_access.model_dump(exclude_unset=True)
    if spec.cluster.existing:
        return {"region": spec.region, **wish}
    delegation = any(map(needs_prefix_delegation, groups))
    more = {"gpu_nodes": gpu_nodes(spec.node_groups), "prefix_delegation": delegation, "tags": spec.tags}
    return {"region": spec.region, **more, **wish}


def lustre_args(spec: AwsTrainingSpec, name: str) -> dict[str, Any]:
    """Args of one FsxLustre, without its ids. The claim is named as the file system."""
    wish = spec.filesystems[name].model_dump(exclude_unset=True, exclude_none=True)
    first = next(iter(spec.filesystems))
    return {"claim": name, "driver": name == first, "tags": spec.tags, **wish}


def bucket_args(spec: AwsTrainingSpec, name: str) -> dict[str, Any]:
    """Args of one S3Bucket, without the cluster's name."""
    return {"tags": spec.tags, **spec.stores[name].model_dump(exclude_unset=True, exclude_none=True)}


def daemons_of(groups: Sequence[EksNodeGroupPlan]) -> tuple[str, ...]:
    """The device plugins that the groups' nodes need, by name."""
    resources = [_GPU] if groups else []
    resources += [_EFA] if any(LABEL_FABRIC in group.labels for group in groups) else []
    return tuple(daemon_of(resource).name for resource in resources)


def needs_prefix_delegation(group: EksNodeGroupPlan) -> bool:
    """Whether the interfaces of card 0 are all in use: then the CNI can add none, and one interface has 50 addresses."""
    on_first = [each for each in group.interfaces if each.card == 0]
    return any(each.kind == INTERFACE for each in on_first) and len(on_first) >= group.machine.interfaces_per_card > 0


def _cluster(spec: AwsTrainingSpec, groups: Sequence[EksNodeGroupPlan], name: str) -> ClusterPlan | str:
    wish = EksClusterWish.parse(cluster_args(spec, groups), "cluster")
    return plan_cluster(name, wish, has_subnets=wish.existing is None, at="cluster")


def _filesystem(spec: AwsTrainingSpec, key: str) -> LustrePlan:
    at = f"filesystems.{key}"
    return plan_filesystem(FsxLustreWish.parse(lustre_args(spec, key), at), at=at)


def _bucket(spec: AwsTrainingSpec, key: str) -> BucketPlan:
    at = f"stores.{key}"
    return plan_bucket(S3BucketWish.parse(bucket_args(spec, key), at), in_cluster=True, at=at)


def _between_parts(spec: AwsTrainingSpec) -> list[Problem]:
    problems = total_problems(spec.node_groups)
    if spec.cluster.existing and not spec.network.existing:
        reason = "missing: the cluster exists, and its nodes live in its VPC"
        problems.append(Problem("network.existing", reason, "write {vpc: vpc-..., subnets: [subnet-..., subnet-...]}"))
    return [*problems, *same_bucket_problems({key: store.name for key, store in spec.stores.items()})]
