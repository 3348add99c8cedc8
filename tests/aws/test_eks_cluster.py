"""EksCluster: its API, its add-ons' order, its administrators, a cluster that exists, and what is refused."""

import json
from typing import Any

import pulumi
import pytest

from gpufabric.aws import EksCluster
from gpufabric.spec import SpecError
from tests.aws.cloud import AUTHORITY, CLUSTER, run_on_aws
from tests.kubernetes.mocked import Recording
from tests.kubernetes.refused import refused

ARGS: dict[str, Any] = {
    "region": "us-east-2",
    "subnet_ids": ["subnet-1", "subnet-2"],
    "system_subnet_ids": ["subnet-1"],
    "api_access": {"kind": "public", "cidrs": ["203.0.113.0/24"]},
    "admin_principals": ["arn:aws:iam::123456789012:role/team/ml-platform", "arn:aws:iam::123456789012:user/eve"],
    "tags": {"owner": "ml"},
}
SECRET = "4dabf18193072939515e22adb298388d"  # how the SDK marks a secret on the wire


def cluster(changes: dict[str, Any] | None = None, without: tuple[str, ...] = (), **how: Any) -> Recording:
    args: Any = {key: value for key, value in {**ARGS, **(changes or {})}.items() if key not in without}

    def program() -> None:
        made = EksCluster("training", args)
        pulumi.export("kubeconfig", made.kubeconfig)

    return run_on_aws(program, **how)


def test_the_api_is_reached_from_the_blocks_that_were_written_and_from_inside() -> None:
    vpc = cluster().one("Cluster").inputs["vpcConfig"]
    assert vpc == {
        "subnetIds": ["subnet-1", "subnet-2"],
        "endpointPrivateAccess": True,
        "endpointPublicAccess": True,
        "publicAccessCidrs": ["203.0.113.0/24"],
    }
    private = cluster({"api_access": {"kind": "private"}}).one("Cluster").inputs["vpcConfig"]
    assert (private["endpointPrivateAccess"], private["endpointPublicAccess"]) == (True, False)
    assert "publicAccessCidrs" not in private


def test_secrets_are_encrypted_with_an_own_key_and_logs_are_kept_for_a_while() -> None:
    made = cluster()
    inputs = made.one("Cluster").inputs
    assert inputs["encryptionConfig"]["resources"] == ["secrets"]
    assert made.one("Key").inputs["enableKeyRotation"] is True
    assert inputs["enabledClusterLogTypes"] == ["api", "audit", "authenticator", "controllerManager", "scheduler"]
    logs = made.one("LogGroup")
    assert logs.inputs["name"] == f"/aws/eks/{inputs['name']}/cluster"
    assert logs.inputs["retentionInDays"] == 90
    assert logs.label in made.one("Cluster").options["dependencies"], "EKS would make its own and leave it behind"
    assert inputs["bootstrapSelfManagedAddons"] is False
    assert inputs["accessConfig"] == {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True}


def before(made: Recording, label: str) -> set[str]:
    """Everything that has to be done before a resource, directly or not."""
    by_label = {each.label: each for each in made.resources}
    found: set[str] = set()
    waiting = [label]
    while waiting:
        for each in by_label[waiting.pop()].options.get("dependencies", []):
            if each in by_label and each not in found:
                found.add(each)
                waiting.append(each)
    return found


def test_add_ons_that_nodes_need_come_before_them_and_those_that_need_nodes_after() -> None:
    made = cluster()
    nodes = made.one("NodeGroup").label
    addons = {each.inputs["addonName"]: each.label for each in made.of("Addon")}
    first = {name for name, label in addons.items() if label in before(made, nodes)}
    last = {name for name, label in addons.items() if nodes in before(made, label)}
    assert first == {"vpc-cni", "kube-proxy", "eks-pod-identity-agent"}
    assert last == {"coredns", "eks-node-monitoring-agent"}


def test_what_uses_a_role_waits_for_its_policies() -> None:
    made = cluster()
    attached = {each.name: each.label for each in made.of("RolePolicyAttachment")}
    assert set(attached) == {
        "training-cluster-AmazonEKSClusterPolicy",
        "training-system-AmazonEKSWorkerNodePolicy",
        "training-system-AmazonEC2ContainerRegistryPullOnly",
        "training-vpc-cni-AmazonEKS_CNI_Policy",
    }
    assert attached["training-cluster-AmazonEKSClusterPolicy"] in before(made, made.one("Cluster").label)
    assert set(attached.values()) <= before(made, made.one("NodeGroup").label)


def addon(made: Recording, name: str) -> dict[str, Any]:
    (found,) = [each.inputs for each in made.of("Addon") if each.inputs["addonName"] == name]
    return {**found, "configuration": json.loads(found.get("configurationValues", "{}"))}


