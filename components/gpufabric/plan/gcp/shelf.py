"""What a stack on Google Cloud can keep files in."""

from collections.abc import Sequence

from gpufabric.hardware.bucket_drivers import GCSFUSE
from gpufabric.hardware.filestore import filestore_band
from gpufabric.hardware.managed_lustre import managed_lustre_tiers
from gpufabric.plan.gcp.cluster import GkeClusterPlan
from gpufabric.plan.gcp.filesystem import FilestorePlan, FilesystemPlan, ManagedLustrePlan
from gpufabric.plan.gcp.model import GcpParts, GkeNodePoolPlan
from gpufabric.plan.gcp.version import version_problems
from gpufabric.plan.storage.model import OwnDriver, SharedFilesystem, Shelf
from gpufabric.plan.storage.shelf import NOT_MADE, lustre, nodes_of
from gpufabric.spec.gcp import GcpTrainingSpec

_BYTES_PER_MIB = 1024**2
SEVERAL_VOLUMES = "gcsfuse-volumes"
"""What the table of versions calls one bucket in one pod by several volumes: a role may share its bucket with another."""


def shelf(spec: GcpTrainingSpec, parts: GcpParts, groups: Sequence[GkeNodePoolPlan]) -> Shelf:
    """Buckets, file systems and the disks of the nodes."""
    return Shelf(
        cloud="gcp",
        region=spec.region,
        buckets={key: {"kind": "gcs", "name": each.bucket} for key, each in parts.stores.items()},
        filesystems={key: _filesystem(each) for key, each in parts.filesystems.items()},
        groups=nodes_of("gcp", groups, spec.node_groups),
        driver=_driver(parts),
    )


def _driver(parts: GcpParts) -> OwnDriver:
    if not isinstance(parts.cluster, GkeClusterPlan):
        return OwnDriver(GCSFUSE, unknown=NOT_MADE)
    old = version_problems(parts.cluster.version, [SEVERAL_VOLUMES], "")
    return OwnDriver(GCSFUSE, lacking=old[0].reason if old else "")


def _filesystem(plan: FilesystemPlan) -> SharedFilesystem:
    if isinstance(plan, ManagedLustrePlan):
        if plan.existing:
            return SharedFilesystem(product="lustre")
        return lustre(plan.size_gib, managed_lustre_tiers()[plan.throughput_mbytes_per_s_per_tib])
    if not isinstance(plan, FilestorePlan) or plan.existing:
        return SharedFilesystem(product="filestore")
    band = filestore_band(plan.tier, plan.size_gib)

    def total(mib_per_s: int | None) -> float | None:
        return None if mib_per_s is None else plan.size_gib / 1024 * mib_per_s * _BYTES_PER_MIB / 1e9

    return SharedFilesystem(
        product="filestore",
        size_gib=plan.size_gib,
        read_gbytes_per_s=total(band.read_mib_per_s),
        write_gbytes_per_s=total(band.write_mib_per_s),
        source=str(band.provenance),
    )
