"""Decisions for AWS: from the wish to launch templates, node groups, network, cluster, daemons and storage, as values."""

from gpufabric.plan.aws.cluster import kubernetes_version
from gpufabric.plan.aws.model import (
    AwsStackPlan,
    CapacityPlan,
    EksNodeGroupPlan,
    NetworkInterface,
    Phase,
    ScaleUp,
)
from gpufabric.plan.aws.node_group import gate_group, plan_alone, plan_node_group
from gpufabric.plan.aws.stack import group_validation, plan_gates, resolve_aws

__all__ = [
    "AwsStackPlan",
    "CapacityPlan",
    "EksNodeGroupPlan",
    "NetworkInterface",
    "Phase",
    "ScaleUp",
    "gate_group",
    "group_validation",
    "kubernetes_version",
    "plan_alone",
    "plan_gates",
    "plan_node_group",
    "resolve_aws",
]