def test_the_cni_has_room_for_pods_where_a_card_holds_two_interfaces() -> None:
    cni = addon(cluster(), "vpc-cni")
    assert cni["configuration"]["env"] == {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}
    assert cni["podIdentityAssociations"] == [{"roleArn": "arn:aws:iam::123456789012:role/made", "serviceAccount": "aws-node"}]
    assert "env" not in addon(cluster({"prefix_delegation": False}), "vpc-cni")["configuration"]


def test_the_monitoring_agent_tolerates_every_taint() -> None:
    agent = addon(cluster(), "eks-node-monitoring-agent")
    assert agent["configuration"] == {"dcgmAgent": {"tolerations": [{"operator": "Exists"}]}}


def test_administrators_are_entries_with_the_admin_policy() -> None:
    made = cluster()
    entries = {each.inputs["principalArn"]: each.name for each in made.of("AccessEntry")}
    policies = {each.inputs["principalArn"]: each.inputs for each in made.of("AccessPolicyAssociation")}
    assert entries.keys() == policies.keys() == set(ARGS["admin_principals"])
    for each in policies.values():
        assert each["policyArn"] == "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
        assert each["accessScope"] == {"type": "cluster"}


def test_principals_of_one_name_are_told_apart() -> None:
    twins = ["arn:aws:iam::123456789012:role/a/x", "arn:aws:iam::123456789012:role/b/x"]
    assert len({each.name for each in cluster({"admin_principals": twins}).of("AccessEntry")}) == 2


def test_the_system_nodes_are_plain_cpu_nodes_in_the_subnets_that_were_named() -> None:
    made = cluster({"system_nodes": {"nodes": 3, "machine_type": "m7i.2xlarge"}})
    group = made.one("NodeGroup").inputs
    assert group["subnetIds"] == ["subnet-1"]
    assert group["scalingConfig"] == {"minSize": 3, "maxSize": 3, "desiredSize": 3}
    assert group["instanceTypes"] == ["m7i.2xlarge"]
    assert "taints" not in group
    template = made.one("LaunchTemplate").inputs
    assert "instanceType" not in template, "EKS refuses it in both places"
    assert template["metadataOptions"]["httpTokens"] == "required"
    assert template["blockDeviceMappings"][0]["ebs"]["encrypted"] == "true"
    assert group["launchTemplate"]["version"] == "3"


def test_the_kubeconfig_is_secret_and_asks_for_its_token() -> None:
    wrapped = cluster().outputs["kubeconfig"]
    assert SECRET in wrapped
    held = json.loads(wrapped["value"])
    (found,) = held["clusters"]
    assert found["cluster"] == {"server": CLUSTER["endpoint"], "certificate-authority-data": AUTHORITY}
    command = held["users"][0]["user"]["exec"]
    assert command["args"][:6] == ["eks", "get-token", "--cluster-name", "training", "--region", "us-east-2"]
    assert "token" not in held["users"][0]["user"]


@pytest.mark.parametrize(
    ("nodes", "tier"), [(0, "standard"), (998, "standard"), (999, "tier-xl"), (2000, "tier-2xl"), (5000, "tier-4xl")]
)
def test_a_big_cluster_gets_a_bigger_control_plane(nodes: int, tier: str) -> None:
    assert cluster({"gpu_nodes": nodes}).one("Cluster").inputs["controlPlaneScalingConfig"] == {"tier": tier}


def test_a_tier_that_was_asked_for_is_taken() -> None:
    made = cluster({"control_plane_tier": "tier-8xl"})
    assert made.one("Cluster").inputs["controlPlaneScalingConfig"] == {"tier": "tier-8xl"}


def test_a_cluster_that_exists_is_read_and_nothing_is_made() -> None:
    made = run_on_aws(lambda: EksCluster("training", {"region": "us-east-2", "existing": {"name": "shared-cluster"}}))
    component, read = made.resources
    assert read.read == "shared-cluster"
    assert component.outputs is not None
    assert component.outputs["cluster_name"] == "shared-cluster"
    assert component.outputs["security_group_id"] == "sg-00000000000000c1c"
    assert component.outputs["oidc_issuer"] == "https://oidc.example/id/1"


def test_a_preview_knows_nothing_of_a_cluster_that_is_not_there() -> None:
    assert len(cluster(preview=True).of("Addon")) == 5


