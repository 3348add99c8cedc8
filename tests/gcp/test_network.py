"""GcpNetwork: networks of its own, some that exist, and what is refused."""

from ipaddress import IPv4Network
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pulumi import Output

from gpufabric.gcp import GcpNetwork
from gpufabric.plan.gcp.network import ADDRESSES_PER_NODE, NetworkPlan, plan_network
from gpufabric.spec import SpecError
from gpufabric.spec.gcp.network import GcpNetworkWish
from tests.gcp.cloud import run_on_gcp
from tests.kubernetes.mocked import Recording
from tests.kubernetes.refused import begin, refused

WHERE = {"project": "acme-training", "region": "us-central1", "zone": "us-central1-a"}
OURS = {"network": "shared", "subnetwork": "train", "pods_range": "pods", "services_range": "services"}
RDMA = [{"network": "second", "subnetwork": "second"}, *({"network": "rdma", "subnetwork": f"r{rail}"} for rail in range(8))]
MACHINES = ["a3-highgpu-8g", "a3-megagpu-8g", "a3-ultragpu-8g", "a4-highgpu-8g"]


def network(args: dict[str, Any], **how: Any) -> Recording:
    return run_on_gcp(lambda: GcpNetwork("net", {**WHERE, **args}), **how)  # type: ignore[typeddict-item]


def plan(**keys: Any) -> NetworkPlan:
    return plan_network(GcpNetworkWish.parse({**WHERE, **keys}))


def vpcs(made: Recording) -> dict[str, dict[str, Any]]:
    return {each.name: each.inputs for each in made.of("Network")}


def test_the_nodes_have_one_private_subnet_and_one_way_out() -> None:
    made = network({})
    assert vpcs(made)["net-vpc"]["autoCreateSubnetworks"] is False
    subnet = made.one("Subnetwork").inputs
    assert subnet["privateIpGoogleAccess"] is True
    assert subnet["ipCidrRange"] == "10.0.0.0/17"
    assert subnet["secondaryIpRanges"] == [
        {"rangeName": "pods", "ipCidrRange": "10.2.0.0/15"},
        {"rangeName": "services", "ipCidrRange": "10.0.128.0/20"},
    ]
    nat = made.one("RouterNat").inputs
    assert (nat["natIpAllocateOption"], nat["router"]) == ("AUTO_ONLY", "net-router-0123456")
    assert not made.of("Firewall"), "GKE makes its own"
    outputs = made.one("GcpNetwork").outputs or {}
    assert outputs["gpu_networks"] == {}
    assert (outputs["network_name"], outputs["subnetwork_name"]) == ("net-vpc-0123456", "net-nodes-0123456")
    assert (outputs["pods_range"], outputs["services_range"]) == ("pods", "services")


@pytest.mark.parametrize(("machine", "cards"), [("a3-highgpu-8g", 4), ("a3-megagpu-8g", 8)])
def test_tcpx_has_a_vpc_for_each_card_that_lets_its_own_traffic_through(machine: str, cards: int) -> None:
    made = network({"machine_types": [machine]})
    gpu = {name: each for name, each in vpcs(made).items() if name != "net-vpc"}
    assert gpu.keys() == {f"net-gpu-{card}" for card in range(cards)}
    assert {each["mtu"] for each in vpcs(made).values()} == {8244}
    assert not any("networkProfile" in each for each in gpu.values())
    subnets = {each.name: each.inputs["ipCidrRange"] for each in made.of("Subnetwork")}
    rules = {each.name: each.inputs for each in made.of("Firewall")}
    assert rules.keys() == gpu.keys()
    for name, rule in rules.items():
        assert rule["sourceRanges"] == [subnets[name]]
        assert [each["protocol"] for each in rule["allows"]] == ["tcp", "udp", "icmp"]
    assert not made.of("RegionNetworkFirewallPolicy")


