"""EksGpuNodeGroup: one launch template, one managed node group, and only what goes together."""

import base64
from datetime import UTC, datetime
from typing import Any

import pytest
from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_aws import Provider

from gpufabric.aws import EksGpuNodeGroup
from gpufabric.kubernetes import clock
from gpufabric.spec import SpecError
from tests.aws.cloud import run_on_aws
from tests.kubernetes.mocked import Recording

ARGS: dict[str, Any] = {
    "name": "train",
    "machine_type": "p5.48xlarge",
    "nodes": 4,
    "zone": "us-east-2b",
    "cluster_name": "shared",
    "cluster_security_group_id": "sg-cluster",
    "efa_security_group_id": "sg-efa",
    "subnet_id": "subnet-gpu",
    "tags": {"owner": "ml"},
}
BLOCK = {
    "kind": "capacity_block",
    "id": "cr-0123456789abcdef0",
    "starts_at": "2026-12-07T11:30:00Z",
    "ends_at": "2026-12-14T11:30:00Z",
}


def made(without: tuple[str, ...] = (), opts: ResourceOptions | None = None, **changes: Any) -> Recording:
    args: Any = {key: value for key, value in {**ARGS, **changes}.items() if key not in without}
    return run_on_aws(lambda: EksGpuNodeGroup("gpu", args, opts))


def template(**changes: Any) -> dict[str, Any]:
    return made(**changes).one("LaunchTemplate").inputs


def test_the_children() -> None:
    recording = made()
    assert {each.label: each.parent for each in recording.resources} == {
        "gpufabric:index:EksGpuNodeGroup gpu": "",
        "aws:ec2/placementGroup:PlacementGroup gpu-placement": "gpufabric:index:EksGpuNodeGroup gpu",
        "aws:ec2/launchTemplate:LaunchTemplate gpu-template": "gpufabric:index:EksGpuNodeGroup gpu",
        "aws:eks/nodeGroup:NodeGroup gpu-nodes": "gpufabric:index:EksGpuNodeGroup gpu",
        "aws:iam/role:Role gpu-role": "gpufabric:index:EksGpuNodeGroup gpu",
        **{
            f"aws:iam/rolePolicyAttachment:RolePolicyAttachment gpu-role-{policy}": "gpufabric:index:EksGpuNodeGroup gpu"
            for policy in ("AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodePolicy")
        },
    }
    assert recording.one("EksGpuNodeGroup").outputs == {
        "autoscaling_group_name": "eks-made",
        "launch_template_id": "id-of-gpu-template",
        "node_group_name": "made",
        "profile": recording.one("EksGpuNodeGroup").outputs["profile"],  # type: ignore[index]  # compared by the plan's tests
    }


def test_every_interface_has_both_groups_and_none_has_a_subnet() -> None:
    interfaces = template()["networkInterfaces"]
    assert len(interfaces) == 33
    for each in interfaces:
        assert each["securityGroups"] == ["sg-cluster", "sg-efa"], "EKS adds its own group no longer"
        assert each["deleteOnTermination"] == "true"
        assert each.keys() == {"networkCardIndex", "deviceIndex", "interfaceType", "securityGroups", "deleteOnTermination"}


def test_the_type_stands_in_one_place_and_nothing_that_eks_prohibits() -> None:
    recording = made()
    launch, group = recording.one("LaunchTemplate").inputs, recording.one("NodeGroup").inputs
    assert launch["instanceType"] == "p5.48xlarge"
    assert not {"instanceTypes", "diskSize", "remoteAccess", "version"} & group.keys()
    assert not {"imageId", "iamInstanceProfile", "vpcSecurityGroupIds", "instanceInitiatedShutdownBehavior"} & launch.keys()
    assert group["launchTemplate"] == {"id": "id-of-gpu-template", "version": "3"}
    assert group["subnetIds"] == ["subnet-gpu"]
    assert (group["amiType"], group["releaseVersion"]) == ("AL2023_x86_64_NVIDIA", "1.35.6-20260714")


