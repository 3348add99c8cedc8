"""AwsNetwork: a network of its own, one that exists, and what is refused."""

from typing import Any

import pytest
from pulumi import Output

from gpufabric.aws import AwsNetwork
from tests.aws.cloud import run_on_aws
from tests.kubernetes.mocked import Recording
from tests.kubernetes.refused import refused

VPC, SUBNETS = "vpc-0123456789abcdef0", ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
EXISTING = {"vpc": VPC, "subnets": SUBNETS}


def network(args: dict[str, Any], **how: Any) -> Recording:
    return run_on_aws(lambda: AwsNetwork("net", args), **how)  # type: ignore[arg-type]


def test_a_network_has_private_subnets_and_one_way_out() -> None:
    made = network({"zone": "us-east-2b", "tags": {"owner": "ml"}})
    subnets = {each.name: each.inputs for each in made.of("Subnet")}
    assert {name: (each["availabilityZone"], each["cidrBlock"]) for name, each in subnets.items()} == {
        "net-cluster-us-east-2b": ("us-east-2b", "10.0.0.0/20"),
        "net-cluster-us-east-2a": ("us-east-2a", "10.0.16.0/20"),
        "net-gpu": ("us-east-2b", "10.0.128.0/17"),
        "net-public": ("us-east-2b", "10.0.48.0/20"),
    }
    assert not any(each["mapPublicIpOnLaunch"] for each in subnets.values())
    tables = {each.name: each.inputs["routeTableId"] for each in made.of("RouteTableAssociation")}
    assert {name for name, table in tables.items() if table == "id-of-net-public"} == {"net-public"}
    routes = {each.name: each.inputs for each in made.of("Route")}
    assert routes["net-private"]["natGatewayId"] == "id-of-net-nat"
    assert routes["net-public"]["gatewayId"] == "id-of-net-internet"
    vpc = made.one("Vpc").inputs
    assert (vpc["enableDnsHostnames"], vpc["enableDnsSupport"]) == (True, True)
    assert made.one("NatGateway").inputs["subnetId"] == "id-of-net-public"
    endpoint = made.one("VpcEndpoint").inputs
    assert (endpoint["serviceName"], endpoint["vpcEndpointType"]) == ("com.amazonaws.us-east-2.s3", "Gateway")
    assert endpoint["routeTableIds"] == ["id-of-net-private"]
    assert made.one("AwsNetwork").outputs == {
        "vpc_id": "id-of-net-vpc",
        "cluster_subnet_ids": ["id-of-net-cluster-us-east-2b", "id-of-net-cluster-us-east-2a"],
        "system_subnet_id": "id-of-net-cluster-us-east-2b",
        "gpu_subnet_id": "id-of-net-gpu",
        "efa_security_group_id": "id-of-net-efa",
    }


def test_the_efa_group_lets_its_members_talk_in_and_out_and_nobody_else() -> None:
    made = network({"zone": "us-east-2b"})
    group = made.one("SecurityGroup")
    assert not {"ingress", "egress"} & group.inputs.keys()
    for kind in ("SecurityGroupIngressRule", "SecurityGroupEgressRule"):
        rule = made.one(kind).inputs
        assert rule["ipProtocol"] == "-1"
        assert rule["securityGroupId"] == rule["referencedSecurityGroupId"] == "id-of-net-efa"
        assert not {"cidrIpv4", "fromPort", "toPort"} & rule.keys()


def test_everything_that_takes_tags_has_them() -> None:
    made = network({"zone": "us-east-2b", "tags": {"owner": "ml"}})
    untagged = {each.type.split(":")[-1] for each in made.resources if each.inputs.get("tags", {}).get("owner") != "ml"}
    assert untagged == {"AwsNetwork", "Route", "RouteTableAssociation"}


def test_a_second_block_takes_the_gpu_nodes_and_is_there_before_their_subnet() -> None:
    made = network({"zone": "us-east-2b", "gpu_cidr": "10.1.0.0/16", "gpu_nodes": 1000})
    gpu = made.one("Subnet", "net-gpu")
    assert gpu.inputs["cidrBlock"] == "10.1.0.0/16"
    association = "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation net-gpu-block"
    assert association in gpu.options["dependencies"]
    others = [each for each in made.of("Subnet") if each.name != "net-gpu"]
    assert all(association not in each.options["dependencies"] for each in others)


def test_in_a_network_that_exists_only_the_security_group_is_made() -> None:
    made = network({"zone": "us-east-2b", "existing": EXISTING})
    assert {each.type.split(":")[-1] for each in made.resources} == {
        "AwsNetwork",
        "SecurityGroup",
        "SecurityGroupIngressRule",
        "SecurityGroupEgressRule",
    }
    assert made.one("SecurityGroup").inputs["vpcId"] == VPC
    outputs = made.one("AwsNetwork").outputs or {}
    assert (outputs["gpu_subnet_id"], outputs["cluster_subnet_ids"]) == (SUBNETS[0], SUBNETS)


def test_a_security_group_that_exists_is_used_and_nothing_is_made() -> None:
    existing = {**EXISTING, "security_group": "sg-0123456789abcdef0", "node_subnet": SUBNETS[1]}
    made = network({"zone": "us-east-2b", "existing": existing})
    (component,) = made.resources
    assert component.outputs is not None
    assert component.outputs["efa_security_group_id"] == "sg-0123456789abcdef0"
    assert component.outputs["gpu_subnet_id"] == component.outputs["system_subnet_id"] == SUBNETS[1]


def test_ids_of_another_resource_are_passed_on() -> None:
    def program() -> None:
        subnets: Any = [Output.from_input(each) for each in SUBNETS]
        AwsNetwork("net", {"zone": "us-east-2b", "existing": {"vpc": Output.from_input(VPC), "subnets": subnets}})

    made = run_on_aws(program)
    assert made.one("SecurityGroup").inputs["vpcId"] == VPC
    assert (made.one("AwsNetwork").outputs or {})["cluster_subnet_ids"] == SUBNETS


BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no zone": ({}, ["net.zone: missing; this key is required"]),
    "a region": (
        {"zone": "us-east-2"},
        ["net.zone: 'us-east-2' is not the name of an availability zone; write for example us-east-2b"],
    ),
    "no VPC": (
        {"zone": "us-east-2b", "existing": {"vpc": "my-vpc", "subnets": SUBNETS}},
        ["net.existing.vpc: 'my-vpc' is not the id of a VPC; write for example vpc-0123456789abcdef0"],
    ),
    "existing and decided": (
        {"zone": "us-east-2b", "cidr": "10.0.0.0/16", "existing": EXISTING},
        ["net.cidr: the network exists, so that it has its blocks and zones; leave it out"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_wish_registers_nothing(case: str) -> None:
    args, says = BAD[case]
    assert refused(lambda recording: network(args, recording=recording)) == says
