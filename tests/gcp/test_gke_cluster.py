"""GkeCluster: its API, its safety, its administrators, its drivers, a cluster that exists, and what is refused."""

import json
from typing import Any

import pulumi
import pytest

from gpufabric.gcp import GkeCluster
from gpufabric.spec import SpecError
from tests.gcp.cloud import ADDRESS, AUTHORITY, NAME_OF_API, run_on_gcp
from tests.kubernetes.mocked import Recording
from tests.kubernetes.refused import begin, refused

ARGS: dict[str, Any] = {
    "project": "acme-training",
    "region": "us-central1",
    "zone": "us-central1-a",
    "network": "shared",
    "subnetwork": "train",
    "pods_range": "pods",
    "services_range": "services",
    "api_access": {"kind": "public", "cidrs": ["203.0.113.0/24"]},
    "tags": {"owner": "ml"},
}
SECRET = "4dabf18193072939515e22adb298388d"  # how the SDK marks a secret on the wire


def cluster(changes: dict[str, Any] | None = None, without: tuple[str, ...] = (), **how: Any) -> Recording:
    args: Any = {key: value for key, value in {**ARGS, **(changes or {})}.items() if key not in without}

    def program() -> None:
        made = GkeCluster("training", args)
        pulumi.export("kubeconfig", made.kubeconfig)

    return run_on_gcp(program, **how)