@pytest.mark.parametrize("machine", ["a3-ultragpu-8g", "a4-highgpu-8g"])
def test_rdma_has_one_vpc_with_the_zones_profile_and_no_ordinary_rules(machine: str) -> None:
    made = network({"machine_types": [machine]})
    assert {name: each["mtu"] for name, each in vpcs(made).items()} == {"net-vpc": 8896, "net-gvnic-1": 8896, "net-rdma": 8896}
    profile = "projects/acme-training/global/networkProfiles/us-central1-a-vpc-roce"
    assert vpcs(made)["net-rdma"]["networkProfile"] == profile
    rails = [each for each in made.of("Subnetwork") if each.inputs["network"] == "id-of-net-rdma"]
    assert [each.name for each in rails] == [f"net-rdma-{rail}" for rail in range(8)]
    assert [each.name for each in made.of("Firewall")] == ["net-gvnic-1"], "such a VPC takes none"
    assert made.one("RegionNetworkFirewallPolicy").inputs["policyType"] == "RDMA_ROCE_POLICY"
    rule = made.one("RegionNetworkFirewallPolicyRule").inputs
    assert (rule["direction"], rule["action"]) == ("INGRESS", "allow")
    assert rule["match"] == {"srcIpRanges": ["0.0.0.0/0"], "layer4Configs": [{"ipProtocol": "all"}]}
    assert made.one("RegionNetworkFirewallPolicyAssociation").inputs["attachmentTarget"] == "id-of-net-rdma"
    cards = (made.one("GcpNetwork").outputs or {})["gpu_networks"][machine]
    assert [each["subnetwork"] for each in cards] == [
        "net-gvnic-1-0123456",
        *(f"net-rdma-{rail}-0123456" for rail in range(8)),
    ]
    assert {each["network"] for each in cards[1:]} == {"net-rdma-0123456"}


def test_machines_whose_networks_have_one_name_share_them() -> None:
    made = network({"machine_types": MACHINES})
    assert len(vpcs(made)) == 1 + 8 + 2
    cards = (made.one("GcpNetwork").outputs or {})["gpu_networks"]
    assert cards["a3-highgpu-8g"] == cards["a3-megagpu-8g"][:4]
    assert cards["a3-ultragpu-8g"] == cards["a4-highgpu-8g"]


def test_a_vpc_for_managed_services_is_peered_and_let_in() -> None:
    made = network({"private_services": True})
    address = made.one("GlobalAddress").inputs
    assert (address["purpose"], address["address"], address["prefixLength"]) == ("VPC_PEERING", "10.0.192.0", 20)
    assert made.one("Connection").inputs["reservedPeeringRanges"] == ["net-services-0123456"]
    rule = made.one("Firewall").inputs
    assert (rule["sourceRanges"], rule["allows"]) == (["10.0.192.0/20"], [{"protocol": "tcp", "ports": ["988"]}])


blocks = st.builds(
    lambda prefix, second: str(IPv4Network((f"10.{second}.0.0", prefix), strict=False)),
    st.integers(11, 16),
    st.integers(0, 255),
)


@given(blocks, st.lists(st.sampled_from(MACHINES), unique=True))
def test_no_two_ranges_overlap_and_all_lie_in_the_block(cidr: str, machines: list[str]) -> None:
    """Also between VPCs: interfaces of one node must not share addresses."""
    made = plan(cidr=cidr, machine_types=machines, private_services=True)
    assert made.host is not None
    assert made.host.services_peer is not None
    ranges = [made.host.nodes, made.host.pods, made.host.services, made.host.services_peer]
    cut = [IPv4Network(each) for each in [*ranges, *(sub.cidr for vpc in made.vpcs for sub in vpc.subnets)]]
    assert all(block.subnet_of(IPv4Network(cidr)) for block in cut)
    assert not any(one.overlaps(other) for one, other in combinations(cut, 2))
    assert len({sub.key for vpc in made.vpcs for sub in vpc.subnets}) == sum(len(vpc.subnets) for vpc in made.vpcs)


@settings(max_examples=20)
@given(blocks, st.lists(st.sampled_from(MACHINES), unique=True), st.sampled_from(MACHINES))
def test_a_machine_that_is_added_moves_no_subnet(cidr: str, machines: list[str], more: str) -> None:
    def cut(types: list[str]) -> dict[str, str]:
        return {sub.key: sub.cidr for vpc in plan(cidr=cidr, machine_types=types).vpcs for sub in vpc.subnets}

    assert cut(machines).items() <= cut(list(dict.fromkeys([*machines, more]))).items()


