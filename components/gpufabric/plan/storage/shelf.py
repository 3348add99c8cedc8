"""What every cloud says alike of what its stacks can keep files in."""

from collections.abc import Sequence

from gpufabric.hardware.lustre import LustreThroughput
from gpufabric.hardware.managed_lustre import ManagedLustreTier
from gpufabric.hardware.storage import node_disks
from gpufabric.plan.cloud_group import node_labels
from gpufabric.plan.cloud_model import CloudGroupPlan
from gpufabric.plan.storage.model import Nodes, SharedFilesystem
from gpufabric.spec.cloud import CloudNodeGroupSpec

NOT_MADE = "the cluster exists, and whether it has the driver is not known"
"""Of a cluster that the stack does not make."""
_BYTES_PER_GIB = 1024**3


def nodes_of(cloud: str, groups: Sequence[CloudGroupPlan], wishes: Sequence[CloudNodeGroupSpec]) -> tuple[Nodes, ...]:
    """The groups that could be planned, and what their local disks hold for pods: nothing where they are not striped."""
    path = node_disks()[cloud].path
    striped = {wish.name for wish in wishes if wish.disk_tier == "best"}
    return tuple(
        Nodes(
            group=group.name,
            selector=node_labels(group.name, None),
            nodes=group.nodes,
            gpus=group.machine.accelerators,
            network_gbytes_per_s=group.machine.network_gbits_per_s / 8,
            nvme_gib=int(group.machine.local_disk_gb * 1e9 / _BYTES_PER_GIB) if group.name in striped else 0,
            nvme_path=path,
        )
        for group in groups
    )


def lustre(size_gib: int, row: LustreThroughput | ManagedLustreTier) -> SharedFilesystem:
    """Its rate is bought per TiB, for reads and writes alike."""
    total = size_gib / 1024 * row.throughput_mbytes_per_s / 1000
    return SharedFilesystem(
        product="lustre", size_gib=size_gib, read_gbytes_per_s=total, write_gbytes_per_s=total, source=str(row.provenance)
    )
