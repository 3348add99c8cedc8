"""Any value at any place of a good spec for AWS: a plan, or problems in our words. Never a traceback."""

from typing import Any

from hypothesis import example, given, settings

from tests.plan.aws.wishes import P5, WISHES, plan_of
from tests.plan.cloud_wishes import any_place
from tests.spec.specs import with_value
from tests.spec.test_any_value import json_like

VPC = {"vpc": "vpc-0123456789abcdef0", "subnets": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]}
MADE: dict[str, Any] = {
    **P5,
    "node_groups": [{**P5["node_groups"][0], "ami_type": "AL2023_x86_64_NVIDIA", "ami_release": "1.35.6-20260714"}],
    "tags": {"owner": "ml"},
    "network": {"cidr": "10.0.0.0/16", "gpu_cidr": "10.1.0.0/16", "zones": ["us-east-2b", "us-east-2a"]},
    "cluster": {
        "kubernetes_version": "1.35",
        "admin_principals": ["arn:aws:iam::123456789012:role/ml"],
        "control_plane_tier": "tier-xl",
        "system_nodes": {"machine_type": "m7i.xlarge", "nodes": 2},
    },
    "filesystems": {"data": {"size_gib": 19200, "throughput_mbytes_per_s_per_tib": 250, "metadata_ops_per_s": 12000}},
    "stores": {"weights": {"name": "acme-weights", "protect": False}},
}
FOUND: dict[str, Any] = {
    **{key: value for key, value in P5.items() if key != "api_access"},
    "network": {"existing": {**VPC, "node_subnet": VPC["subnets"][1], "security_group": "sg-0123456789abcdef0"}},
    "cluster": {"existing": {"name": "shared"}},
    "filesystems": {"data": {"existing": "fs-0123456789abcdef0"}},
    "stores": {"weights": {"name": "acme-weights", "existing": True}},
}


def test_the_specs_are_good() -> None:
    for raw in (MADE, FOUND):
        assert plan_of(raw).parts.stores


@settings(max_examples=200, deadline=None)
@given(any_place(MADE, FOUND), json_like)
@example((MADE, ("network", "cidr")), "10.0.0.0/33")
@example((MADE, ("network", "cidr")), "::/64")
@example((MADE, ("network", "cidr")), "\uff11\uff10.0.0.0/16")
@example((MADE, ("api_access", "cidrs", 0)), "203.0.113.0/255.255.255.0")
@example((MADE, ("filesystems", "data", "size_gib")), 10**400)
@example((MADE, ("filesystems",)), {"Data Set": {"size_gib": 19200}})
@example((MADE, ("stores",)), {"a b": {"name": "acme-weights"}})
@example((MADE, ("node_groups", 0, "nodes")), 5000)
@example((MADE, ("tags",)), {"\udfff": "x"})
def test_any_value_at_any_place_of_a_good_spec(place: tuple[dict[str, Any], tuple[str | int, ...]], value: object) -> None:
    WISHES.read(with_value(*place, value))
