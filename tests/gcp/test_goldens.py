"""Golden plans of Google Cloud: every resource that the stack program declares for each sample, at a fixed time."""

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from gpufabric.kubernetes import clock
from tests.gcp.cloud import COMPUTED
from tests.kubernetes.golden import same_as_golden
from tests.kubernetes.mocked import Recording
from tests.kubernetes.stack_plans import STACKS, declare, samples, text_of

SAMPLES = samples("gcp")
NOW = datetime(2026, 12, 1, tzinfo=UTC)
every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=[path.name.split(".")[1] for path in SAMPLES])


@cache
def recorded(sample: Path) -> Recording:
    """What the program declares; each sample is run once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "now", lambda: NOW)
        return declare(sample, COMPUTED)


def of(name: str) -> Recording:
    return recorded(STACKS / f"Pulumi.{name}.yaml")


@every_sample
def test_the_plan_of_a_sample_is_the_golden_one(sample: Path) -> None:
    recording = recorded(sample)
    assert {each.type for each in recording.resources} >= {
        "gpufabric:index:GcpTrainingStack",
        "gcp:container/nodePool:NodePool",
    }
    assert recording.outputs.keys() == {"kubeconfig", "pod_profiles", "validation", "cost"}
    same_as_golden(f"{sample.name.split('.')[1]}.txt", text_of(recording))


@every_sample
def test_each_resource_has_its_provider_and_the_right_parent(sample: Path) -> None:
    recording = recorded(sample)
    stack = sample.name.split(".")[1]
    for each in recording.resources:
        if each.type.startswith("gcp:"):
            assert each.provider == "pulumi:providers:gcp account", each.label
        if each.type.startswith("kubernetes:"):
            assert each.provider == f"pulumi:providers:kubernetes {stack}-kubernetes", each.label
        assert each.name.startswith(stack) or each.label == "pulumi:providers:gcp account", each.label
        assert each.parent or each.type in ("pulumi:providers:gcp", "gpufabric:index:GcpTrainingStack"), each.label


@every_sample
def test_what_is_inside_goes_with_the_cluster_and_waits_for_it(sample: Path) -> None:
    recording = recorded(sample)
    stack = sample.name.split(".")[1]
    kinds = ("FabricDaemons", "FabricNetworks", "NcclValidation", "FabricGate")
    inside = [each for each in recording.resources if each.type.split(":")[-1] in kinds]
    assert inside
    for each in inside:
        assert each.options["deletedWith"].endswith(f"GkeCluster::{stack}"), "its children inherit it from the engine"
    gate = recording.one("NcclValidation")
    assert f"gcp:container/nodePool:NodePool {gate.name}" in gate.options["dependencies"], "nodes first"
    for each in (*recording.of("DaemonSet"), *recording.of("Network")):
        if each.type.startswith("kubernetes:") and "Mount" not in each.parent:
            assert each.label in gate.options["dependencies"], "and what their fabric needs in the cluster"
    assert f"gcp:container/nodePool:NodePool {stack}-system" in recording.one("GkeGpuNodePool").options["dependencies"]


@every_sample
def test_no_node_is_public_or_takes_part_as_anybody(sample: Path) -> None:
    recording = recorded(sample)
    pools = recording.of("NodePool")
    assert len(pools) >= 2, "system nodes and GPU nodes"
    for pool in pools:
        config = pool.inputs["nodeConfig"]
        assert pool.inputs["networkConfig"]["enablePrivateNodes"] is True
        assert config["serviceAccount"].endswith(".iam.gserviceaccount.com")
        assert config["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}
        assert config["shieldedInstanceConfig"] == {"enableSecureBoot": True, "enableIntegrityMonitoring": True}
        assert config["metadata"] == {"disable-legacy-endpoints": "true"}
    roles = {each.inputs["role"] for each in recording.of("IAMMember")}
    assert roles <= {
        "roles/artifactregistry.reader",
        "roles/container.admin",
        "roles/container.defaultNodeServiceAccount",
    }


NETWORKS = {
    "gcp-a3-high": (5, 5, 0),
    "gcp-a3-mega": (9, 9, 0),
    "gcp-a3-mega-reservation": (9, 9, 0),
    "gcp-a3-ultra": (3, 10, 1),
    "gcp-a3-ultra-queued": (3, 10, 1),
    "gcp-a4": (3, 10, 1),
    "gcp-a4-flex-start": (3, 10, 1),
    "gcp-existing-network": (0, 0, 0),
    "gcp-g2-standard-network": (1, 1, 0),
}
"""VPCs, subnets and policies of RoCE."""


def test_every_sample_has_its_networks() -> None:
    made = {}
    for sample in SAMPLES:
        recording = recorded(sample)
        vpcs = [each for each in recording.of("Network") if each.type.startswith("gcp:")]
        made[sample.name.split(".")[1]] = (
            len(vpcs),
            len(recording.of("Subnetwork")),
            len(recording.of("RegionNetworkFirewallPolicy")),
        )
    assert made == NETWORKS


def test_flex_start_begins_with_no_node_and_no_hold() -> None:
    pool = of("gcp-a4-flex-start").one("NodePool", "gcp-a4-flex-start-burst").inputs
    assert "nodeCount" not in pool
    assert pool["autoscaling"]["totalMinNodeCount"] == 0
    assert pool["nodeConfig"]["flexStart"] is True
    assert pool["nodeConfig"]["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}
    assert pool["management"]["autoRepair"] is False
    assert [each["key"] for each in pool["nodeConfig"]["taints"]] == ["nvidia.com/gpu"]
    assert "upgradeSettings" not in pool


def test_reserved_capacity_never_surges() -> None:
    made = of("gcp-a3-mega-reservation").one("NodePool", "gcp-a3-mega-reservation-train")
    assert made.options["deleteBeforeReplace"] is True, "there is no room for a successor"
    pool = made.inputs
    assert pool["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}
    affinity = pool["nodeConfig"]["reservationAffinity"]
    assert affinity["consumeReservationType"] == "SPECIFIC_RESERVATION"
    assert affinity["key"] == "compute.googleapis.com/reservation-name"
    assert "spot" not in pool["nodeConfig"]


def test_the_kubeconfig_is_secret_and_holds_no_credential() -> None:
    found = of("gcp-a3-ultra").outputs["kubeconfig"]
    assert found["4dabf18193072939515e22adb298388d"] == "1b47061264138c4ac30d75fd1eb44270", "the SDK's mark of a secret"
    (user,) = json.loads(found["value"])["users"]
    assert user["user"].keys() == {"exec"}
    assert user["user"]["exec"]["command"] == "gke-gcloud-auth-plugin"
