"""Decisions for Google Cloud: from the wish to networks, cluster, node pools and storage, as values."""

from gpufabric.plan.gcp.model import (
    GcpStackPlan,
    GkeCapacityPlan,
    GkeNodePoolPlan,
    LocalDisks,
    ReservationAffinity,
)
from gpufabric.plan.gcp.node_pool import plan_alone, plan_node_pool
from gpufabric.plan.gcp.stack import resolve_gcp

__all__ = [
    "GcpStackPlan",
    "GkeCapacityPlan",
    "GkeNodePoolPlan",
    "LocalDisks",
    "ReservationAffinity",
    "plan_alone",
    "plan_node_pool",
    "resolve_gcp",
]
