"""What a stack on AWS can keep files in."""

from collections.abc import Sequence

from gpufabric.hardware.bucket_drivers import MOUNTPOINT
from gpufabric.hardware.lustre import lustre_throughputs
from gpufabric.plan.aws.cluster import ClusterPlan
from gpufabric.plan.aws.filesystem import LustrePlan
from gpufabric.plan.aws.model import AwsParts, EksNodeGroupPlan
from gpufabric.plan.storage.model import OwnDriver, SharedFilesystem, Shelf
from gpufabric.plan.storage.shelf import NOT_MADE, lustre, nodes_of
from gpufabric.spec.aws import AwsTrainingSpec


def shelf(spec: AwsTrainingSpec, parts: AwsParts, groups: Sequence[EksNodeGroupPlan]) -> Shelf:
    """Buckets, file systems and the disks of the nodes."""
    return Shelf(
        cloud="aws",
        region=spec.region,
        buckets={key: {"kind": "s3", "name": each.bucket, "region": spec.region} for key, each in parts.stores.items()},
        filesystems={key: _filesystem(each) for key, each in parts.filesystems.items()},
        groups=nodes_of("aws", groups, spec.node_groups),
        driver=OwnDriver(MOUNTPOINT, unknown="" if isinstance(parts.cluster, ClusterPlan) else NOT_MADE),
    )


def _filesystem(plan: LustrePlan) -> SharedFilesystem:
    if plan.existing:
        return SharedFilesystem(product="lustre")
    return lustre(plan.size_gib, lustre_throughputs()[plan.throughput_mbytes_per_s_per_tib])