def inputs(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    return cluster(changes).one("Cluster").inputs


def test_public_is_for_the_networks_that_were_written() -> None:
    made = inputs()
    assert made["privateClusterConfig"] == {"enablePrivateNodes": True, "enablePrivateEndpoint": False}
    assert made["masterAuthorizedNetworksConfig"] == {
        "gcpPublicCidrsAccessEnabled": False,
        "cidrBlocks": [{"cidrBlock": "203.0.113.0/24", "displayName": "203.0.113.0/24"}],
    }
    assert made["controlPlaneEndpointsConfig"]["ipEndpointsConfig"] == {"enabled": True}
    assert made["controlPlaneEndpointsConfig"]["dnsEndpointConfig"] == {"allowExternalTraffic": False}


def test_private_is_for_what_is_routed_to_the_vpc() -> None:
    made = inputs({"api_access": {"kind": "private"}})
    assert made["privateClusterConfig"] == {"enablePrivateNodes": True, "enablePrivateEndpoint": True}
    blocks = [each["cidrBlock"] for each in made["masterAuthorizedNetworksConfig"]["cidrBlocks"]]
    assert blocks == ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"]


def test_by_its_name_iam_guards_it_and_its_addresses_are_closed() -> None:
    made = cluster({"api_access": {"kind": "dns"}})
    endpoints = made.one("Cluster").inputs["controlPlaneEndpointsConfig"]
    assert endpoints == {"dnsEndpointConfig": {"allowExternalTraffic": True}, "ipEndpointsConfig": {"enabled": False}}
    assert "masterAuthorizedNetworksConfig" not in made.one("Cluster").inputs
    (held,) = json.loads(made.outputs["kubeconfig"]["value"])["clusters"]
    assert held["cluster"] == {"server": f"https://{NAME_OF_API}"}, "a public authority signed for the name"


def test_the_kubeconfig_is_secret_and_asks_for_its_token() -> None:
    wrapped = cluster().outputs["kubeconfig"]
    assert SECRET in wrapped
    held = json.loads(wrapped["value"])
    (found,) = held["clusters"]
    assert found["cluster"] == {"server": f"https://{ADDRESS}", "certificate-authority-data": AUTHORITY}
    assert held["users"][0]["user"]["exec"]["command"] == "gke-gcloud-auth-plugin"


def test_what_can_be_chosen_only_now_is_chosen() -> None:
    made = inputs()
    assert (made["datapathProvider"], made["enableMultiNetworking"]) == ("ADVANCED_DATAPATH", True)
    assert made["networkingMode"] == "VPC_NATIVE"
    assert made["ipAllocationPolicy"] == {"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"}
    assert "networkPolicy" not in made, "Dataplane V2 enforces policies itself"


def test_it_is_safe_unasked() -> None:
    made = inputs()
    assert made["enableShieldedNodes"] is True
    assert made["enableLegacyAbac"] is False
    assert made["masterAuth"] == {"clientCertificateConfig": {"issueClientCertificate": False}}
    assert set(made["rbacBindingConfig"].values()) == {False}
    assert made["workloadIdentityConfig"] == {"workloadPool": "acme-training.svc.id.goog"}


def test_versions_and_nodes_change_only_when_it_is_written() -> None:
    made = inputs({"kubernetes_version": "1.34", "release_channel": "stable"})
    assert (made["minMasterVersion"], made["releaseChannel"]) == ("1.34", {"channel": "STABLE"})
    (exclusion,) = made["maintenancePolicy"]["maintenanceExclusions"]
    assert exclusion["exclusionOptions"] == {
        "scope": "NO_MINOR_OR_NODE_UPGRADES",
        "endTimeBehavior": "UNTIL_END_OF_SUPPORT",
    }


def test_the_gpus_are_watched_and_only_the_drivers_that_are_used_run() -> None:
    made = inputs()
    assert "DCGM" in made["monitoringConfig"]["enableComponents"]
    assert made["monitoringConfig"]["managedPrometheus"] == {"enabled": True}
    drivers = {key: each["enabled"] for key, each in inputs({"csi_drivers": ["gcsfuse", "lustre"]})["addonsConfig"].items()}
    assert drivers == {
        "gcePersistentDiskCsiDriverConfig": True,
        "gcsFuseCsiDriverConfig": True,
        "gcpFilestoreCsiDriverConfig": False,
        "lustreCsiDriverConfig": True,
    }


def test_nodes_have_an_account_of_their_own_that_may_do_little() -> None:
    made = cluster()
    assert made.one("Account").inputs["accountId"] == "training-nodes"
    roles = {each.inputs["role"]: each.label for each in made.of("IAMMember")}
    assert roles.keys() == {"roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader"}
    assert set(roles.values()) <= set(made.one("NodePool").options["dependencies"]), "before the first node starts"
    email = "training-nodes@acme-training.iam.gserviceaccount.com"
    for config in (made.one("NodePool").inputs["nodeConfig"], made.one("Cluster").inputs["nodeConfig"]):
        assert config["serviceAccount"] == email
    assert (made.one("GkeCluster").outputs or {})["node_service_account"] == email


def test_an_account_of_a_long_name_is_cut_and_told_apart() -> None:
    args: Any = ARGS
    names = set()
    for last in "ab":
        made = run_on_gcp(lambda last=last: GkeCluster("c" * 24 + last, args))  # type: ignore[misc]
        names.add(made.one("Account").inputs["accountId"])
    assert len(names) == 2
    assert all(6 <= len(name) <= 30 for name in names)


def test_the_system_nodes_are_plain_and_the_first_node_pool_goes() -> None:
    made = cluster({"system_nodes": {"nodes": 3, "machine_type": "n2-standard-8"}})
    pool = made.one("NodePool").inputs
    assert (pool["nodeCount"], pool["nodeConfig"]["machineType"]) == (3, "n2-standard-8")
    assert "taints" not in pool["nodeConfig"]
    assert pool["networkConfig"] == {"enablePrivateNodes": True}
    assert pool["nodeLocations"] == ["us-central1-a"]
    assert made.one("Cluster").inputs["removeDefaultNodePool"] is True
    assert made.one("Cluster").options["ignoreChanges"] == ["nodeConfig"]


def test_administrators_have_their_role_in_this_cluster_alone() -> None:
    twins = ["group:ml@example.com", "group:ml@example.org"]
    made = cluster({"admin_principals": twins})
    admins = [each for each in made.of("IAMMember") if each.inputs["role"] == "roles/container.admin"]
    assert sorted(each.inputs["member"] for each in admins) == twins
    condition = 'resource.name == "projects/acme-training/locations/us-central1/clusters/training"'
    assert {each.inputs["condition"]["expression"] for each in admins} == {condition}


def test_what_takes_labels_has_them() -> None:
    made = cluster()
    assert made.one("Cluster").inputs["resourceLabels"] == {"owner": "ml"}
    assert made.one("NodePool").inputs["nodeConfig"]["resourceLabels"] == {"owner": "ml"}


def test_deletion_protection_is_off_unless_it_is_asked_for() -> None:
    assert inputs()["deletionProtection"] is False
    assert inputs({"deletion_protection": True})["deletionProtection"] is True


EXISTING: Any = {"project": "acme-training", "region": "us-central1", "existing": {"name": "shared-cluster"}}


def test_a_cluster_that_exists_is_read_and_nothing_is_made() -> None:
    component, read = run_on_gcp(lambda: GkeCluster("training", EXISTING)).resources
    assert read.read == "projects/acme-training/locations/us-central1/clusters/shared-cluster"
    assert component.outputs is not None
    assert (component.outputs["cluster_name"], component.outputs["location"]) == ("shared-cluster", "us-central1")
    assert component.outputs["node_service_account"] == ""
    assert component.outputs["endpoint"] == ADDRESS


def test_a_preview_knows_nothing_of_a_cluster_that_is_not_there() -> None:
    assert len(cluster(preview=True).of("NodePool")) == 1


BAD: dict[str, tuple[dict[str, Any], tuple[str, ...], list[str]]] = {
    "no access and no network": (
        {},
        ("api_access", "network", "zone"),
        [
            (
                "training.api_access: missing: there is no default for who reaches the cluster's API; write {kind: public, "
                "cidrs: [your addresses]}, or {kind: private} if you run inside the VPC, or {kind: dns}: from anywhere, for "
                "whom IAM lets in"
            ),
            "training.zone: missing; write the zone of the GPU nodes",
            "training.network: missing; GcpNetwork yields it",
        ],
    ),
    "public to nobody": (
        {"api_access": {"kind": "public"}},
        (),
        ["training.api_access: public without cidrs: nobody outside "],
    ),
    "a name with addresses": (
        {"api_access": {"kind": "dns", "cidrs": ["203.0.113.0/24"]}},
        (),
        ["training.api_access: dns has no cidrs: IAM decides who gets in, not the address; leave cidrs out, or write public"],
    ),
    "open to all": (
        {"api_access": {"kind": "public", "cidrs": ["0.0.0.0/0"]}},
        (),
        ["training.api_access.cidrs[0]: 0.0.0.0/0 opens the API to the internet; "],
    ),
    "an unknown version": (
        {"kubernetes_version": "1.20"},
        (),
        ["training.kubernetes_version: unknown Kubernetes version of GKE '1.20'"],
    ),
    "nodes that cannot mount Lustre by its port": (
        {"kubernetes_version": "1.33.2-gke.4655000", "csi_drivers": ["lustre"]},
        (),
        ["training.kubernetes_version: lustre works from 1.33.2-gke.4780000 on; 1.33.2-gke.4655000 is older; "],
    ),
    "a zone of another region": ({"zone": "us-east4-a"}, (), ["training.zone: us-east4-a is not in us-central1; "]),
    "everybody as administrator": (
        {"admin_principals": ["allUsers"]},
        (),
        ["training.admin_principals[0]: 'allUsers' is not a member of an IAM policy; write for example group:ml-platform@"],
    ),
    "an administrator twice": (
        {"admin_principals": ["group:ml@example.com"] * 2},
        (),
        ["training.admin_principals[1]: group:ml@example.com is listed twice; write it once"],
    ),
    **{
        f"system nodes of {machine}": (
            {"system_nodes": {"machine_type": machine}},
            (),
            [f"training.system_nodes.machine_type: '{machine}' is not a machine type with an x86 processor and no GPU; "],
        )
        for machine in ("c4a-standard-4", "t2a-standard-4", "a3-highgpu-8g", "g2-standard-24")
    },
    "a driver that GKE does not have": (
        {"csi_drivers": ["nfs"]},
        (),
        ["training.csi_drivers[0]: 'nfs' is not a choice here; write gcsfuse, lustre or filestore"],
    ),
    "a label with capitals": (
        {"tags": {"Owner": "ml"}},
        (),
        ["training.tags: 'Owner=ml' is not a label of Google Cloud; "],
    ),
    "existing and decided": (
        {"existing": {"name": "shared-cluster"}, "system_nodes": {"nodes": 3}},
        ("api_access", "network", "subnetwork", "pods_range"),
        [
            "training.services_range: the cluster exists, and nothing of it is changed; leave it out",
            "training.system_nodes: the cluster exists, and nothing of it is changed; leave it out",
        ],
    ),
    "the name of a cluster that cannot be": (
        {"existing": {"name": "Shared_Cluster"}},
        tuple(set(ARGS) - {"project", "region"}),
        ["training.existing.name: 'Shared_Cluster' is not the name of a GKE cluster (1 to 40 of a-z, 0-9 and -); "],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_wish_registers_nothing(case: str) -> None:
    changes, without, says = BAD[case]
    said = refused(lambda recording: cluster(changes, without, recording=recording))
    assert begin(said, says), said


@pytest.mark.parametrize("name", ["my.cluster", "Training", "-training", "training-", "9training"])
def test_a_name_that_gke_cannot_have(name: str) -> None:
    args: Any = ARGS
    with pytest.raises(SpecError, match=rf"{name}: '{name}' cannot be the name of a GKE cluster and its system nodes"):
        run_on_gcp(lambda: GkeCluster(name, args))


def test_a_name_that_leaves_no_room_for_the_system_nodes() -> None:
    args: Any = ARGS
    with pytest.raises(SpecError, match=r"has 26 characters: too many .*; name stack and component with at most 25"):
        run_on_gcp(lambda: GkeCluster("c" * 26, args))
    run_on_gcp(lambda: GkeCluster("c" * 25, args))
