"""The stand-in's cloud by itself: what it refuses, what it keeps, what can be made to go wrong."""

import threading
import time
from pathlib import Path

import pytest
from pulumi.runtime.rpc import UNKNOWN

from tools.standin import faults, values
from tools.standin.cloud import Cloud, CloudError
from tools.standin.description import FOLDER, read_description
from tools.standin.standin import StandIn
from tools.standin.store import Object, Store

VPC, SUBNET, GROUP = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:ec2/securityGroup:SecurityGroup"
RULE, TEMPLATE = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule", "aws:ec2/launchTemplate:LaunchTemplate"
CLUSTER, NODES = "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup"
MAP, NAMESPACE = "kubernetes:core/v1:ConfigMap", "kubernetes:core/v1:Namespace"


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    store = Store(tmp_path / "cloud.sqlite")
    store.create()
    return Cloud(read_description("aws"), store)


@pytest.fixture
def cluster(cloud: Cloud) -> Cloud:
    """The Kubernetes stand-in over the same store."""
    return Cloud(read_description("kubernetes"), cloud.store)


def make(cloud: Cloud, kind: str, **inputs: object) -> Object:
    return cloud.create(kind, f"urn:pulumi:s::p::{kind}::{len(StandIn(cloud.store, {}).calls())}", inputs)


def make_cluster(cloud: Cloud) -> tuple[Object, Object]:
    """An EKS cluster and its subnet."""
    subnet = make(cloud, SUBNET, vpcId=make(cloud, VPC, cidrBlock="10.0.0.0/16").id)
    role = make(cloud, "aws:iam/role:Role", name="role")
    return make(cloud, CLUSTER, name="train", roleArn=role.properties["arn"], vpcConfig={"subnetIds": [subnet.id]}), subnet


def test_ids_have_the_clouds_form_and_outputs_follow_from_them(cloud: Cloud) -> None:
    made = make(cloud, VPC, cidrBlock="10.0.0.0/16")
    assert made.id.startswith("vpc-")
    assert len(made.id) == len("vpc-") + 17
    assert made.properties["arn"] == f"arn:aws:ec2:us-east-2:111122223333:vpc/{made.id}"
    assert made.properties["cidrBlock"] == "10.0.0.0/16"


def test_a_reference_to_nothing_is_refused_and_leaves_nothing(cloud: Cloud) -> None:
    with pytest.raises(CloudError, match=r"the Vpc 'vpc-1' does not exist"):
        make(cloud, SUBNET, vpcId="vpc-1")
    assert StandIn(cloud.store, {}).objects() == []


def test_references_are_found_inside_lists_and_by_other_properties_than_the_id(cloud: Cloud) -> None:
    role = make(cloud, "aws:iam/role:Role", name="nodes")
    make(cloud, "aws:iam/rolePolicyAttachment:RolePolicyAttachment", role="nodes", policyArn="arn:aws:iam::aws:policy/Any")
    with pytest.raises(CloudError, match="Role 'nobody' does not exist"):
        make(cloud, "aws:iam/rolePolicyAttachment:RolePolicyAttachment", role="nobody", policyArn="arn:aws:iam::aws:policy/Any")
    with pytest.raises(CloudError, match=r"SecurityGroup 'sg-0' does not exist"):
        make(cloud, TEMPLATE, name="lt", networkInterfaces=[{"securityGroups": []}, {"securityGroups": ["sg-0"]}])
    assert role.properties["arn"] == "arn:aws:iam::111122223333:role/nodes"


def test_what_is_in_use_cannot_be_deleted_until_its_user_is_gone(cloud: Cloud) -> None:
    cluster, subnet = make_cluster(cloud)
    group = make(cloud, NODES, clusterName="train", nodeGroupName="gpu", subnetIds=[subnet.id])
    with pytest.raises(
        CloudError, match=rf"DependencyViolation: the Subnet '{subnet.id}' .*: Cluster train, NodeGroup train:gpu"
    ):
        cloud.delete(SUBNET, subnet.id, "")
    with pytest.raises(CloudError, match="the Cluster 'train' has dependencies"):
        cloud.delete(CLUSTER, cluster.id, "")
    for kind, key in ((NODES, group.id), (CLUSTER, cluster.id), (SUBNET, subnet.id)):
        cloud.delete(kind, key, "")
    assert [each.kind for each in StandIn(cloud.store, {}).objects()] == [VPC, "aws:iam/role:Role"]


