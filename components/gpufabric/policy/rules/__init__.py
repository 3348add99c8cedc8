"""The rules, by topic."""

from typing import Final

from gpufabric.policy.model import Rule
from gpufabric.policy.rules import access, cluster, cost, google, nics, nodes, placement, storage, versions

TOPICS: Final[dict[str, tuple[Rule, ...]]] = {
    "Fabric": (
        nics.nic_layout,
        nics.nic_no_top_level_sg,
        nics.efa_sg_self,
        nics.fabric_tier_honest,
        cluster.pod_asks_for_fabric,
    ),
    "Placement and capacity": (
        placement.fabric_groups_single_zone,
        placement.placement_vs_reservation,
        placement.capacity_block_market_type,
        placement.capacity_block_protected,
        placement.reserved_no_surge,
    ),
    "Nodes": (
        nodes.launch_template_exclusive,
        nodes.gpu_image,
        nodes.one_driver_source,
        nodes.gpu_taint_and_label,
        versions.pinned_versions,
    ),
    "Google Kubernetes Engine": (
        google.gke_fabric_networks,
        google.gke_multi_networking,
        google.rdma_network,
        google.gke_capacity,
        google.gke_disks,
    ),
    "Cluster": (cluster.nccl_gate_present, cluster.health_agent_present, cluster.metrics_present),
    "Storage": (
        storage.checkpoint_durable,
        storage.checkpoint_can_rename,
        storage.checkpoint_retained,
        storage.cache_fits_disk,
        storage.storage_same_zone,
        storage.filesystem_size,
        storage.fs_throughput_per_gpu,
        storage.spot_needs_checkpoint,
    ),
    "Cost": (cost.budget, cost.ttl_and_owner, nodes.dev_scales_to_zero),
    "Access": (
        access.no_public_endpoint,
        access.no_public_ip,
        access.instance_metadata,
        access.encrypted,
        access.secrets_not_plain,
        access.privileged_pods,
    ),
}
RULES: Final[tuple[Rule, ...]] = tuple(each for topic in TOPICS.values() for each in topic)
"""All rules, in the order of the documentation."""
