"""A good wish for AWS, what is planned for it, and what is said of a bad one."""

from datetime import UTC, datetime
from typing import Any

import pytest

from gpufabric.plan.aws import AwsStackPlan, EksNodeGroupPlan, resolve_aws
from gpufabric.spec import SpecError, parse_spec
from gpufabric.spec.aws import AwsTrainingSpec
from tests.spec.specs import IMAGE, changed

NOW = datetime(2026, 11, 29, tzinfo=UTC)
RESERVATION = "cr-0123456789abcdef0"
P5: dict[str, Any] = {
    "cloud": "aws",
    "region": "us-east-2",
    "zone": "us-east-2b",
    "api_access": {"kind": "public", "cidrs": ["203.0.113.0/24"]},
    "node_groups": [{"name": "train", "machine_type": "p5.48xlarge", "nodes": 4}],
    "validation": {"image": IMAGE, "floor_gbytes_per_s": 70.0},
}


def spec_of(raw: dict[str, Any]) -> AwsTrainingSpec:
    """The wish; raises SpecError."""
    spec = parse_spec(raw)
    assert isinstance(spec, AwsTrainingSpec)
    return spec


def plan_of(raw: dict[str, Any], now: datetime = NOW) -> AwsStackPlan:
    """The plan at ``now``; raises SpecError."""
    return resolve_aws(spec_of(raw), "prod", now=now)


def group_of(now: datetime = NOW, **changes: Any) -> EksNodeGroupPlan:
    """The only group of a stack, with changes such as ``machine_type="p4d.24xlarge"``."""
    return plan_of(changed(P5, **{f"group__{key}": value for key, value in changes.items()}), now).node_groups[0]


def says(raw: dict[str, Any]) -> list[str]:
    """The lines that a bad wish is answered with; fails on a good one."""
    with pytest.raises(SpecError) as caught:
        plan_of(raw)
    return str(caught.value).split("\n")


def says_of_group(**changes: Any) -> list[str]:
    """The lines for the only group, without its path."""
    return [
        line.removeprefix("node_groups[0].") for line in says(changed(P5, **{f"group__{k}": v for k, v in changes.items()}))
    ]
