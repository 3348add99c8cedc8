"""ManagedLustre and Filestore: on Google's grids, as claims; those that exist; and what is refused."""

from typing import Any

import pytest

from gpufabric.gcp import Filestore, ManagedLustre
from gpufabric.spec import SpecError
from tests.gcp.cloud import run_on_gcp
from tests.kubernetes.mocked import Recording
from tests.kubernetes.refused import begin, refused

NETWORK = "projects/acme-training/global/networks/shared"
WHERE: dict[str, Any] = {"project": "acme-training", "zone": "us-central1-a"}
LUSTRE = {**WHERE, "network": NETWORK, "size_gib": 36000}
NFS = {**WHERE, "network": NETWORK, "size_gib": 1024}


def lustre(args: dict[str, Any], name: str = "data", **how: Any) -> Recording:
    return run_on_gcp(lambda: ManagedLustre(name, args), **how)  # type: ignore[arg-type]


def filestore(args: dict[str, Any], name: str = "home", **how: Any) -> Recording:
    return run_on_gcp(lambda: Filestore(name, args), **how)  # type: ignore[arg-type]


def volume(made: Recording) -> dict[str, Any]:
    spec: dict[str, Any] = made.one("PersistentVolume").inputs["spec"]
    assert (spec["persistentVolumeReclaimPolicy"], spec["accessModes"]) == ("Retain", ["ReadWriteMany"])
    assert made.one("PersistentVolumeClaim").inputs["spec"]["volumeName"] == "volume-1"
    return spec


def test_lustre_stands_in_the_zone_and_is_a_claim() -> None:
    made = lustre({**LUSTRE, "tags": {"owner": "ml"}, "claim": "scratch", "namespace": "train"})
    instance = made.one("Instance")
    assert instance.inputs == {
        "project": "acme-training",
        "location": "us-central1-a",
        "instanceId": "data",
        "filesystem": "lustre",
        "capacityGib": "36000",
        "perUnitStorageThroughput": "250",
        "network": NETWORK,
        "labels": {"owner": "ml"},
    }
    assert instance.options["protect"] is True
    spec = volume(made)
    assert spec["csi"] == {
        "driver": "lustre.csi.storage.gke.io",
        "volumeHandle": "acme-training/us-central1-a/data/default-pool/default-container",
        "volumeAttributes": {"ip": "10.0.192.3", "filesystem": "lustre"},
    }
    assert spec["capacity"] == {"storage": "36000Gi"}
    assert made.one("PersistentVolumeClaim").inputs["metadata"] == {"name": "scratch", "namespace": "train"}


def test_a_lustre_that_exists_is_read_and_claimed() -> None:
    made = lustre({**WHERE, "existing": "shared-lustre"})
    assert made.one("Instance").read == "projects/acme-training/locations/us-central1-a/instances/shared-lustre"
    spec = volume(made)
    assert spec["csi"]["volumeHandle"].startswith("acme-training/us-central1-a/shared-lustre/")
    assert spec["csi"]["volumeAttributes"] == {"ip": "10.9.0.3", "filesystem": "scratch"}


@pytest.mark.parametrize(("tier", "size", "location"), [("zonal", 1024, "us-central1-a"), ("regional", 10_240, "us-central1")])
def test_filestore_stands_where_its_tier_does_and_is_a_claim(tier: str, size: int, location: str) -> None:
    made = filestore({**NFS, "tier": tier, "size_gib": size})
    instance = made.one("Instance")
    assert (instance.inputs["tier"], instance.inputs["location"]) == (tier.upper(), location)
    assert instance.inputs["fileShares"] == {"name": "share", "capacityGb": size}
    (network,) = instance.inputs["networks"]
    assert network == {"network": NETWORK, "modes": ["MODE_IPV4"], "connectMode": "PRIVATE_SERVICE_ACCESS"}
    assert instance.options["protect"] is True
    assert volume(made)["csi"] == {
        "driver": "filestore.csi.storage.gke.io",
        "volumeHandle": f"modeInstance/{location}/home/share",
        "volumeAttributes": {"ip": "10.0.192.4", "volume": "share"},
    }


def test_a_filestore_that_exists_is_read_and_claimed() -> None:
    made = filestore({**WHERE, "existing": "shared-nfs", "tier": "regional"})
    assert made.one("Instance").read == "projects/acme-training/locations/us-central1/instances/shared-nfs"
    spec = volume(made)
    assert spec["csi"]["volumeHandle"] == "modeInstance/us-central1/shared-nfs/vol1"
    assert spec["capacity"] == {"storage": "2560Gi"}


def test_protection_can_be_given_up() -> None:
    assert lustre({**LUSTRE, "protect": False}).one("Instance").options["protect"] is False
    assert filestore({**NFS, "protect": False}).one("Instance").options["protect"] is False


BAD: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "off Lustre's grid": (
        lustre,
        {**LUSTRE, "size_gib": 40_000},
        ["data.size_gib: Managed Lustre sells no 40000 GiB at 250 MB/s per TiB; write 36000 or 72000 "],
    ),
    "a throughput that is not sold": (
        lustre,
        {**LUSTRE, "throughput_mbytes_per_s_per_tib": 300},
        [("data.throughput_mbytes_per_s_per_tib: Managed Lustre sells no 300 MB/s per TiB; write one of 125, 250, 500, 1000")],
    ),
    "no size and no network": (
        lustre,
        WHERE,
        [
            "data.size_gib: missing; write the capacity in GiB, or existing: the name of one that is there",
            "data.network: missing; GcpNetwork yields it (network_id), with private_services: true",
        ],
    ),
    "existing and decided": (
        lustre,
        {**LUSTRE, "existing": "shared-lustre"},
        [
            "data.network: the file system exists and has its own; leave it out",
            "data.size_gib: the file system exists and has its own; leave it out",
        ],
    ),
    "off Filestore's band": (
        filestore,
        {**NFS, "size_gib": 10_000},
        ["home.size_gib: Filestore sells no 10000 GiB as zonal; write 9984 or 10240 "],
    ),
    "a tier that is not offered": (
        filestore,
        {**NFS, "tier": "enterprise"},
        ["home.tier: 'enterprise' is not a choice here; write zonal, regional or basic_ssd"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_wish_registers_nothing(case: str) -> None:
    make, args, says = BAD[case]
    said = refused(lambda recording: make(args, recording=recording))
    assert begin(said, says), said


@pytest.mark.parametrize(("make", "args"), [(lustre, LUSTRE), (filestore, NFS)])
def test_a_name_that_no_instance_can_have(make: Any, args: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="'My_Data' cannot be the name of an instance"):
        make(args, "My_Data")
