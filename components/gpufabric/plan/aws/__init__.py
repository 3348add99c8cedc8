"""Decisions for AWS: from the wish to launch templates, node groups, network, cluster, daemons and storage, as values."""

from gpufabric.plan.aws.model import (
    AwsStackPlan,
    CapacityPlan,
    EksNodeGroupPlan,
    NetworkInterface,
    Phase,
    ScaleUp,
)

__all__ = [
    "AwsStackPlan",
    "CapacityPlan",
    "EksNodeGroupPlan",
    "NetworkInterface",
    "Phase",
    "ScaleUp",
]
