"""Decisions for AWS: from the wish to launch templates, node groups, network, cluster, daemons and storage, as values."""

from gpufabric.plan.aws.cluster import kubernetes_version
from gpufabric.plan.aws.model import AwsCapacityPlan, AwsStackPlan, EksNodeGroupPlan, NetworkInterface, ScaleUp
from gpufabric.plan.aws.node_group import plan_alone, plan_node_group
from gpufabric.plan.aws.stack import resolve_aws

__all__ = [
    "AwsCapacityPlan",
    "AwsStackPlan",
    "EksNodeGroupPlan",
    "NetworkInterface",
    "ScaleUp",
    "kubernetes_version",
    "plan_alone",
    "plan_node_group",
    "resolve_aws",
]