@pytest.mark.parametrize(("cidr", "most"), [("10.0.0.0/16", 205), ("10.0.0.0/14", 973), ("10.0.0.0/12", 4045)])
def test_as_many_gpu_nodes_as_there_is_room_for(cidr: str, most: int) -> None:
    made = plan(cidr=cidr, gpu_nodes=most, machine_types=MACHINES)
    assert made.host is not None
    assert IPv4Network(made.host.pods).num_addresses >= most * ADDRESSES_PER_NODE
    smallest = min(IPv4Network(sub.cidr).num_addresses for vpc in made.vpcs for sub in vpc.subnets)
    assert smallest - 4 >= most, "each card has an address"
    with pytest.raises(SpecError, match=rf"room for the pods of {most} GPU nodes .*; write a /1"):
        plan(cidr=cidr, gpu_nodes=most + 1)


def test_the_largest_block_is_enough_for_the_largest_cluster() -> None:
    with pytest.raises(SpecError, match=r"write a /11, such as 10\.0\.0\.0/11"):
        plan(gpu_nodes=5000)
    assert plan(cidr="10.0.0.0/11", gpu_nodes=5000).host


def test_in_networks_that_exist_nothing_is_made() -> None:
    made = network({"machine_types": ["a3-ultragpu-8g"], "existing": {**OURS, "gpu_networks": {"a3-ultragpu-8g": RDMA}}})
    (component,) = made.resources
    assert component.outputs == {
        "network_name": "shared",
        "network_id": "projects/acme-training/global/networks/shared",
        "subnetwork_name": "train",
        "pods_range": "pods",
        "services_range": "services",
        "gpu_networks": {"a3-ultragpu-8g": RDMA},
    }


def test_gpu_networks_are_made_beside_a_network_that_exists() -> None:
    made = network({"machine_types": ["a3-megagpu-8g"], "cidr": "10.64.0.0/16", "existing": OURS})
    assert len(vpcs(made)) == 8
    assert not made.of("RouterNat")
    assert all(each.inputs["ipCidrRange"].startswith("10.64.") for each in made.of("Subnetwork"))


def test_the_network_of_another_project_is_named_by_its_path() -> None:
    path = "projects/acme-net/global/networks/shared"
    made = network({"existing": {**OURS, "network": path}})
    assert (made.resources[0].outputs or {})["network_id"] == path


def test_names_of_another_resource_are_passed_on() -> None:
    def program() -> None:
        cards: Any = [{"network": Output.from_input(f"v{card}"), "subnetwork": Output.from_input("s")} for card in range(8)]
        existing: Any = {key: Output.from_input(value) for key, value in OURS.items()}
        existing["gpu_networks"] = {"a3-megagpu-8g": cards}
        args: Any = {**WHERE, "machine_types": ["a3-megagpu-8g"], "existing": existing}
        GcpNetwork("net", args)

    made = run_on_gcp(program)
    outputs = made.resources[0].outputs or {}
    assert outputs["network_name"] == "shared"
    assert outputs["gpu_networks"]["a3-megagpu-8g"][7] == {"network": "v7", "subnetwork": "s"}


def mega(count: int, **last: str) -> dict[str, Any]:
    networks = [{"network": f"v{card}", "subnetwork": f"s{card}"} for card in range(count)]
    networks[-1] |= last
    return {"machine_types": ["a3-megagpu-8g"], "existing": {**OURS, "gpu_networks": {"a3-megagpu-8g": networks}}}


def ultra(*networks: dict[str, str]) -> dict[str, Any]:
    given = {"a3-ultragpu-8g": list(networks)}
    return {"machine_types": ["a3-ultragpu-8g"], "existing": {**OURS, "gpu_networks": given}}


