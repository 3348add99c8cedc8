"""FsxLustre: on AWS's grid, with its ports open before it is made, protected, and a claim in the cluster."""

from typing import Any

import pytest

from gpufabric.aws import FsxLustre
from tests.aws.cloud import run_on_aws
from tests.kubernetes.mocked import Recording
from tests.kubernetes.refused import refused

WHERE = {
    "cluster_name": "training",
    "vpc_id": "vpc-1",
    "subnet_id": "subnet-1",
    "client_security_group_id": "sg-nodes",
}
ARGS: dict[str, Any] = {**WHERE, "size_gib": 19200}
NO_EFA = {"efa": False, "size_gib": 2400}
RULES = ("SecurityGroupIngressRule", "SecurityGroupEgressRule")


def lustre(changes: dict[str, Any] | None = None, without: tuple[str, ...] = (), **how: Any) -> Recording:
    args: Any = {key: value for key, value in {**ARGS, **(changes or {})}.items() if key not in without}
    return run_on_aws(lambda: FsxLustre("data", args), **how)


def test_a_file_system_is_what_was_asked_for_and_protected() -> None:
    made = lustre({"tags": {"owner": "ml"}}).one("LustreFileSystem")
    assert made.inputs == {
        "deploymentType": "PERSISTENT_2",
        "storageType": "SSD",
        "storageCapacity": 19200,
        "perUnitStorageThroughput": 250,
        "efaEnabled": True,
        "metadataConfiguration": {"mode": "AUTOMATIC"},
        "subnetIds": "subnet-1",
        "securityGroupIds": ["id-of-data-lustre"],
        "tags": {"owner": "ml", "Name": "data"},
    }
    assert made.options["protect"] is True
    assert made.options["customTimeouts"] == {"create": "64m", "update": "64m", "delete": "64m"}
    assert lustre({"protect": False}).one("LustreFileSystem").options["protect"] is False


def test_metadata_that_is_paid_for() -> None:
    made = lustre({"metadata_ops_per_s": 12000}).one("LustreFileSystem")
    assert made.inputs["metadataConfiguration"] == {"mode": "USER_PROVISIONED", "iops": 12000}


def rules(made: Recording) -> set[tuple[str, str, str, Any, Any]]:
    """Direction, at which group, to or from which, ports."""
    found = set()
    for kind in RULES:
        for each in made.of(kind):
            ports = (each.inputs.get("fromPort"), each.inputs.get("toPort"))
            assert each.inputs["ipProtocol"] == ("-1" if ports == (None, None) else "tcp")
            found.add((kind[13:-4], each.inputs["securityGroupId"], each.inputs["referencedSecurityGroupId"], *ports))
    return found


def test_servers_and_nodes_let_each_other_through_on_lustres_ports() -> None:
    pairs = [("id-of-data-lustre", "id-of-data-lustre"), ("id-of-data-lustre", "sg-nodes"), ("sg-nodes", "id-of-data-lustre")]
    directions = ("Ingress", "Egress")
    assert rules(lustre(NO_EFA)) == {
        (direction, at, other, *ports)
        for direction in directions
        for at, other in pairs
        for ports in ((988, 988), (1018, 1023))
    }
    assert rules(lustre()) == {(direction, at, other, None, None) for direction in directions for at, other in pairs}


def test_the_rules_are_there_before_the_file_system() -> None:
    made = lustre()
    labels = {each.label for kind in RULES for each in made.of(kind)}
    assert len(labels) == 6
    assert labels <= set(made.one("LustreFileSystem").options["dependencies"])


def test_the_claim_is_bound_to_the_volume_of_the_file_system() -> None:
    made = lustre({"claim": "datasets", "namespace": "train"})
    volume, claim = made.one("PersistentVolume").inputs["spec"], made.one("PersistentVolumeClaim").inputs
    assert volume["csi"] == {
        "driver": "fsx.csi.aws.com",
        "volumeHandle": "id-of-data-lustre",
        "volumeAttributes": {"dnsname": "fs-1.fsx.us-east-2.amazonaws.com", "mountname": "abcdefgh"},
    }
    assert volume["persistentVolumeReclaimPolicy"] == "Retain"
    assert volume["capacity"] == {"storage": "19200Gi"}
    assert claim["metadata"] == {"name": "datasets", "namespace": "train"}
    assert claim["spec"]["volumeName"] == "volume-1"
    assert claim["spec"]["storageClassName"] == volume["storageClassName"] == ""
    assert claim["spec"]["accessModes"] == volume["accessModes"] == ["ReadWriteMany"]


def test_the_driver_is_an_add_on_that_can_be_left_out() -> None:
    made = lustre()
    addon = made.one("Addon")
    assert (addon.inputs["addonName"], addon.inputs["clusterName"]) == ("aws-fsx-csi-driver", "training")
    assert addon.label in made.one("PersistentVolume").options["dependencies"]
    assert lustre({"driver": False}, ("cluster_name",)).of("Addon") == []


def test_a_file_system_that_exists_gets_a_claim_alone() -> None:
    args: Any = {"cluster_name": "training", "existing": "fs-0123456789abcdef0"}
    made = run_on_aws(lambda: FsxLustre("data", args))
    assert made.one("LustreFileSystem").read == "fs-0123456789abcdef0"
    assert {each.type.split(":")[-1] for each in made.resources} == {
        "FsxLustre",
        "LustreFileSystem",
        "Addon",
        "PersistentVolume",
        "PersistentVolumeClaim",
    }
    assert made.one("PersistentVolume").inputs["spec"]["capacity"] == {"storage": "4800Gi"}


_RULE = "(FSx API model and FSx for Lustre guide, 2026-11)"
BAD: dict[str, tuple[dict[str, Any], tuple[str, ...], list[str]]] = {
    "off the grid": (
        {"size_gib": 20000},
        (),
        [
            (
                f"data.size_gib: FSx sells no 20000 GiB with EFA at 250 MB/s per TiB; write 19200 or 38400; "
                f"efa: false takes smaller steps {_RULE}"
            )
        ],
    ),
    "below the grid": (
        {**NO_EFA, "size_gib": 100},
        (),
        [f"data.size_gib: FSx sells no 100 GiB at 250 MB/s per TiB; write 1200 {_RULE}"],
    ),
    "a throughput that is none": (
        {"throughput_mbytes_per_s_per_tib": 300},
        (),
        [
            (
                "data.throughput_mbytes_per_s_per_tib: FSx sells no 300 MB/s per TiB; write one of 125, 250, 500, 1000 "
                "(FSx API model and FSx for Lustre guide, 2026-11)"
            )
        ],
    ),
    "metadata off the grid": (
        {"metadata_ops_per_s": 191000},
        (),
        [f"data.metadata_ops_per_s: FSx sells no 191000 metadata operations per second; write 180000 or 192000 {_RULE}"],
    ),
    "no size and no place": (
        {},
        ("size_gib", "vpc_id", "cluster_name"),
        [
            "data.size_gib: missing; write the capacity in GiB, or existing: fs-... for one that is there",
            "data.cluster_name: missing; driver: false needs no cluster",
            "data.vpc_id: missing; this key is required",
        ],
    ),
    "existing and decided": (
        {"existing": "fs-0123456789abcdef0"},
        ("vpc_id", "client_security_group_id"),
        [
            "data.size_gib: the file system exists and has its own; leave it out",
            "data.subnet_id: the file system exists and has its place; leave it out",
        ],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_wish_registers_nothing(case: str) -> None:
    changes, without, says = BAD[case]
    assert sorted(refused(lambda recording: lustre(changes, without, recording=recording))) == sorted(says)