def test_metadata_disks_and_tags() -> None:
    launch = template()
    assert launch["metadataOptions"] == {"httpTokens": "required", "httpPutResponseHopLimit": 1}
    assert template(imds_hop_limit=2)["metadataOptions"]["httpPutResponseHopLimit"] == 2
    (disk,) = launch["blockDeviceMappings"]
    assert disk["ebs"] == {"volumeSize": 200, "volumeType": "gp3", "encrypted": "true", "deleteOnTermination": "true"}
    assert {each["resourceType"] for each in launch["tagSpecifications"]} == {"instance", "volume", "network-interface"}
    assert all(each["tags"] == {"Name": "gpu", "owner": "ml"} for each in launch["tagSpecifications"])
    assert b"strategy: RAID0" in base64.b64decode(launch["userData"])
    assert "userData" not in template(network_tier="standard", disk_tier="network")


def test_nodes_are_closed_when_they_are_made() -> None:
    group = made().one("NodeGroup").inputs
    assert group["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
        {"key": "gpufabric.dev/hold", "effect": "NO_SCHEDULE"},
    ]
    assert group["labels"] == {"gpufabric.dev/node-group": "train", "gpufabric.dev/fabric": "efa"}


def test_scaling_is_left_alone_after_it_was_made() -> None:
    recording = made().one("NodeGroup")
    assert recording.inputs["scalingConfig"] == {"desiredSize": 4, "maxSize": 4, "minSize": 0}
    assert recording.options["ignoreChanges"] == ["scalingConfig.desiredSize"]
    assert recording.inputs["nodeRepairConfig"] == {"enabled": True}
    assert recording.inputs["updateConfig"] == {"maxUnavailable": 1, "updateStrategy": "DEFAULT"}


def test_a_reservation_is_named_and_gets_no_placement_group() -> None:
    recording = made(capacity={"kind": "reservation", "id": "cr-0123456789abcdef0"})
    launch, group = recording.one("LaunchTemplate").inputs, recording.one("NodeGroup").inputs
    assert launch["capacityReservationSpecification"] == {
        "capacityReservationTarget": {"capacityReservationId": "cr-0123456789abcdef0"}
    }
    assert not {"placement", "instanceMarketOptions"} & launch.keys()
    assert recording.of("PlacementGroup") == []
    assert (group["capacityType"], group["updateConfig"]["updateStrategy"]) == ("ON_DEMAND", "MINIMAL")


