"""A good wish for AWS, what is planned for it, and what is said of a bad one."""

from datetime import datetime
from typing import Any

from gpufabric.plan.aws import AwsStackPlan, EksNodeGroupPlan, resolve_aws
from gpufabric.spec.aws import AwsTrainingSpec
from tests.plan.cloud_wishes import NOW, Wishes
from tests.spec.specs import IMAGE

__all__ = ["NOW", "P5", "RESERVATION", "WISHES", "group_of", "plan_of", "says", "says_of_group", "spec_of"]

RESERVATION = "cr-0123456789abcdef0"
P5: dict[str, Any] = {
    "cloud": "aws",
    "region": "us-east-2",
    "zone": "us-east-2b",
    "api_access": {"kind": "public", "cidrs": ["203.0.113.0/24"]},
    "node_groups": [{"name": "train", "machine_type": "p5.48xlarge", "nodes": 4}],
    "validation": {"image": IMAGE, "floor_gbytes_per_s": 70.0},
}


def _resolve(spec: AwsTrainingSpec, stack: str, now: datetime) -> AwsStackPlan:
    return resolve_aws(spec, stack, now=now)


WISHES = Wishes(P5, AwsTrainingSpec, _resolve)
spec_of, plan_of, says, says_of_group = WISHES.spec_of, WISHES.plan_of, WISHES.says, WISHES.says_of_group


def group_of(now: datetime = NOW, **changes: Any) -> EksNodeGroupPlan:
    """The only group of a stack, with changes such as ``machine_type="p4d.24xlarge"``."""
    return plan_of(WISHES.with_group(**changes), now).node_groups[0]