def test_a_group_that_refers_to_itself_goes_with_its_rules(cloud: Cloud) -> None:
    network = make(cloud, VPC)
    group = make(cloud, GROUP, vpcId=network.id, name="fabric")
    other = make(cloud, GROUP, vpcId=network.id, name="other")
    make(cloud, RULE, securityGroupId=group.id, referencedSecurityGroupId=group.id)
    theirs = make(cloud, RULE, securityGroupId=other.id, referencedSecurityGroupId=group.id)
    with pytest.raises(CloudError, match="DependencyViolation"):
        cloud.delete(GROUP, group.id, "")
    cloud.delete(RULE, theirs.id, "")
    cloud.delete(GROUP, group.id, "")
    assert [each.id for each in StandIn(cloud.store, {}).objects()] == [network.id, other.id]


def test_what_comes_with_an_object_can_be_referred_to_and_goes_with_it(cloud: Cloud) -> None:
    cluster, _ = make_cluster(cloud)
    own = cluster.properties["vpcConfig"]["clusterSecurityGroupId"]
    make(cloud, TEMPLATE, name="lt", networkInterfaces=[{"securityGroups": [own]}])
    assert own not in {each.id for each in StandIn(cloud.store, {}).objects()}
    cloud.delete(CLUSTER, "train", "")
    with pytest.raises(CloudError, match=f"SecurityGroup '{own}' does not exist"):
        make(cloud, TEMPLATE, name="lt2", networkInterfaces=[{"securityGroups": [own]}])


def test_a_test_can_say_what_the_cloud_hands_out(cloud: Cloud) -> None:
    StandIn(cloud.store, {}).hand_out(CLUSTER, endpoint="https://127.0.0.1:6443", certificateAuthority={"data": "bWluZQ=="})
    made, subnet = make_cluster(cloud)
    assert made.properties["endpoint"] == "https://127.0.0.1:6443"
    assert made.properties["arn"] == "arn:aws:eks:us-east-2:111122223333:cluster/train"
    inputs = {"name": "train", "roleArn": made.properties["roleArn"], "vpcConfig": {"subnetIds": [subnet.id]}}
    assert cloud.update(CLUSTER, made.id, "", inputs)["certificateAuthority"] == {"data": "bWluZQ=="}


def test_a_deleted_cluster_takes_what_lies_in_it_along(cloud: Cloud, cluster: Cloud) -> None:
    make_cluster(cloud)
    make(cluster, MAP, metadata={"name": "plan", "namespace": "default"})
    cloud.delete(CLUSTER, "train", "")
    assert cluster.read(MAP, "default/plan") is None


def test_a_namespace_must_exist_and_takes_its_objects_along(cluster: Cloud) -> None:
    with pytest.raises(CloudError, match='Namespace "gate" not found'):
        make(cluster, MAP, metadata={"name": "plan", "namespace": "gate"})
    make(cluster, NAMESPACE, metadata={"name": "gate"})
    assert make(cluster, MAP, metadata={"name": "plan", "namespace": "gate"}).id == "gate/plan"
    cluster.delete(NAMESPACE, "gate", "")
    assert StandIn(cluster.store, {}).objects() == []


def test_a_taken_name_is_refused(cloud: Cloud) -> None:
    make(cloud, "aws:iam/role:Role", name="nodes")
    with pytest.raises(CloudError, match="AlreadyExists: a Role with this name exists: 'nodes'"):
        make(cloud, "aws:iam/role:Role", name="nodes")


def test_a_name_is_given_once_and_stays(cloud: Cloud) -> None:
    given = cloud.check(TEMPLATE, "gpu", {}, {"instanceType": "p5.48xlarge"}, b"seed")
    assert given["name"].startswith("gpu-")
    assert cloud.check(TEMPLATE, "gpu", given, {"instanceType": "p5en.48xlarge"}, b"another")["name"] == given["name"]
    assert cloud.check(TEMPLATE, "gpu", {}, {"name": "mine"}, b"seed") == {"name": "mine"}


