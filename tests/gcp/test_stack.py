"""GcpTrainingStack in a cluster that exists, kept gates, storage, and wishes that are refused before anything is registered."""

from typing import Any

import pytest
from pulumi import ResourceOptions
from pulumi_gcp import Provider

from gpufabric.gcp import GcpTrainingStack
from gpufabric.spec import SpecError
from tests.gcp.cloud import COMPUTED, EXISTING
from tests.gcp.test_node_pool import RDMA
from tests.kubernetes.mocked import Recording, run, verdicts
from tests.kubernetes.refused import begin, refused
from tests.plan.gcp.wishes import ULTRA

ARGS: dict[str, Any] = {key: value for key, value in ULTRA.items() if key != "cloud"}
(GROUP,) = ARGS["node_groups"]
OURS = {"network": "shared", "subnetwork": "train", "pods_range": "pods", "services_range": "services"}
IN_THEIRS = {
    **{key: value for key, value in ARGS.items() if key != "api_access"},
    "network": {"existing": {**OURS, "gpu_networks": {"a3-ultragpu-8g": RDMA}}},
    "cluster": {"existing": {"name": "shared-cluster"}},
}
ACCOUNT = "pulumi:providers:gcp account"


def declared(args: dict[str, Any], recording: Recording | None = None, name: str = "prod", *groups: str) -> Recording:
    def program() -> None:
        account = Provider("account", project="acme-training")
        GcpTrainingStack(name, args, ResourceOptions(providers=[account]))  # type: ignore[arg-type]

    gates = verdicts(*(f"gpufabric-dev-{group}/{group}-verdict" for group in groups or ("train",)))
    return run(program, computed=COMPUTED, cluster={**EXISTING, **gates}, recording=recording)


def test_in_a_cluster_that_exists_nothing_of_it_is_made_and_nothing_goes_with_it() -> None:
    recording = declared(IN_THEIRS)
    assert recording.one("Cluster").read == "projects/acme-training/locations/us-central1/clusters/shared-cluster"
    assert not recording.of("Subnetwork") + recording.of("RouterNat")
    pool = recording.one("NodePool")
    assert (pool.name, pool.inputs["cluster"], pool.inputs["location"]) == ("prod-train", "shared-cluster", "us-central1")
    assert pool.inputs["networkConfig"]["additionalNodeNetworkConfigs"] == RDMA
    assert pool.inputs["nodeConfig"]["serviceAccount"] == "prod-train-nodes@acme-training.iam.gserviceaccount.com"
    assert not [each.label for each in recording.resources if "deletedWith" in each.options], "it is not ours to delete"


def test_the_cluster_knows_the_networks_that_the_nodes_have() -> None:
    recording = declared(ARGS)
    params = {each.inputs["metadata"]["name"]: each.inputs["spec"] for each in recording.of("GKENetworkParamSet")}
    of_pool = recording.one("NodePool", "prod-train").inputs["networkConfig"]["additionalNodeNetworkConfigs"]
    known = {(each["vpc"], each["vpcSubnet"]) for each in params.values()}
    assert known == {(each["network"], each["subnetwork"]) for each in of_pool}
    assert len(params) == len(of_pool)
    assert params["rdma-3"] == {
        "vpc": "prod-network-rdma-0123456",
        "vpcSubnet": "prod-network-rdma-3-0123456",
        "deviceMode": "RDMA",
    }
    assert params["gvnic-1"]["deviceMode"] == "NetDevice"


def test_the_kept_gate_comes_after_the_gate_and_goes_with_the_cluster() -> None:
    recording = declared({**ARGS, "validation": {**ARGS["validation"], "keep": True}})
    kept = recording.one("FabricGate")
    assert "kubernetes:batch/v1:Job prod-train-job" in kept.options["dependencies"]
    assert kept.options["deletedWith"].endswith("GkeCluster::prod")


def test_storage_brings_its_drivers_and_the_peering() -> None:
    storage = {
        "stores": {"weights": {"name": "acme-weights"}},
        "filesystems": {"data": {"size_gib": 36_000}, "home": {"kind": "filestore", "size_gib": 1024}},
    }
    recording = declared({**ARGS, **storage})
    addons = recording.one("Cluster").inputs["addonsConfig"]
    assert all(each["enabled"] for each in addons.values())
    peering = recording.one("Connection").label
    instances = {each.type.split("/")[0]: each for each in recording.of("Instance")}
    assert instances.keys() == {"gcp:lustre", "gcp:filestore"}
    for each in instances.values():
        assert peering in each.options["dependencies"], "Google refuses it before"
    assert {each.inputs["metadata"]["name"] for each in recording.of("PersistentVolumeClaim")} == {"data", "home"}
    assert recording.one("Bucket").inputs["name"] == "acme-weights"
    assert not declared(ARGS).of("Connection"), "only who has file systems"


def test_every_group_has_its_gate_with_the_hold_of_its_nodes() -> None:
    groups = [GROUP, {"name": "burst", "machine_type": "a4-highgpu-8g", "nodes": 2, "capacity": {"kind": "flex_start"}}]
    recording = declared({**ARGS, "node_groups": groups}, None, "prod", "train", "burst")
    plans = {each.name: each.inputs["data"]["gate.json"] for each in recording.of("ConfigMap") if each.name.endswith("-plan")}
    assert plans.keys() == {"prod-train-plan", "prod-burst-plan"}
    assert '"hold": "taint"' in plans["prod-train-plan"]
    assert '"hold": "label"' in plans["prod-burst-plan"], "no template node has the taint's opposite"
    assert '"wait_for_nodes": true' in plans["prod-train-plan"]
    assert '"wait_for_nodes": false' in plans["prod-burst-plan"], "nodes come when a job asks"
    assert len(recording.of("FabricNetworks")) == 1, "both machines have the same networks"


