"""A good wish for Google Cloud, what is planned for it, and what is said of a bad one."""

from datetime import datetime
from typing import Any

from gpufabric.plan.gcp import GcpStackPlan, GkeNodePoolPlan, resolve_gcp
from gpufabric.spec.gcp import GcpTrainingSpec
from tests.plan.cloud_wishes import NOW, Wishes
from tests.spec.specs import IMAGE

__all__ = ["NOW", "ULTRA", "WISHES", "group_of", "plan_of", "says", "says_of_group", "spec_of", "with_group"]

ULTRA: dict[str, Any] = {
    "cloud": "gcp",
    "project": "acme-training",
    "region": "us-central1",
    "zone": "us-central1-a",
    "api_access": {"kind": "public", "cidrs": ["203.0.113.0/24"]},
    "node_groups": [{"name": "train", "machine_type": "a3-ultragpu-8g", "nodes": 4}],
    "validation": {"image": IMAGE, "floor_gbytes_per_s": 70.0},
}


def _resolve(spec: GcpTrainingSpec, stack: str, now: datetime) -> GcpStackPlan:
    return resolve_gcp(spec, stack, now=now)


WISHES = Wishes(ULTRA, GcpTrainingSpec, _resolve)
spec_of, plan_of, says, says_of_group = WISHES.spec_of, WISHES.plan_of, WISHES.says, WISHES.says_of_group
with_group = WISHES.with_group


def group_of(now: datetime = NOW, **changes: Any) -> GkeNodePoolPlan:
    """The only group of a stack, with changes such as ``machine_type="a3-megagpu-8g"``."""
    return plan_of(with_group(**changes), now).node_groups[0]
