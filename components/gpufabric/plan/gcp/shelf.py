"""What a stack on Google Cloud can keep files in."""

from collections.abc import Sequence

from gpufabric.hardware.filestore import filestore_band
from gpufabric.hardware.managed_lustre import managed_lustre_tiers
from gpufabric.plan.gcp.filesystem import FilestorePlan, FilesystemPlan, ManagedLustrePlan
from gpufabric.plan.gcp.model import GcpParts, GkeNodePoolPlan
from gpufabric.plan.storage.model import SharedFilesystem, Shelf
from gpufabric.plan.storage.shelf import lustre, nodes_of
from gpufabric.spec.gcp import GcpTrainingSpec

_BYTES_PER_MIB = 1024**2


def shelf(spec: GcpTrainingSpec, parts: GcpParts, groups: Sequence[GkeNodePoolPlan]) -> Shelf:
    """Buckets, file systems and the disks of the nodes."""
    return Shelf(
        cloud="gcp",
        region=spec.region,
        buckets={key: {"kind": "gcs", "name": each.bucket} for key, each in parts.stores.items()},
        filesystems={key: _filesystem(each) for key, each in parts.filesystems.items()},
        groups=nodes_of("gcp", groups, spec.node_groups),
    )


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