def test_a_difference_says_what_needs_a_new_object(cloud: Cloud) -> None:
    old = {"clusterName": "train", "nodeGroupName": "gpu", "subnetIds": ["subnet-1"], "scalingConfig": {"desiredSize": 1}}
    grown = cloud.diff(NODES, old, old | {"scalingConfig": {"desiredSize": 2}})
    assert (grown.changes, grown.replacing) == ({"scalingConfig.desiredSize": "update"}, frozenset())
    moved = cloud.diff(NODES, old, old | {"subnetIds": ["subnet-2"]})
    assert moved.replacing == {"subnetIds[0]"}
    assert moved.in_place, "it has a name of its own, so the old one goes first"
    assert not cloud.diff(NODES, old, old | {"subnetIds": ["subnet-2"], "nodeGroupName": "other"}).in_place


def test_an_update_keeps_what_the_cloud_added_and_counts(cloud: Cloud) -> None:
    made = make(cloud, TEMPLATE, name="lt", instanceType="p5.48xlarge")
    assert made.properties["latestVersion"] == 1
    inputs = {"name": "lt", "instanceType": "p5en.48xlarge"}
    assert cloud.update(TEMPLATE, made.id, "", inputs, preview=True)["latestVersion"] == UNKNOWN
    assert cloud.update(TEMPLATE, made.id, "", inputs)["latestVersion"] == 2
    found = cloud.read(TEMPLATE, made.id)
    assert found is not None
    assert found.properties["arn"] == made.properties["arn"]
    assert found.properties["instanceType"] == "p5en.48xlarge"


def test_an_update_keeps_lists_that_the_cloud_added(cloud: Cloud) -> None:
    _, subnet = make_cluster(cloud)
    inputs = {"clusterName": "train", "nodeGroupName": "gpu", "subnetIds": [subnet.id]}
    made = make(cloud, NODES, **inputs)
    updated = cloud.update(NODES, made.id, "", inputs | {"labels": {"a": "b"}})
    assert updated["resources"] == made.properties["resources"]
    assert updated["resources"][0]["autoscalingGroups"][0]["name"].startswith("eks-gpu-")


def test_a_preview_knows_the_inputs_and_not_what_the_cloud_adds(cloud: Cloud) -> None:
    planned = cloud.planned(SUBNET, {"vpcId": UNKNOWN, "cidrBlock": "10.0.0.0/24"})
    assert planned == {"vpcId": UNKNOWN, "cidrBlock": "10.0.0.0/24", "arn": UNKNOWN}


def test_a_question_is_answered_from_the_data_file_or_from_what_is_there(cloud: Cloud) -> None:
    cloud.constants["region"] = "eu-north-1"
    zones = cloud.invoke("aws:index/getAvailabilityZones:getAvailabilityZones", {"state": "available"})
    assert zones["names"] == ["eu-north-1a", "eu-north-1b", "eu-north-1c"]
    StandIn(cloud.store, {}).hold(VPC, "vpc-0abc", cidrBlock="10.1.0.0/16")
    assert cloud.invoke("aws:ec2/getVpc:getVpc", {"id": "vpc-0abc"})["cidrBlock"] == "10.1.0.0/16"
    with pytest.raises(CloudError, match="Vpc 'vpc-1' does not exist"):
        cloud.invoke("aws:ec2/getVpc:getVpc", {"id": "vpc-1"})


def test_what_the_data_file_does_not_describe_is_an_error(cloud: Cloud) -> None:
    with pytest.raises(CloudError, match="does not know aws:rds/cluster:Cluster; add it to its data file"):
        make(cloud, "aws:rds/cluster:Cluster")
    with pytest.raises(CloudError, match="no answer to aws:rds/getCluster:getCluster"):
        cloud.invoke("aws:rds/getCluster:getCluster", {})


