"""Whether the network of a plan can be: zones that the account has, and a VPC that exists and fits."""

from collections.abc import Iterator

from gpufabric.plan.aws import AwsStackPlan
from gpufabric.plan.aws.network import ADDRESSES_PER_GPU_NODE
from gpufabric.preflight.aws_client import Aws, AwsError
from gpufabric.spec import Problem
from gpufabric.spec.aws.network import ExistingNetwork

_AT = "network.existing"


def network(aws: Aws, plan: AwsStackPlan, *, in_use: bool) -> Iterator[Problem]:
    """What is wrong with zones, VPC, subnets or security group. ``in_use``: the nodes may have their addresses already."""
    existing = plan.parts.network.existing
    if existing is None:
        yield from _zones(aws, plan)
        return
    yield from _vpc(aws, existing)
    yield from _subnets(aws, plan, existing, in_use=in_use)
    if existing.security_group:
        yield from _group(aws, existing.security_group)


def _zones(aws: Aws, plan: AwsStackPlan) -> Iterator[Problem]:
    """Names of zones differ between accounts, and some accounts lack some."""
    wanted = {each.zone for each in plan.parts.network.subnets}
    found = aws.ask("ec2", "DescribeAvailabilityZones", Filters=[{"Name": "zone-type", "Values": ["availability-zone"]}])
    have = sorted(each["ZoneName"] for each in found["AvailabilityZones"] if each["State"] == "available")
    for zone in sorted(wanted - set(have)):
        where = "zone" if zone == plan.zone else "network.zones"
        yield Problem(where, f"this account has no {zone}", f"write from {', '.join(have)}")


def _vpc(aws: Aws, existing: ExistingNetwork) -> Iterator[Problem]:
    for attribute, key in (("enableDnsSupport", "EnableDnsSupport"), ("enableDnsHostnames", "EnableDnsHostnames")):
        try:
            found = aws.ask("ec2", "DescribeVpcAttribute", VpcId=existing.vpc, Attribute=attribute)
        except AwsError as error:
            if error.code != "InvalidVpcID.NotFound":
                raise
            yield Problem(f"{_AT}.vpc", f"AWS knows no {existing.vpc} in {aws.region}", "check the id and the region")
            return
        if not found[key]["Value"]:
            reason = f"{attribute} is off in {existing.vpc}: nodes would not find the cluster's API"
            yield Problem(f"{_AT}.vpc", reason, "switch it on", "EKS user guide, VPC requirements")


def _subnets(aws: Aws, plan: AwsStackPlan, existing: ExistingNetwork, *, in_use: bool) -> Iterator[Problem]:
    at = f"{_AT}.subnets"
    nodes_at = existing.node_subnet or existing.subnets[0]
    wanted = sorted({*existing.subnets, nodes_at})
    try:
        found = {each["SubnetId"]: each for each in aws.ask("ec2", "DescribeSubnets", SubnetIds=wanted)["Subnets"]}
    except AwsError as error:
        if error.code != "InvalidSubnetID.NotFound":
            raise
        yield Problem(at, error.message, "check the ids and the region")
        return
    for name, each in found.items():
        if each["VpcId"] != existing.vpc:
            yield Problem(at, f"{name} is in {each['VpcId']}, not in {existing.vpc}", "write subnets of one VPC")
    zones = {found[each]["AvailabilityZone"] for each in existing.subnets if each in found}
    if len(zones) < 2:
        yield Problem(at, f"all are in {', '.join(sorted(zones))}; EKS needs two zones", "add one of another zone")
    if nodes_at not in found:
        return
    node_subnet = found[nodes_at]
    if node_subnet["AvailabilityZone"] != plan.zone:
        where = node_subnet["AvailabilityZone"]
        fix = f"write zone: {where}, or name a subnet of {plan.zone} as node_subnet"
        yield Problem(f"{_AT}.node_subnet", f"{nodes_at}, the nodes' subnet, is in {where}, not in {plan.zone}", fix)
    room = node_subnet["AvailableIpAddressCount"] // ADDRESSES_PER_GPU_NODE
    nodes = sum(group.nodes for group in plan.node_groups)
    if room < nodes and not in_use:
        free = node_subnet["AvailableIpAddressCount"]
        reason = f"{nodes_at} has {free} free addresses, room for {room} GPU nodes of {nodes}"
        yield Problem(f"{_AT}.node_subnet", reason, f"take a larger subnet: a node and its pods take {ADDRESSES_PER_GPU_NODE}")


def _group(aws: Aws, group: str) -> Iterator[Problem]:
    at = f"{_AT}.security_group"
    found = aws.ask("ec2", "DescribeSecurityGroupRules", Filters=[{"Name": "group-id", "Values": [group]}])
    own = [
        rule
        for rule in found["SecurityGroupRules"]
        if rule["IpProtocol"] == "-1" and rule.get("ReferencedGroupInfo", {}).get("GroupId") == group
    ]
    for egress, direction in ((False, "in"), (True, "out")):
        if not any(rule["IsEgress"] is egress for rule in own):
            reason = f"{group} does not let all traffic of its own members {direction}: EFA would not connect"
            fix = "add a rule for all traffic that names the group itself, not a block of addresses"
            yield Problem(at, reason, fix, "EC2 user guide, EFA")
