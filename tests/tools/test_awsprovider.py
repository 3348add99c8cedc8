"""The parts of tools/awsprovider that need no provider: names, translation, recording, what moto lacks, normalising."""

import threading
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import botocore.config
import botocore.session
import pytest

from tests.judged.test_walker import a_call, findings
from tools.awsprovider.emulator import Emulator
from tools.awsprovider.fields import bridge_fields, from_bridge, pairs, to_bridge
from tools.awsprovider.names import read_names
from tools.awsprovider.normalise import normalise
from tools.awsprovider.paths import path_from_bridge, path_to_bridge
from tools.awsprovider.plans import declared
from tools.awsprovider.recorder import Exchange
from tools.awsprovider.tags import sorted_tags
from tools.judge.aws.model import AwsModel
from tools.judge.request import Request
from tools.samples.sdk import pulumi_fields

NAMES = read_names()
TOKEN = "aws:eks/cluster:Cluster"
# A part of what the bridge says of aws_eks_cluster: where Terraform's limit of one is out of its sight it has a list.
SCHEMA = {
    "resources": {
        "aws:index/eksCluster:EksCluster": {
            "properties": {
                "name": {"type": "string"},
                "accessConfigs": {"type": "array", "items": {"$ref": "#/types/aws:index/a:A"}},
                "vpcConfig": {"$ref": "#/types/aws:index/v:V"},
            }
        }
    },
    "types": {
        "aws:index/a:A": {"properties": {"authenticationMode": {"type": "string"}}},
        "aws:index/v:V": {"properties": {"subnetIds": {"type": "array", "items": {"type": "string"}}}},
    },
}
KNOWN = pairs(pulumi_fields(TOKEN), bridge_fields(SCHEMA, NAMES.of_bridge(TOKEN)))
OURS = {"name": "train", "accessConfig": {"authenticationMode": "API"}, "vpcConfig": {"subnetIds": ["a", "b"]}}
THEIRS = {"name": "train", "accessConfigs": [{"authenticationMode": "API"}], "vpcConfig": {"subnetIds": ["a", "b"]}}
SECRET = "4dabf18193072939515e22adb298388d"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


@pytest.mark.parametrize("token", NAMES.resources)
def test_every_name_is_one_of_pulumi_aws(token: str) -> None:
    _, path, name = token.split(":")
    assert getattr(import_module(f"pulumi_aws.{path.split('/')[0]}"), name).pulumi_type == token
    assert NAMES.resources[token].startswith("aws_")


def test_a_name_and_a_urn_for_the_bridge() -> None:
    assert NAMES.of_bridge("aws:ec2/vpc:Vpc") == "aws:index/vpc:Vpc"
    assert NAMES.of_bridge("pulumi:providers:aws") == "pulumi:providers:aws"
    urn = "urn:pulumi:dev::gpufabric::gpufabric:index:EksCluster$aws:eks/cluster:Cluster::train"
    assert NAMES.urn_of_bridge(urn).split("::")[2] == "gpufabric:index:EksCluster$aws:index/eksCluster:EksCluster"
    with pytest.raises(KeyError, match="aws:ec2/fleet:Fleet"):
        NAMES.of_bridge("aws:ec2/fleet:Fleet")


def test_one_becomes_a_list_of_one_and_back() -> None:
    assert to_bridge(OURS, KNOWN) == THEIRS
    assert from_bridge(THEIRS, KNOWN) == OURS
    assert from_bridge({"accessConfigs": []}, KNOWN) == {"accessConfig": None}


def test_what_is_secret_or_not_known_yet_stays_so() -> None:
    secret = {SECRET: "1b47061264138c4ac30d75fd1eb44270", "value": OURS["accessConfig"]}
    assert to_bridge({"accessConfig": secret}, KNOWN) == {"accessConfigs": [secret]}
    assert to_bridge({"accessConfig": UNKNOWN, "other": 1}, KNOWN) == {"accessConfigs": UNKNOWN, "other": 1}


def test_paths() -> None:
    assert path_to_bridge("accessConfig.authenticationMode", KNOWN) == "accessConfigs[0].authenticationMode"
    assert path_from_bridge("accessConfigs[0].authenticationMode", KNOWN) == "accessConfig.authenticationMode"
    assert path_from_bridge("vpcConfig.subnetIds[1]", KNOWN) == "vpcConfig.subnetIds[1]"
    assert path_to_bridge("accessConfig", KNOWN) == "accessConfigs"


def test_what_a_stack_names_as_existing() -> None:
    vpc, block = "vpc-0123456789abcdef0", "cr-0123456789abcdef0"
    config = {
        "network": {"existing": {"vpc": vpc}},
        "groups": [{"capacity": {"id": block}, "name": "a-b"}],
        "cluster": {"existing": "c"},
    }
    assert declared(config) == {vpc, block, "c"}


@pytest.fixture
def aws() -> Iterator[tuple[Emulator, Callable[[str], Any]]]:
    """moto behind the recorder, and clients of it."""
    with Emulator() as emulator:
        emulator.reset()
        environment = emulator.environment
        settings: dict[str, Any] = {
            "endpoint_url": environment["AWS_ENDPOINT_URL"],
            "region_name": "us-east-2",
            "aws_access_key_id": environment["AWS_ACCESS_KEY_ID"],
            "aws_secret_access_key": environment["AWS_SECRET_ACCESS_KEY"],
            "config": botocore.config.Config(retries={"max_attempts": 1}),
        }
        session = botocore.session.Session()
        yield emulator, cache(lambda service: session.create_client(service, **settings))
        emulator.reset()


