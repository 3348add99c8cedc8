"""AwsTrainingStack in a cluster that exists, kept gates, and wishes that are refused before anything is registered."""

from typing import Any

import pytest
from pulumi import ResourceOptions
from pulumi_aws import Provider

from gpufabric.aws import AwsTrainingStack
from gpufabric.spec import SpecError
from tests.aws.cloud import COMPUTED, EXISTING
from tests.kubernetes.mocked import Recording, run, verdicts
from tests.kubernetes.refused import begin, refused
from tests.plan.aws.wishes import P5

VPC = {"vpc": "vpc-0123456789abcdef0", "subnets": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]}
ARGS: dict[str, Any] = {key: value for key, value in P5.items() if key != "cloud"}
IN_THEIRS = {
    **{key: value for key, value in ARGS.items() if key != "api_access"},
    "network": {"existing": VPC},
    "cluster": {"existing": {"name": "shared-cluster"}},
}


def declared(args: dict[str, Any], recording: Recording | None = None, name: str = "prod") -> Recording:
    def program() -> None:
        account = Provider("account", region="us-east-2")
        AwsTrainingStack(name, args, ResourceOptions(providers=[account]))  # type: ignore[arg-type]

    cluster = {**EXISTING, **verdicts("gpufabric-dev-train/train-verdict")}
    return run(program, computed=COMPUTED, cluster=cluster, recording=recording)


def test_in_a_cluster_that_exists_nothing_of_it_is_made_and_nothing_goes_with_it() -> None:
    recording = declared(IN_THEIRS)
    assert recording.one("Cluster").read == "shared-cluster"
    assert not recording.of("Vpc") + recording.of("Subnet") + recording.of("Addon")
    assert [each.name for each in recording.of("NodeGroup")] == ["prod-train-nodes"]
    group = recording.one("NodeGroup").inputs
    assert (group["clusterName"], group["subnetIds"]) == ("shared-cluster", [VPC["subnets"][0]])
    assert not [each.label for each in recording.resources if "deletedWith" in each.options], "it is not ours to delete"


def test_a_group_may_have_a_role_that_exists() -> None:
    arn = "arn:aws:iam::123456789012:role/nodes"
    recording = declared({**IN_THEIRS, "node_groups": [{**ARGS["node_groups"][0], "node_role_arn": arn}]})
    assert recording.one("NodeGroup").inputs["nodeRoleArn"] == arn
    assert not [each.label for each in recording.of("Role") if each.label == "aws:iam/role:Role prod-train-role"]


def test_the_kept_gate_comes_after_the_gate_and_goes_with_the_cluster() -> None:
    recording = declared({**ARGS, "validation": {**ARGS["validation"], "keep": True}})
    kept = recording.one("FabricGate")
    assert "kubernetes:batch/v1:Job prod-train-job" in kept.options["dependencies"]
    assert kept.options["deletedWith"].endswith("EksCluster::prod")


def test_every_group_has_its_gate_with_the_taints_hold() -> None:
    groups = [*ARGS["node_groups"], {"name": "spare", "machine_type": "g6e.48xlarge", "nodes": 2, "capacity": {"kind": "spot"}}]
    recording = Recording()
    cluster = verdicts("gpufabric-dev-train/train-verdict", "gpufabric-dev-spare/spare-verdict")

    def program() -> None:
        AwsTrainingStack("prod", {**ARGS, "node_groups": groups})  # type: ignore[typeddict-item]

    run(program, computed=COMPUTED, cluster=cluster, recording=recording)
    plans = {each.name: each.inputs["data"]["gate.json"] for each in recording.of("ConfigMap") if each.name.endswith("-plan")}
    assert plans.keys() == {"prod-train-plan", "prod-spare-plan"}
    assert all('"hold": "taint"' in plan for plan in plans.values())
    assert '"wait_for_nodes": true' in plans["prod-train-plan"]
    assert '"wait_for_nodes": false' in plans["prod-spare-plan"], "spot nodes may lack"


BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "shape": (
        {**ARGS, "cloud": "aws", "zone": 3},
        ["prod.zone: expected a text, found 3; put it in quotes", "prod.cloud: unknown key; known keys: region, zone, "],
    ),
    "meaning": (
        {**ARGS, "zone": "us-east-1a", "node_groups": [{**ARGS["node_groups"][0], "public_ip": True}]},
        ["prod.zone: us-east-1a is not in us-east-2; ", "prod.node_groups[0].public_ip: AWS gives no public address "],
    ),
    "a bucket's key that cannot be part of names": (
        {**ARGS, "stores": {"a b": {"name": "acme-weights"}, "c" * 64: {"name": "acme-data"}}},
        [
            "prod.stores[\"a b\"]: 'a b' is not the key of a bucket (1 to 40 letters, digits, - and _); ",
            'prod.stores["' + "c" * 64 + '"]: ',
        ],
    ),
    "an existing cluster without its network": (
        {key: value for key, value in IN_THEIRS.items() if key != "network"},
        ["prod.network.existing: missing: the cluster exists, and its nodes live in its VPC; "],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_wish_makes_nothing(case: str) -> None:
    args, lines = BAD[case]
    said = refused(lambda recording: declared(args, recording), ["pulumi:providers:aws account"])
    assert begin(said, lines), said


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("my.prod", "'my.prod' cannot be the name of an EKS cluster"),
        ("c" * 45, f"node_groups[0].name: the component is called {'c' * 45}-train: 51 characters are too many"),
    ],
)
def test_a_components_name_that_its_parts_cannot_have_makes_nothing(name: str, says: str) -> None:
    recording = Recording()
    with pytest.raises(SpecError) as caught:
        declared(ARGS, recording, name)
    assert says in str(caught.value)
    assert [each.label for each in recording.resources] == ["pulumi:providers:aws account"]


ROLES: dict[str, Any] = {
    "stores": {"weights": {"name": "acme-weights"}},
    "storage": {"model": {}, "checkpoint": {"checkpoint_gib": 100}, "scratch": {}},
}


def test_a_buckets_roles_are_mounted_with_an_identity_of_their_own() -> None:
    recording = declared({**ARGS, **ROLES})
    accounts = {(each.inputs["namespace"], each.inputs["serviceAccount"]) for each in recording.of("PodIdentityAssociation")}
    assert accounts >= {("kube-system", "s3-csi-driver-sa"), ("gpufabric-dev-mount-train-ckpt", "mount-train-ckpt")}
    daemons = {each.name: each.inputs for each in recording.of("DaemonSet")}
    mount = daemons["prod-train-ckpt-daemon-set"]["spec"]["template"]["spec"]
    assert mount["nodeSelector"] == {"gpufabric.dev/node-group": "train"}
    (cache,) = [each["hostPath"]["path"] for each in mount["volumes"] if each["name"] == "cache"]
    assert cache == "/mnt/k8s-disks/0/gpufabric/cache/train-ckpt"


def test_a_mount_is_removed_by_itself_and_before_its_nodes_and_bucket() -> None:
    """So that the cluster is asked, and refuses while a node holds files that are not in the bucket."""
    by_rclone = {**ROLES["storage"], "model": {"driver": "rclone"}}
    recording = declared({**ARGS, **ROLES, "storage": by_rclone})
    for mount in (recording.one("CachedMount"), recording.one("BucketMount")):
        assert "deletedWith" not in mount.options
        before = {"aws:eks/nodeGroup:NodeGroup prod-train-nodes", "aws:iam/rolePolicy:RolePolicy prod-weights-pods"}
        assert before <= set(mount.options["dependencies"])


def test_the_profile_of_a_stack_has_the_files_of_every_role() -> None:
    made: list[AwsTrainingStack] = []

    def program() -> None:
        account = Provider("account", region="us-east-2")
        made.append(AwsTrainingStack("prod", {**ARGS, **ROLES}, ResourceOptions(providers=[account])))  # type: ignore[typeddict-item]

    run(program, computed=COMPUTED, cluster={**EXISTING, **verdicts("gpufabric-dev-train/train-verdict")})
    pod = made[0].profiles["train"].apply_to({"containers": [{"name": "train"}]})
    paths = {each["mountPath"] for each in pod["containers"][0]["volumeMounts"]}
    assert paths == {"/dev/shm", "/models/files", "/checkpoints", "/scratch"}  # noqa: S108 - the pod's


def test_the_driver_of_buckets_is_there_before_what_mounts_and_goes_with_the_cluster() -> None:
    recording = declared({**ARGS, **ROLES})
    driver = recording.one("MountpointDriver")
    mount, cached = recording.one("BucketMount"), recording.one("CachedMount")
    addon = next(each for each in recording.of("Addon") if each.name == "prod-mountpoint-driver")
    assert addon.label in mount.options["dependencies"]
    assert addon.label not in cached.options["dependencies"], "rclone needs none"
    assert any(":Cluster " in each for each in driver.options["dependencies"])
    assert mount.options["deletedWith"].endswith("EksCluster::prod"), "a claim would wait for the jobs that use it"


@pytest.mark.parametrize(
    "change",
    [{"storage": {"model": {"driver": "rclone"}}}, {"storage": {"checkpoint": {}}}, {}],
    ids=["rclone", "a cached bucket", "no roles"],
)
def test_no_driver_where_no_role_needs_it(change: dict[str, Any]) -> None:
    assert declared({**ARGS, "stores": ROLES["stores"], **change}).of("MountpointDriver") == []