def test_a_rule_with_a_typing_mistake_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text('[errors]\n[kinds."a:b:C"]\nid = "c"\nrefer = { d = "a:b:D" }\n')
    with pytest.raises(TypeError, match="refer"):
        read_description("wrong", tmp_path)


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.toml")), ids=lambda file: file.stem)
def test_every_reference_of_a_data_file_names_a_kind_of_it(file: Path) -> None:
    described = read_description(file.stem)
    for token, kind in described.kinds.items():
        for rule in (*kind.refers.values(), *kind.mentions.values()):
            for choice in rule.split("|"):
                target = choice.partition("#")[0]
                brought = any(target in other.brings for other in described.kinds.values())
                assert target.startswith("~") or described.kind(target) or brought, f"{token}: {rule}"


def test_the_nth_call_fails_and_the_others_do_not(cloud: Cloud) -> None:
    StandIn(cloud.store, {}).fault(operation="create", kind="aws:ec2/*", nth=2, says="Throttling: slow down")
    assert cloud.trouble("create", VPC) == []
    assert cloud.trouble("delete", VPC) == []
    ((number, fault),) = cloud.trouble("create", SUBNET)
    with pytest.raises(faults.FaultError, match="Throttling"):
        faults.suffer(cloud.store.connect, number, fault, lambda: True)
    assert cloud.trouble("create", VPC) == []


def test_a_call_hangs_until_it_is_let_go_or_nobody_waits_for_it(cloud: Cloud) -> None:
    standin = StandIn(cloud.store, {})
    wished = standin.fault(operation="create", does="hang")
    ((number, fault),) = cloud.trouble("create", VPC)
    with pytest.raises(faults.FaultError, match="went away"):
        faults.suffer(cloud.store.connect, number, fault, lambda: False)
    hanging = threading.Thread(target=faults.suffer, args=(cloud.store.connect, number, fault, lambda: True), daemon=True)
    hanging.start()
    standin.await_fault(wished)
    assert hanging.is_alive()
    standin.lift_faults()
    hanging.join(timeout=10)
    assert not hanging.is_alive()


def test_a_slow_call_takes_its_time_and_goes_on(cloud: Cloud) -> None:
    StandIn(cloud.store, {}).fault(operation="create", does="slow", seconds=0.05, at="after")
    ((number, fault),) = cloud.trouble("create", VPC)
    started = time.monotonic()
    faults.suffer(cloud.store.connect, number, fault, lambda: True)
    assert time.monotonic() - started >= 0.05
    assert fault.at == "after"


def test_a_resource_is_found_by_how_it_was_asked_for(cloud: Cloud) -> None:
    standin = StandIn(cloud.store, {})
    network = make(cloud, VPC, cidrBlock="10.0.0.0/16")
    first = make(cloud, SUBNET, vpcId=network.id, cidrBlock="10.0.0.0/24")
    make(cloud, SUBNET, vpcId=network.id, cidrBlock="10.0.1.0/24")
    assert standin.search(SUBNET, {"vpcId": network.id, "cidrBlock": "10.0.0.0/24", "__defaults": []}) == first.id
    assert standin.search(SUBNET, {"cidrBlock": "10.0.2.0/24"}) is None
    with pytest.raises(LookupError, match="all look like"):
        standin.search(SUBNET, {"vpcId": network.id})


def test_trees() -> None:
    tree = {"a": [{"b": 1}, {"b": [2, None]}, {"c": 3}]}
    assert values.at(tree, "a.b") == [1, 2]
    assert values.read(values.write({"n": 3, "f": 0.5, "s": [1, {"x": None}]})) == {"n": 3, "f": 0.5, "s": [1, {"x": None}]}
    assert values.merged({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}) == {"a": {"x": 1, "y": 3}}
    assert values.merged({"a": [{"x": 1}]}, {"a": [{"y": 2}]}) == {"a": [{"x": 1, "y": 2}]}
    assert values.merged({"a": [{"x": 1}]}, {"a": []}) == {"a": []}
    assert dict(values.differences({"a": [1, 2], "b": 1}, {"a": [1, 3], "c": 1})) == {
        "a[1]": "update",
        "b": "delete",
        "c": "add",
    }
    assert values.without({"a": {"x": 1, "y": 2}, "b": 1}, ("a.x", "b", "c.d")) == {"a": {"y": 2}}
    assert values.projected({"a": {"x": 1, "y": 2}, "b": 1}, {"a": {"x": 0}}) == {"a": {"x": 1}}
