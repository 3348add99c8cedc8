"""Each thing the walk can say, said about requests that AWS's API knows; and nothing about those that are right."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.judged.test_wire import a_request
from tools.judge.aws.model import AwsModel, service_model
from tools.judge.aws.references import AwsBook
from tools.judge.patterns import matches
from tools.judge.references import judge
from tools.judge.request import Record, Request
from tools.judge.walker import Finding

VPC, SUBNET, GROUP = "vpc-0123456789abcdef0", "subnet-0123456789abcdef0", "sg-0123456789abcdef0"
TEMPLATE = {"LaunchTemplateName": "gpu", "LaunchTemplateData": {"InstanceType": "p5.48xlarge"}}
NODE_GROUP = {
    "clusterName": "train",
    "nodegroupName": "gpu",
    "subnets": [SUBNET],
    "nodeRole": "arn:aws:iam::123456789012:role/nodes",
}


def a_call(operation: str, members: Mapping[str, Any], *gives: str) -> Request:
    service, name = operation.split()
    made = a_request(service_model(service).operation_model(name), members)
    return Request(**{**vars(made), "gives": gives})


def findings(*requests: Request, existing: tuple[str, ...] = ()) -> list[Finding]:
    return list(judge(Record("", {}, requests, existing), AwsModel(), AwsBook()))


def the_only(*requests: Request, existing: tuple[str, ...] = ()) -> tuple[str, str]:
    (found,) = findings(*requests, existing=existing)
    return found.kind, str(found)


def test_what_is_right_is_let_through() -> None:
    assert findings(
        a_call("ec2 CreateVpc", {"CidrBlock": "10.0.0.0/16"}, VPC),
        a_call("ec2 CreateSubnet", {"VpcId": VPC, "CidrBlock": "10.0.0.0/24"}, SUBNET),
        a_call("iam CreateRole", {"RoleName": "nodes", "AssumeRolePolicyDocument": "{}"}),
        a_call("iam AttachRolePolicy", {"RoleName": "nodes", "PolicyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"}),
        a_call(
            "eks CreateCluster",
            {"name": "train", "roleArn": "arn:aws:iam::123456789012:role/nodes", "resourcesVpcConfig": {"subnetIds": [SUBNET]}},
        ),
        a_call("ec2 CreateLaunchTemplate", TEMPLATE),
        a_call("eks CreateNodegroup", NODE_GROUP),
    ) == []  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "operation", "members", "says"),
    [
        ("enum", "ec2 CreatePlacementGroup", {"GroupName": "gpu", "Strategy": "clusters"}, "'clusters' is none of cluster,"),
        ("enum", "eks CreateAddon", {"clusterName": "c", "addonName": "a", "resolveConflicts": "force"}, "'force' is none of"),
        ("pattern", "iam CreateRole", {"RoleName": "no des", "AssumeRolePolicyDocument": "{}"}, "'no des' does not match"),
        ("length", "iam CreateRole", {"RoleName": "n" * 65, "AssumeRolePolicyDocument": "{}"}, "length 65 is above 64"),
        ("length", "iam CreateRole", {"RoleName": "nodes", "AssumeRolePolicyDocument": ""}, "length 0 is below 1"),
        ("required", "iam CreateRole", {"RoleName": "nodes"}, "AssumeRolePolicyDocument is missing"),
        ("range", "fsx CreateFileSystem", {"FileSystemType": "LUSTRE", "StorageCapacity": -1}, "value -1 is below 0"),
    ],
)
def test_what_the_model_forbids(kind: str, operation: str, members: Mapping[str, Any], says: str) -> None:
    found = [each for each in findings(a_call(operation, members), existing=("c",)) if each.kind == kind]
    assert len(found) == 1
    assert says in str(found[0])


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("CidrBlocks", "10.0.0.0/16", "unknown"),
        ("Ipv6CidrBlock.1", "::/64", "type"),
        ("AmazonProvidedIpv6CidrBlock", "yes", "type"),
        ("Ipv4NetmaskLength", "16 bits", "type"),
        ("InstanceTenancy", "Default", "enum"),
    ],
)
def test_what_only_the_wire_can_show(key: str, value: str, kind: str) -> None:
    request = Request("ec2", "POST", "/", form={"Action": "CreateVpc", key: value, "Version": "2016-11-15"})
    assert the_only(request)[0] == kind


def test_an_operation_and_a_service_that_are_not_there() -> None:
    assert the_only(Request("ec2", "POST", "/", form={"Action": "CreateVpcs"})) == (
        "unknown",
        "ec2: ec2 has no operation 'CreateVpcs'",
    )
    assert the_only(Request("eks", "PUT", "/clusters"))[1] == "eks: eks has no operation PUT /clusters"
    assert the_only(Request("ec3", "POST", "/"))[1] == "ec3: AWS has no service 'ec3'"


def test_a_thing_must_be_made_before_it_is_named() -> None:
    vpc = a_call("ec2 CreateVpc", {"CidrBlock": "10.0.0.0/16"}, VPC)
    subnet = a_call("ec2 CreateSubnet", {"VpcId": VPC, "CidrBlock": "10.0.0.0/24"}, SUBNET)
    assert the_only(subnet, vpc) == ("reference", f"ec2 CreateSubnet.VpcId: no request before this one makes the vpc {VPC}")
    assert findings(subnet, existing=(VPC,)) == []


def test_a_thing_of_another_kind_is_not_the_thing() -> None:
    subnet = a_call("ec2 CreateSubnet", {"VpcId": GROUP, "CidrBlock": "10.0.0.0/24"}, SUBNET)
    assert the_only(subnet, existing=(GROUP, VPC))[1].endswith(f"makes the vpc {GROUP}")


def test_what_goes_by_name_must_be_made_too() -> None:
    found = {each.says for each in findings(a_call("eks CreateNodegroup", NODE_GROUP), existing=(SUBNET,))}
    assert found == {"no request before this one makes the cluster train", "no request before this one makes the role nodes"}
    attach = a_call("iam AttachRolePolicy", {"RoleName": "nodes", "PolicyArn": "arn:aws:iam::aws:policy/AmazonEKSWorker"})
    assert the_only(attach, existing=("nodes",))[1].endswith("makes the policy of AWS AmazonEKSWorker")


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        (r"[\p{L}\p{Z}\p{N}_.:/=+\-@]*", "Zone 9é", True),
        (r"[\p{L}\p{Z}\p{N}_.:/=+\-@]*", "no!", False),
        (r"\p{Alnum}+", "ab1", True),
        (r"[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF\r\n\t]*", "so \U0001f600", True),
        (r"[\u0009\u10000-\u10FFFF]+", "\U0001f600", True),
        (r"^(?i)(true|false)$", "TRUE", True),
        (r"[\w-/]+", "a-b/c", True),
        (r"[^[]+", "a[b", False),
        (r"[a-z]+", "abc!", False),
    ],
)
def test_patterns_as_other_languages_write_them(pattern: str, text: str, fits: bool) -> None:
    assert matches(pattern, text) is fits
