"""GkeGpuNodePool alone, in an organisation's own stack: what goes to GKE, by family, capacity and attachment."""

from typing import Any

import pytest
from pulumi import Output

from gpufabric.gcp import GkeGpuNodePool
from gpufabric.spec import SpecError
from tests.gcp.cloud import run_on_gcp
from tests.kubernetes.mocked import Recording
from tests.kubernetes.refused import begin, refused

CARDS = [{"network": f"v{card}", "subnetwork": f"s{card}"} for card in range(8)]
RDMA = [{"network": "second", "subnetwork": "second"}, *({"network": "rdma", "subnetwork": f"r{rail}"} for rail in range(8))]
ALONE: dict[str, Any] = {
    "name": "train",
    "project": "acme-training",
    "zone": "us-central1-a",
    "cluster_name": "shared",
    "location": "us-central1",
    "machine_type": "a3-megagpu-8g",
    "nodes": 2,
    "additional_networks": CARDS,
    "node_service_account": "nodes@acme-training.iam.gserviceaccount.com",
}
ULTRA: dict[str, Any] = {"machine_type": "a3-ultragpu-8g", "additional_networks": RDMA}
ETHERNET: dict[str, Any] = {"machine_type": "g2-standard-96", "network_tier": "standard"}


def pool(changes: dict[str, Any] | None = None, without: tuple[str, ...] = (), **how: Any) -> Recording:
    args: Any = {key: value for key, value in {**ALONE, **(changes or {})}.items() if key not in without}
    return run_on_gcp(lambda: GkeGpuNodePool("train", args), **how)


def inputs(changes: dict[str, Any] | None = None, without: tuple[str, ...] = ()) -> dict[str, Any]:
    return pool(changes, without).one("NodePool").inputs


def test_a_pool_is_one_resource_called_as_the_component() -> None:
    made = pool()
    component, only = made.resources
    assert only.label == "gcp:container/nodePool:NodePool train"
    assert "name" not in only.inputs, "so that a successor can come before its predecessor goes"
    assert (component.outputs or {})["node_pool_name"] == "train-0123456"
    assert (only.inputs["cluster"], only.inputs["location"]) == ("shared", "us-central1")
    assert only.inputs["nodeLocations"] == ["us-central1-a"]


@pytest.mark.parametrize(
    ("changes", "networks"),
    [({}, CARDS), (ULTRA, RDMA), ({"machine_type": "a3-highgpu-8g", "additional_networks": CARDS[:4]}, CARDS[:4])],
    ids=["mega", "ultra", "high"],
)
def test_the_networks_come_in_rail_order(changes: dict[str, Any], networks: list[dict[str, str]]) -> None:
    config = inputs(changes)["networkConfig"]
    assert config == {"enablePrivateNodes": True, "additionalNodeNetworkConfigs": networks}


def test_networks_of_another_resource_are_passed_on() -> None:
    def program() -> None:
        cards: Any = [{key: Output.from_input(value) for key, value in each.items()} for each in RDMA]
        args: Any = {**ALONE, **ULTRA, "additional_networks": cards, "cluster_name": Output.from_input("theirs")}
        GkeGpuNodePool("train", args)

    made = run_on_gcp(program).one("NodePool").inputs
    assert made["networkConfig"]["additionalNodeNetworkConfigs"] == RDMA
    assert made["cluster"] == "theirs"


def test_dranet_has_no_networks_of_ours() -> None:
    made = inputs({"machine_type": "a4-highgpu-8g", "fabric_attachment": "dranet"}, ("additional_networks",))
    assert made["networkConfig"] == {"enablePrivateNodes": True, "acceleratorNetworkProfile": "auto"}
    assert made["nodeConfig"]["labels"]["cloud.google.com/gke-networking-dra-driver"] == "true"


def test_ethernet_has_the_clusters_network_alone() -> None:
    made = inputs(ETHERNET, ("additional_networks",))
    assert made["networkConfig"] == {"enablePrivateNodes": True}
    assert "gpufabric.dev/fabric" not in made["nodeConfig"]["labels"]
    assert "placementPolicy" not in made


def test_gpus_driver_disks_and_image_are_the_machines() -> None:
    config = inputs(ULTRA)["nodeConfig"]
    assert config["guestAccelerators"] == [
        {"type": "nvidia-h200-141gb", "count": 8, "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"}}
    ]
    assert (config["diskType"], config["diskSizeGb"]) == ("hyperdisk-balanced", 200)
    assert config["ephemeralStorageLocalSsdConfig"] == {"localSsdCount": 32}
    assert (config["imageType"], config["gvnic"]) == ("COS_CONTAINERD", {"enabled": True})
    raw = inputs({**ULTRA, "disk_tier": "network"})["nodeConfig"]
    assert raw["localNvmeSsdBlockConfig"] == {"localSsdCount": 32}, "they come with the machine, said or not"
    assert "ephemeralStorageLocalSsdConfig" not in raw


def test_nodes_are_tainted_once_and_held() -> None:
    taints = inputs()["nodeConfig"]["taints"]
    assert taints == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
        {"key": "gpufabric.dev/hold", "value": "", "effect": "NO_SCHEDULE"},
    ]


@pytest.mark.parametrize(("driver", "secure"), [("default", True), ("latest", True), ("disabled", False)])
def test_only_a_driver_of_your_own_may_be_unsigned(driver: str, secure: bool) -> None:
    config = inputs({"driver_version": driver})["nodeConfig"]["shieldedInstanceConfig"]
    assert config == {"enableSecureBoot": secure, "enableIntegrityMonitoring": True}