def test_everything_is_noted_and_what_moto_lacks_is_answered(aws: Any) -> None:
    emulator, client = aws
    vpc = client("ec2").create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = client("ec2").create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    role = client("iam").create_role(RoleName="r", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    eks = client("eks")
    eks.create_cluster(
        name="c", roleArn=role, resourcesVpcConfig={"subnetIds": [subnet]}, accessConfig={"authenticationMode": "API"}
    )
    assert eks.describe_cluster(name="c")["cluster"]["accessConfig"] == {"authenticationMode": "API"}, "moto forgets it"
    assert eks.create_addon(clusterName="c", addonName="vpc-cni", configurationValues="{}")["addon"]["status"] == "ACTIVE"
    assert eks.describe_addon(clusterName="c", addonName="vpc-cni")["addon"]["configurationValues"] == "{}"
    assert eks.delete_addon(clusterName="c", addonName="vpc-cni")["addon"]["addonName"] == "vpc-cni"
    with pytest.raises(eks.exceptions.ResourceNotFoundException):
        eks.describe_addon(clusterName="c", addonName="vpc-cni")
    scaling = client("autoscaling")
    scaling.put_scheduled_update_group_action(AutoScalingGroupName="g", ScheduledActionName="start", DesiredCapacity=3)
    (action,) = scaling.describe_scheduled_actions(AutoScalingGroupName="g")["ScheduledUpdateGroupActions"]
    assert (action["ScheduledActionName"], action["DesiredCapacity"]) == ("start", 3)
    noted = [each.call.operation for each in emulator.recorder.exchanges]
    assert noted[:4] == ["CreateVpc", "CreateSubnet", "CreateRole", "CreateCluster"]
    assert {each.status for each in emulator.recorder.exchanges} == {200, 404}
    assert len(emulator.recorder.lacking.used) == 3


def test_a_record_does_not_depend_on_ids_and_order(aws: Any) -> None:
    emulator, client = aws
    records = []
    for order in (1, -1):
        emulator.reset()
        ec2 = client("ec2")
        vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        of_vpc = [{"Name": "vpc-id", "Values": [vpc]}]

        def subnet(block: str, ec2: Any = ec2, vpc: str = vpc) -> None:
            made = ec2.create_subnet(VpcId=vpc, CidrBlock=block)["Subnet"]["SubnetId"]
            ec2.describe_subnets(SubnetIds=[made])
            ec2.modify_subnet_attribute(SubnetId=made, MapPublicIpOnLaunch={"Value": False})

        for block in ["10.0.0.0/24", "10.0.1.0/24"][::order]:
            thread = threading.Thread(target=subnet, args=(block,))
            thread.start()
            thread.join()
        # As Terraform sends a set: by ids, which say nothing about what was made first.
        subnets = sorted(each["SubnetId"] for each in ec2.describe_subnets(Filters=of_vpc)["Subnets"])
        for values in (subnets, subnets[::-1]):
            ec2.create_vpc_endpoint(
                VpcId=vpc, ServiceName="com.amazonaws.us-east-1.ec2", VpcEndpointType="Interface", SubnetIds=values
            )
        records.append(normalise(emulator.recorder.exchanges, ()))
    first, second = records
    assert first == second
    assert [request.form and request.form["Action"] for request in first] == [
        "CreateVpc",
        *["CreateSubnet"] * 2,
        *["CreateVpcEndpoint"] * 2,
        *["ModifySubnetAttribute"] * 2,
    ]
    assert findings(*first) == []
    assert len({request.gives for request in first[:3]}) == 3


def test_tokens_that_nobody_gave_are_made_the_same() -> None:
    token = "9f0b3c1e-1111-4222-8333-444455556666"
    request = a_call("eks CreateAddon", {"clusterName": "c", "addonName": "a", "clientRequestToken": token})
    (kept,) = normalise([Exchange(request, AwsModel().read(request), 200, "{}")], ())
    assert kept.json["clientRequestToken"] == "00000000-0000-4000-8000-000000000000"


def test_refused_and_reading_requests_are_not_kept() -> None:
    read = Request("eks", "GET", "/clusters/c")
    refused = a_call("eks CreateAddon", {"clusterName": "c", "addonName": "a"})
    exchanges = [Exchange(read, AwsModel().read(read), 200, "{}"), Exchange(refused, AwsModel().read(refused), 409, "{}")]
    assert normalise(exchanges, ()) == ()


def test_tags_have_one_order() -> None:
    form = {"A.Tag.1.Key": "z", "A.Tag.1.Value": "1", "A.Tag.2.Key": "b", "A.Tag.2.Value": "2", "Other.1": "x"}
    request = {"form": form, "json": {"Tags": [{"Key": "z", "Value": "1"}, {"Key": "b", "Value": "2"}]}}
    assert sorted_tags(request) == {
        "form": {"A.Tag.1.Key": "b", "A.Tag.1.Value": "2", "A.Tag.2.Key": "z", "A.Tag.2.Value": "1", "Other.1": "x"},
        "json": {"Tags": [{"Key": "b", "Value": "2"}, {"Key": "z", "Value": "1"}]},
    }
    xml = "<T><Tag><Key>z</Key></Tag><Tag><Key>b</Key></Tag></T>"
    assert sorted_tags({"xml": xml})["xml"] == "<T><Tag><Key>b</Key></Tag><Tag><Key>z</Key></Tag></T>"