BAD: dict[str, tuple[dict[str, Any], tuple[str, ...], list[str]]] = {
    "no access": (
        {},
        ("api_access", "subnet_ids"),
        [
            (
                "training.api_access: missing: there is no default for who reaches the cluster's API; write {kind: public, "
                "cidrs: [your addresses]}, or {kind: private} if you run inside the VPC"
            ),
            "training.subnet_ids: missing; write private subnets in two zones or more",
        ],
    ),
    "public to nobody": (
        {"api_access": {"kind": "public"}},
        (),
        [
            (
                "training.api_access: public without cidrs: nobody outside could reach the API, this program neither; write "
                "cidrs: [your addresses], such as [203.0.113.7/32]"
            )
        ],
    ),
    "private with blocks": (
        {"api_access": {"kind": "private", "cidrs": ["203.0.113.0/24"]}},
        (),
        ["training.api_access: private has no cidrs: only the VPC reaches the API; leave cidrs out, or write public"],
    ),
    "dns": (
        {"api_access": {"kind": "dns"}},
        (),
        ["training.api_access: dns is Google's; write {kind: public, cidrs: [...]} or {kind: private}"],
    ),
    "open to all": (
        {"api_access": {"kind": "public", "cidrs": ["0.0.0.0/0"]}},
        (),
        [
            (
                "training.api_access.cidrs[0]: 0.0.0.0/0 opens the API to the internet; write the networks you call from, such "
                "as 203.0.113.7/32"
            )
        ],
    ),
    "unreachable": (
        {"api_access": {"kind": "public", "cidrs": ["10.1.0.0/16"]}},
        (),
        [
            (
                "training.api_access.cidrs[0]: 10.1.0.0/16 is private and never arrives at a public endpoint; write public "
                "addresses, or kind: private"
            )
        ],
    ),
    "more blocks than EKS takes": (
        {"api_access": {"kind": "public", "cidrs": [f"203.0.113.{each}/32" for each in range(41)]}},
        (),
        ["training.api_access.cidrs: 41 networks; write at most 40: wider ones, or those that really call"],
    ),
    "a principal that is none": (
        {"admin_principals": ["arn:aws:sts::123456789012:assumed-role/ml/eve"]},
        (),
        [
            (
                "training.admin_principals[0]: 'arn:aws:sts::123456789012:assumed-role/ml/eve' is not the ARN of an IAM "
                "role or user; write for example arn:aws:iam::123456789012:role/ml-platform"
            )
        ],
    ),
    "a principal twice, and one of another world": (
        {"admin_principals": ["arn:aws:iam::123456789012:role/ml"] * 2 + ["arn:aws-cn:iam::123456789012:role/ml"]},
        (),
        [
            "training.admin_principals[1]: arn:aws:iam::123456789012:role/ml is listed twice; write it once",
            (
                "training.admin_principals[2]: arn:aws-cn:iam::123456789012:role/ml is not of aws, where us-east-2 is; "
                "write an ARN that begins with arn:aws:"
            ),
        ],
    ),
    "addresses that nobody calls from": (
        {"api_access": {"kind": "public", "cidrs": ["127.0.0.1/32", "169.254.169.254/32", "224.0.0.0/8"]}},
        (),
        [
            (
                f"training.api_access.cidrs[{position}]: {block} is no address that anybody calls from; "
                "write your public one, such as 203.0.113.7/32"
            )
            for position, block in enumerate(("127.0.0.1/32", "169.254.169.254/32", "224.0.0.0/8"))
        ],
    ),
    **{
        f"system nodes of ARM: {machine}": (
            {"system_nodes": {"machine_type": machine}},
            (),
            [
                (
                    f"training.system_nodes.machine_type: '{machine}' is not a machine type with an x86 processor; "
                    "write for example m7i.xlarge"
                )
            ],
        )
        for machine in ("m7g.xlarge", "c7gn.large", "im4gn.large", "a1.large")
    },
    "an unknown version": (
        {"kubernetes_version": "1.22"},
        (),
        [
            (
                "training.kubernetes_version: unknown Kubernetes version of EKS '1.22'; known: 1.33, 1.34, "
                "1.35, 1.36; write one of these in quotes, or leave it out"
            )
        ],
    ),
    "existing and decided": (
        {"existing": {"name": "shared-cluster"}},
        ("api_access",),
        [
            "training.admin_principals: the cluster exists, and nothing of it is changed; leave it out",
            "training.subnet_ids: the cluster exists, and nothing of it is changed; leave it out",
        ],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_wish_registers_nothing(case: str) -> None:
    changes, without, says = BAD[case]
    assert refused(lambda recording: cluster(changes, without, recording=recording)) == says


def test_a_name_that_eks_cannot_have() -> None:
    args: Any = ARGS
    with pytest.raises(SpecError, match=r"my.cluster: 'my.cluster' cannot be the name of an EKS cluster"):
        run_on_aws(lambda: EksCluster("my.cluster", args))


def test_a_name_that_leaves_no_room_for_the_system_nodes() -> None:
    args: Any = ARGS
    with pytest.raises(SpecError, match=r"has 49 characters: too many .*; name stack and component with at most 48"):
        run_on_aws(lambda: EksCluster("c" * 49, args))
    run_on_aws(lambda: EksCluster("c" * 48, args))


@pytest.mark.parametrize("machine", ["m7i.xlarge", "c7a.large", "m6id.large", "r7iz.xlarge", "g6e.xlarge"])
def test_system_nodes_of_x86_are_taken(machine: str) -> None:
    cluster({"system_nodes": {"machine_type": machine}}, ())