def test_a_block_before_its_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 12, 1, tzinfo=UTC))
    recording = made(capacity=BLOCK)
    launch, group = recording.one("LaunchTemplate").inputs, recording.one("NodeGroup").inputs
    assert launch["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert launch["capacityReservationSpecification"]["capacityReservationTarget"]["capacityReservationId"] == BLOCK["id"]
    assert "placement" not in launch
    assert (group["capacityType"], group["scalingConfig"]["desiredSize"]) == ("CAPACITY_BLOCK", 0)
    (schedule,) = recording.of("Schedule")
    assert schedule.inputs == {
        "autoscalingGroupName": "eks-made",
        "scheduledActionName": "gpu-begin",
        "startTime": "2026-12-07T11:30:00Z",
        "desiredCapacity": 4,
        "minSize": 0,
        "maxSize": 4,
    }


def test_spot_is_said_to_eks_and_not_in_the_template() -> None:
    recording = made(capacity={"kind": "spot"}, machine_type="g6e.48xlarge", network_tier="standard")
    assert recording.one("NodeGroup").inputs["capacityType"] == "SPOT"
    assert "instanceMarketOptions" not in recording.one("LaunchTemplate").inputs, "EKS refuses it there"


def test_a_role_that_is_given_is_used() -> None:
    recording = made(node_role_arn="arn:aws:iam::123456789012:role/nodes")
    assert recording.of("Role") == recording.of("RolePolicyAttachment") == []
    assert recording.one("NodeGroup").inputs["nodeRoleArn"] == "arn:aws:iam::123456789012:role/nodes"


def test_a_role_that_the_program_makes_is_used() -> None:
    arn = "arn:aws:iam::123456789012:role/nodes"

    def program() -> None:
        args: Any = {**ARGS, "node_role_arn": Output.from_input(arn)}
        EksGpuNodeGroup("gpu", args)

    recording = run_on_aws(program)
    assert recording.of("Role") == []
    assert recording.one("NodeGroup").inputs["nodeRoleArn"] == arn


def test_a_role_that_is_none_makes_nothing() -> None:
    with pytest.raises(SpecError, match=r"node_role_arn: 'nodes' is not the ARN of an IAM role"):
        made(node_role_arn="nodes")


def test_nodes_wait_for_their_roles_policies() -> None:
    recording = made()
    policies = {each.label for each in recording.of("RolePolicyAttachment")}
    assert len(policies) == 2
    assert policies <= set(recording.one("NodeGroup").options["dependencies"])


def test_one_ordinary_interface_may_have_a_public_address() -> None:
    (interface,) = template(network_tier="standard", public_ip=True)["networkInterfaces"]
    assert interface["associatePublicIpAddress"] == "true"


def test_ethernet_needs_no_efa_group() -> None:
    (interface,) = template(network_tier="standard", without=("efa_security_group_id",))["networkInterfaces"]
    assert interface["securityGroups"] == ["sg-cluster"]


def test_ids_may_be_outputs_and_the_provider_is_inherited() -> None:
    def program() -> None:
        account = Provider("account", region="us-east-2")
        outer = ComponentResource("acme:index:Outer", "outer", None, ResourceOptions(providers=[account]))
        args: Any = {**ARGS, "subnet_id": Output.from_input("subnet-later"), "cluster_name": Output.from_input("later")}
        EksGpuNodeGroup("gpu", args, ResourceOptions(parent=outer))

    recording = run_on_aws(program)
    assert recording.one("NodeGroup").inputs["subnetIds"] == ["subnet-later"]
    of_aws = [each for each in recording.resources if each.type.startswith("aws:")]
    assert {each.provider for each in of_aws} == {"pulumi:providers:aws account"}


def test_a_preview_knows_no_group_yet() -> None:
    recording = run_on_aws(lambda: EksGpuNodeGroup("gpu", {**ARGS}), preview=True)  # type: ignore[typeddict-item]
    assert recording.one("NodeGroup").inputs["scalingConfig"]["desiredSize"] == 4


def test_a_bad_wish_makes_nothing_and_all_problems_come_together() -> None:
    recording = Recording()
    args: Any = {"name": "train", "machine_type": "p5.48xlarge", "nodes": 4, "zone": "us-east-2b", "public_ip": True}
    with pytest.raises(SpecError) as caught:
        run_on_aws(lambda: EksGpuNodeGroup("gpu", args), recording=recording)
    assert [line.split(":")[0] for line in str(caught.value).split("\n")] == [
        "gpu.cluster_name",
        "gpu.cluster_security_group_id",
        "gpu.subnet_id",
        "gpu.efa_security_group_id",
        "gpu.public_ip",
    ]
    assert recording.resources == []


@pytest.mark.parametrize("args", [None, "train", []])
def test_what_is_no_mapping_is_said(args: Any) -> None:
    with pytest.raises(SpecError, match=r"^gpu: expected a mapping, found "):
        run_on_aws(lambda: EksGpuNodeGroup("gpu", args))


def test_a_name_that_eks_has_no_room_for() -> None:
    args: Any = {**ARGS}
    with pytest.raises(SpecError, match=r"50 characters are too many .*; shorten it to 49"):
        run_on_aws(lambda: EksGpuNodeGroup("g" * 50, args))