def test_without_an_account_one_is_made_that_may_do_little() -> None:
    made = pool(without=("node_service_account",))
    assert made.one("Account").inputs["accountId"] == "train-nodes"
    assert {each.inputs["role"] for each in made.of("IAMMember")} == {
        "roles/container.defaultNodeServiceAccount",
        "roles/artifactregistry.reader",
    }
    node_pool = made.one("NodePool")
    assert node_pool.inputs["nodeConfig"]["serviceAccount"] == "train-nodes@acme-training.iam.gserviceaccount.com"
    assert {each.label for each in made.of("IAMMember")} <= set(node_pool.options["dependencies"])


CAPACITY: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "on demand": ({}, {"nodeCount": 2, "placementPolicy": {"type": "COMPACT"}}, {}),
    "spot": ({"kind": "spot"}, {"nodeCount": 2}, {"spot": True}),
    "reservation": (
        {"kind": "reservation", "id": "training", "block": "block-1", "placement_policy": "near"},
        {"nodeCount": 2, "placementPolicy": {"type": "COMPACT", "policyName": "near"}},
        {
            "reservationAffinity": {
                "consumeReservationType": "SPECIFIC_RESERVATION",
                "key": "compute.googleapis.com/reservation-name",
                "values": ["projects/acme-training/reservations/training/reservationBlocks/block-1"],
            }
        },
    ),
    "a reservation that has not begun": (
        {"kind": "reservation", "id": "training", "starts_at": "2999-01-01T00:00:00Z"},
        {"nodeCount": 0},
        {},
    ),
    "flex start": (
        {"kind": "flex_start", "max_run_seconds": 3600},
        {"autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 2, "locationPolicy": "ANY"}},
        {"flexStart": True, "maxRunDuration": "3600s", "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}},
    ),
    "queued": (
        {"kind": "queued"},
        {"queuedProvisioning": {"enabled": True}, "management": {"autoRepair": False, "autoUpgrade": False}},
        {"reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}},
    ),
}


@pytest.mark.parametrize("case", CAPACITY)
def test_every_kind_of_capacity_in_googles_words(case: str) -> None:
    capacity, of_pool, of_node = CAPACITY[case]
    made = inputs({"capacity": capacity} if capacity else {})
    assert {key: made.get(key) for key in of_pool} == of_pool
    assert {key: made["nodeConfig"].get(key) for key in of_node} == of_node
    assert ("nodeCount" in made) != ("autoscaling" in made), "one or the other"
    assert "initialNodeCount" not in made, "its change replaces the pool"
    updates = {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}
    assert made.get("upgradeSettings") == (None if "autoscaling" in made else updates)


def test_jobs_get_the_fabric_that_the_gate_has() -> None:
    made: list[GkeGpuNodePool] = []
    args: Any = {**ALONE, **ULTRA}
    run_on_gcp(lambda: made.append(GkeGpuNodePool("train", args)))
    (group,) = made
    assert group.gate_group["node_selector"] == {"gpufabric.dev/node-group": "train"}
    container = {"name": "job", "image": "job:1", "command": ["train"]}
    pod = group.pod_profile.apply_to({"template": {"spec": {"containers": [container]}}})["template"]
    assert "rdma-7" in pod["metadata"]["annotations"]["networking.gke.io/interfaces"]


BAD: dict[str, tuple[dict[str, Any], tuple[str, ...], list[str]]] = {
    "no cluster": (
        {},
        ("cluster_name", "location"),
        [
            "train.cluster_name: missing; pass the name that your stack has",
            "train.location: missing; pass the cluster's region, or its zone if it is zonal",
        ],
    ),
    **{
        f"{count} networks": (
            {"additional_networks": [*CARDS, {"network": "v8", "subnetwork": "s8"}][:count]},
            (),
            [f"train.additional_networks: {count} networks; a3-megagpu-8g needs 8"],
        )
        for count in (0, 1, 7, 9)
    },
    "networks beside dranet": (
        {**ULTRA, "fabric_attachment": "dranet"},
        (),
        ["train.additional_networks: 9 networks; with fabric_attachment: dranet GKE makes the networks; leave them out"],
    ),
    "a profile of another zone": (
        {**ULTRA, "network_profile": "us-central1-b-vpc-roce"},
        (),
        ["train.network_profile: "],
    ),
    "a network without its subnet": (
        {"additional_networks": [{"network": "v0"}]},
        (),
        ["train.additional_networks[0].subnetwork: missing; this key is required"],
    ),
    "spot and a reservation": (
        {"capacity": {"kind": "spot", "id": "training"}},
        (),
        ["train.capacity.id: "],
    ),
    "flex start and repair": (
        {"capacity": {"kind": "flex_start"}, "auto_repair": True},
        (),
        ["train.auto_repair: GKE does not repair nodes of kind: flex_start"],
    ),
    "a disk that it does not boot from": (
        {**ULTRA, "boot_disk_type": "pd-ssd"},
        (),
        ["train.boot_disk_type: a3-ultragpu-8g does not boot from pd-ssd; leave it out, or write hyperdisk-balanced"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_wish_registers_nothing(case: str) -> None:
    changes, without, says = BAD[case]
    said = refused(lambda recording: pool(changes, without, recording=recording))
    assert begin(said, says), said


@pytest.mark.parametrize(("name", "says"), [("my_pool", "'my_pool' cannot be"), ("p" * 33, "has 33 characters: too many for")])
def test_a_name_that_a_node_pool_cannot_have(name: str, says: str) -> None:
    args: Any = ALONE
    with pytest.raises(SpecError, match=says):
        run_on_gcp(lambda: GkeGpuNodePool(name, args))
