"""How the block of a VPC is cut: no overlap, room for the nodes, zones of one region."""

from ipaddress import IPv4Network
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpufabric.plan.aws.network import ADDRESSES_PER_GPU_NODE, cluster_zones, plan_network
from gpufabric.spec import SpecError
from gpufabric.spec.aws.network import AwsNetworkWish

blocks = st.builds(
    lambda prefix, second, third: str(IPv4Network((f"10.{second}.{third}.0", prefix), strict=False)),
    st.integers(16, 20),
    st.integers(0, 255),
    st.integers(0, 255),
)


def wish(**keys: Any) -> AwsNetworkWish:
    return AwsNetworkWish.parse({"zone": "us-east-2b", **keys})


def says(**keys: Any) -> str:
    with pytest.raises(SpecError) as caught:
        plan_network(wish(**keys))
    return str(caught.value)


@given(blocks, st.sampled_from([None, ["us-east-2a", "us-east-2b", "us-east-2c"]]))
def test_no_two_subnets_overlap_and_all_lie_in_the_block(cidr: str, zones: list[str] | None) -> None:
    plan = plan_network(wish(cidr=cidr, **({"zones": zones} if zones else {})))
    cut = [IPv4Network(each.cidr) for each in plan.subnets]
    assert all(block.subnet_of(IPv4Network(cidr)) for block in cut)
    assert not any(one.overlaps(other) for one, other in combinations(cut, 2))
    assert all(16 <= block.prefixlen <= 28 for block in cut), "what AWS takes"
    assert len({each.key for each in plan.subnets}) == len(cut)
    assert len({each.zone for each in plan.cluster_subnets}) >= 2
    assert {each.zone for each in plan.subnets if each.key in ("gpu", "public")} == {"us-east-2b"}


def test_a_zone_that_is_added_moves_no_other_subnet() -> None:
    two = {each.key: each.cidr for each in plan_network(wish(zones=["us-east-2b", "us-east-2a"])).subnets}
    three = {each.key: each.cidr for each in plan_network(wish(zones=["us-east-2b", "us-east-2a", "us-east-2c"])).subnets}
    assert two.items() <= three.items()


@pytest.mark.parametrize(("cidr", "most"), [("10.0.0.0/16", 511), ("10.0.0.0/18", 127), ("10.0.0.0/20", 31)])
def test_as_many_gpu_nodes_as_there_is_room_for(cidr: str, most: int) -> None:
    plan = plan_network(wish(cidr=cidr, gpu_nodes=most))
    (gpu,) = [IPv4Network(each.cidr) for each in plan.subnets if each.key == "gpu"]
    assert gpu.num_addresses - 5 >= most * ADDRESSES_PER_GPU_NODE
    assert says(cidr=cidr, gpu_nodes=most + 1) == (
        f"cidr: {gpu} has room for {most} GPU nodes (64 addresses each), {most + 1} are asked for; "
        "write gpu_cidr: 10.1.0.0/16, a block for GPU nodes alone"
    )
    assert plan_network(wish(cidr=cidr, gpu_nodes=most + 1, gpu_cidr="10.1.0.0/16")).gpu_cidr == "10.1.0.0/16"


def test_what_no_subnet_can_hold_is_said() -> None:
    assert says(gpu_cidr="10.1.0.0/16", gpu_nodes=1024).endswith(
        "1024 are asked for; a subnet holds at most 1023: split the cluster, or bring a network with network.existing"
    )
    assert says(gpu_cidr="10.1.0.0/18", gpu_nodes=300).endswith("300 are asked for; write a larger block, at most a /16")


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (
            {"gpu_cidr": "10.0.0.0/17"},
            "gpu_cidr: 10.0.0.0/17 overlaps cidr (10.0.0.0/16); write for example 10.1.0.0/16",
        ),
        (
            {"gpu_cidr": "192.168.0.0/16"},
            (
                "gpu_cidr: 192.168.0.0/16 is not of the same private range as cidr (10.0.0.0/16); write for example "
                "10.1.0.0/16, or a block of 100.64.0.0/10 (Amazon VPC user guide, VPC CIDR blocks, 2026-11)"
            ),
        ),
        (
            {"zones": ["us-east-2a", "us-east-2c"]},
            (
                "zones: us-east-2b, where the GPU nodes are, is not among them; "
                "add us-east-2b: EKS puts nodes only where the cluster has a subnet"
            ),
        ),
        (
            {"zones": ["us-east-2b", "us-east-1a"]},
            "zones: us-east-1a is not in us-east-2, the region of us-east-2b; write zones of one region",
        ),
    ],
)
def test_blocks_and_zones_that_do_not_fit(keys: dict[str, Any], line: str) -> None:
    assert says(**keys) == line


def test_a_second_block_of_the_shared_range_goes_with_every_first_one() -> None:
    assert plan_network(wish(cidr="192.168.0.0/16", gpu_cidr="100.64.0.0/16")).gpu_cidr == "100.64.0.0/16"


@pytest.mark.parametrize(
    ("zone", "zones"), [("us-east-2a", ("us-east-2a", "us-east-2b")), ("us-east-1f", ("us-east-1f", "us-east-1a"))]
)
def test_the_second_zone_is_another_one(zone: str, zones: tuple[str, ...]) -> None:
    assert cluster_zones(AwsNetworkWish.parse({"zone": zone})) == zones


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"cidr": "10.0.0.0/8"}, "cidr: 10.0.0.0/8 is a /8; write a /16 to a /20 (a VPC's block is at most a /16)"),
        ({"cidr": "10.0.0.1/16"}, "cidr: '10.0.0.1/16' is not an IPv4 block; write for example 10.0.0.0/16"),
        (
            {"cidr": "8.8.0.0/16"},
            "cidr: 8.8.0.0/16 is no private block; write a part of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10",
        ),
        (
            {"cidr": "172.17.0.0/16"},
            "cidr: 172.17.0.0/16 overlaps 172.17.0.0/16, which nodes use inside; write for example 10.0.0.0/16",
        ),
        ({"zones": ["us-east-2b"]}, "zones: EKS needs subnets in at least two zones; write two or three zones of the region"),
        (
            {"zones": [f"us-east-2{letter}" for letter in "abcd"]},
            "zones: 4 zones; write two or three: more serve nothing here",
        ),
        ({"zones": ["us-east-2b"] * 2}, "zones: a zone is listed twice; write each once"),
        (
            {"existing": {"vpc": "vpc-0123456789abcdef0", "subnets": ["subnet-0123456789abcdef0"]}},
            "existing.subnets: EKS needs subnets in at least two zones; list at least two",
        ),
        (
            {"tags": {"aws:x": "y"}},
            "tags: 'aws:x' begins with aws:, which is AWS's own; write another key",
        ),
    ],
)
def test_a_wish_that_is_no_network(keys: dict[str, Any], line: str) -> None:
    with pytest.raises(SpecError) as caught:
        wish(**keys)
    assert str(caught.value) == line
