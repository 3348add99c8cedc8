"""Any value at any place of a good spec for AWS: a plan, or problems in our words. Never a traceback."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpufabric.plan.aws import resolve_aws
from gpufabric.spec import SpecError, parse_spec
from gpufabric.spec.aws import AwsTrainingSpec
from tests.plan.aws.wishes import NOW, P5
from tests.spec.specs import with_value
from tests.spec.test_any_value import checked, json_like, places

VPC = {"vpc": "vpc-0123456789abcdef0", "subnets": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]}
MADE: dict[str, Any] = {
    **P5,
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
PLACES = [(spec, path) for spec in (MADE, FOUND) for path in places(spec) if path]


def read(raw: object) -> None:
    try:
        spec = parse_spec(raw)
        if isinstance(spec, AwsTrainingSpec):
            resolve_aws(spec, "prod", now=NOW)
    except SpecError as error:
        checked(error)


def test_the_specs_are_good() -> None:
    for raw in (MADE, FOUND):
        spec = parse_spec(raw)
        assert isinstance(spec, AwsTrainingSpec)
        assert resolve_aws(spec, "prod", now=NOW).parts.stores


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(PLACES), json_like)
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
    read(with_value(*place, value))