AT = "net.existing.gpu_networks"
BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a zone of another region": (
        {"zone": "europe-west4-b"},
        ["net.zone: europe-west4-b is not in us-central1; write a zone such as us-central1-a"],
    ),
    "a region": (
        {"zone": "us-central1"},
        ["net.zone: 'us-central1' is not the name of a zone; write for example us-central1-a"],
    ),
    "a project's number": (
        {"project": "123456789012"},
        ["net.project: '123456789012' is not the id of a project (not its number or title); write for example acme-training"],
    ),
    "an unknown machine": ({"machine_types": ["a3-megagpu-9g"]}, ["net.machine_types[0]: unknown machine of Google Cloud"]),
    "a machine that is not built": ({"machine_types": ["a4x-highgpu-4g"]}, ["net.machine_types[0]: a4x-highgpu-4g is not "]),
    "a machine twice": (
        {"machine_types": ["a3-megagpu-8g"] * 2},
        ["net.machine_types: a machine type is listed twice; write each once"],
    ),
    "a public block": ({"cidr": "11.0.0.0/14"}, ["net.cidr: 11.0.0.0/14 is no private block; write a part of 10.0.0.0/8"]),
    "a narrow block": ({"cidr": "10.0.0.0/20"}, ["net.cidr: 10.0.0.0/20 is a /20; write a /11 to a /16, such as 10.0.0.0/14"]),
    "a block that nodes use": ({"cidr": "172.16.0.0/14"}, ["net.cidr: 172.16.0.0/14 overlaps 172.17.0.0/16, which nodes "]),
    "a large MTU": ({"mtu": 9000}, ["net.mtu: 9000 is out of range; write a number up to 8896"]),
    "existing and decided": ({"mtu": 8896, "existing": OURS}, ["net.mtu: the network exists, and has its own; leave it out"]),
    "existing, and a block for nothing": (
        {"cidr": "10.0.0.0/14", "existing": OURS},
        ["net.cidr: all networks exist, with their blocks; leave it out"],
    ),
    "existing, without networks for its machines": (
        {"machine_types": ["a4-highgpu-8g"], "existing": OURS},
        ["net.cidr: missing: the GPU networks of a4-highgpu-8g are made beside the network that exists; write a private block"],
    ),
    **{
        f"{count} networks for A3 Mega": (mega(count), [f"{AT}.a3-megagpu-8g: {count} networks; a3-megagpu-8g needs 8"])
        for count in (1, 7, 9, 16)
    },
    "a VPC twice": (mega(8, network="v0"), [f"{AT}.a3-megagpu-8g: a3-megagpu-8g needs a VPC for each card; list a VPC once"]),
    "the nodes' own network": (mega(8, network="shared"), [f"{AT}.a3-megagpu-8g: shared is the network of the nodes "]),
    "rails without the second card": (ultra(*RDMA[1:]), [f"{AT}.a3-ultragpu-8g: 8 networks; a3-ultragpu-8g needs 9; list "]),
    "rails in two VPCs": (
        ultra(*RDMA[:8], {"network": "other", "subnetwork": "r7"}),
        [f"{AT}.a3-ultragpu-8g: the GPU cards of a3-ultragpu-8g are all in one VPC; 2 are listed; list subnets of one VPC"],
    ),
    "the second card in the VPC of RDMA": (
        ultra({"network": "rdma", "subnetwork": "second"}, *RDMA[1:]),
        [f"{AT}.a3-ultragpu-8g: the host's second card cannot be in the VPC of RDMA; list a subnet of an ordinary VPC first"],
    ),
    "a rail twice": (ultra(*RDMA[:8], RDMA[7]), [f"{AT}.a3-ultragpu-8g: a network is listed twice; each card has one of its "]),
    "networks that no group asks for": (
        {"existing": {**OURS, "gpu_networks": {"a3-ultragpu-8g": RDMA}}},
        [f"{AT}.a3-ultragpu-8g: no group of such machines has its fabric by networks; leave it out"],
    ),
    "a name with capitals": (
        {"existing": {**OURS, "network": "Shared"}},
        ["net.existing.network: 'Shared' is not the name of a VPC, or its path where another project owns it; write for "],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_wish_registers_nothing(case: str) -> None:
    args, says = BAD[case]
    said = refused(lambda recording: network(args, recording=recording))
    assert begin(said, says), said


def test_a_name_that_google_cannot_have() -> None:
    with pytest.raises(SpecError, match=r"my\.net: 'my\.net' cannot be the name of a network"):
        run_on_gcp(lambda: GcpNetwork("my.net", WHERE))  # type: ignore[arg-type]
