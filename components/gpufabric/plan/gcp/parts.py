"""The parts of a stack beside its node pools: network, cluster, file systems, buckets.

``*_args`` are what the stack gives its components. The plans are made from the same values, so that nothing passes here and is
refused there.
"""

from collections.abc import Sequence
from typing import Any

from gpufabric.plan.gcp.model import NETWORKS, GcpParts, GkeNodePoolPlan
from gpufabric.plan.gcp.network import plan_network
from gpufabric.spec.gcp import GcpTrainingSpec
from gpufabric.spec.gcp.network import GcpNetworkWish


def plan_parts(spec: GcpTrainingSpec, groups: Sequence[GkeNodePoolPlan], name: str) -> GcpParts:  # noqa: ARG001
    """The plans of all parts of the stack ``name``; raises :class:`SpecError` with every problem of every one."""
    return GcpParts(network=plan_network(GcpNetworkWish.parse(network_args(spec, groups), "network"), at="network"))


def network_args(spec: GcpTrainingSpec, groups: Sequence[GkeNodePoolPlan]) -> dict[str, Any]:
    """Args of the stack's GcpNetwork."""
    wish = spec.network.model_dump(exclude_unset=True, exclude_none=True)
    machines = dict.fromkeys(group.machine.name for group in groups if group.attachment == NETWORKS)
    where = {"project": spec.project, "region": spec.region, "zone": spec.zone}
    total = min(sum(group.nodes for group in spec.node_groups), 5000)
    return {**where, "machine_types": list(machines), "gpu_nodes": total, **wish}