def test_groups_of_all_fabrics_stand_in_one_cluster() -> None:
    machines = {"high": "a3-highgpu-8g", "mega": "a3-megagpu-8g", "ultra": "a3-ultragpu-8g", "four": "a4-highgpu-8g"}
    groups = [{"name": name, "machine_type": machine, "nodes": 2} for name, machine in machines.items()]
    validation = {**ARGS["validation"], "floor_gbytes_per_s": 1.0}
    recording = declared({**ARGS, "node_groups": groups, "validation": validation}, None, "prod", *machines)
    names = [each.inputs["metadata"]["name"] for each in recording.of("GKENetworkParamSet")]
    assert len(names) == len(set(names)) == 8 + 9
    assert len([each for each in recording.of("Network") if each.type.startswith("gcp:")]) == 1 + 8 + 2


BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "shape": (
        {**ARGS, "cloud": "gcp", "zone": 3},
        ["prod.zone: expected a text, found 3; put it in quotes", "prod.cloud: unknown key; known keys: project, region, zone"],
    ),
    "meaning, of several parts": (
        {
            **ARGS,
            "zone": "us-east4-a",
            "node_groups": [{**GROUP, "boot_disk_type": "pd-ssd"}],
            "filesystems": {"data": {"size_gib": 5}, "home": {"kind": "filestore", "size_gib": 1024, "tier": "zonal"}},
            "stores": {"a": {"name": "acme-data"}, "b": {"name": "acme-data"}},
        },
        [
            "prod.zone: us-east4-a is not in us-central1; write a zone such as us-central1-a",
            "prod.node_groups[0].boot_disk_type: a3-ultragpu-8g does not boot from pd-ssd; ",
            "prod.stores: a and b name the same bucket acme-data; name a bucket once",
            "prod.filesystems.data.size_gib: Managed Lustre sells no 5 GiB at 250 MB/s per TiB; write 36000",
        ],
    ),
    "keys of the other kind": (
        {**ARGS, "filesystems": {"data": {"size_gib": 36_000, "tier": "zonal"}}},
        ["prod.filesystems.data.tier: does not apply to kind: lustre; leave it out, or write kind: filestore"],
    ),
    "an existing cluster without its network": (
        {key: value for key, value in IN_THEIRS.items() if key != "network"},
        ["prod.network.existing: missing: the cluster exists, and its nodes live in its VPC; "],
    ),
    "a version before the fabric": (
        {**ARGS, "cluster": {"kubernetes_version": "1.31.1-gke.1000000"}},
        ["prod.cluster.kubernetes_version: "],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_wish_makes_nothing(case: str) -> None:
    args, lines = BAD[case]
    said = refused(lambda recording: declared(args, recording), [ACCOUNT])
    assert begin(said, lines), said


@pytest.mark.parametrize(
    ("name", "says"),
    [("my.prod", "'my.prod' cannot be the name of a GKE cluster"), ("c" * 26, "has 26 characters: too many")],
)
def test_a_components_name_that_its_parts_cannot_have_makes_nothing(name: str, says: str) -> None:
    recording = Recording()
    with pytest.raises(SpecError) as caught:
        declared(ARGS, recording, name)
    assert says in str(caught.value)
    assert [each.label for each in recording.resources] == [ACCOUNT]


ROLES: dict[str, Any] = {"stores": {"weights": {"name": "acme-weights"}}, "storage": {"model": {}, "checkpoint": {}}}


def test_a_buckets_roles_are_mounted_with_an_identity_of_their_own() -> None:
    recording = declared({**ARGS, **ROLES})
    found = [each.inputs for each in recording.of("BucketIAMMember")]
    assert {each["member"].rpartition("subject/")[2]: each["role"] for each in found} == {
        "ns/gpufabric-dev-mount-train-ckpt/sa/mount-train-ckpt": "roles/storage.objectUser",
        "ns/default/sa/default": "roles/storage.objectViewer",  # jobs, which read models by gcsfuse
    }
    daemons = {each.name: each.inputs for each in recording.of("DaemonSet")}
    volumes = daemons["prod-train-ckpt-daemon-set"]["spec"]["template"]["spec"]["volumes"]
    (cache,) = [each["hostPath"]["path"] for each in volumes if each["name"] == "cache"]
    assert cache == "/mnt/stateful_partition/kube-ephemeral-ssd/gpufabric/cache/train-ckpt"


def test_a_mount_is_removed_by_itself_and_before_its_nodes_and_bucket() -> None:
    recording = declared({**ARGS, **ROLES, "storage": {"model": {"driver": "rclone"}, "checkpoint": {}}})
    for mount in (recording.one("CachedMount"), recording.one("BucketMount")):
        assert "deletedWith" not in mount.options
        before = {"gcp:container/nodePool:NodePool prod-train", "gcp:storage/bucket:Bucket prod-weights-bucket"}
        assert before <= set(mount.options["dependencies"])
