"""The parts of a stack on Google Cloud: planned from the values its components get, every problem of every part at once."""

from typing import Any

import pytest

from gpufabric.plan import explain
from gpufabric.plan.gcp.cluster import ExistingGkePlan, GkeClusterPlan
from gpufabric.plan.gcp.filesystem import FilestorePlan, ManagedLustrePlan
from gpufabric.plan.gcp.parts import bucket_args, cluster_args, filesystem_args, network_args
from gpufabric.spec import SpecError
from tests.plan.gcp.test_any_value import FOUND, MADE
from tests.plan.gcp.wishes import ULTRA, plan_of, says, spec_of, with_group
from tests.spec.specs import changed

PLACE = {"project": "acme-training", "region": "us-central1", "zone": "us-central1-a"}


def test_the_network_knows_machines_and_nodes() -> None:
    spec = spec_of(MADE)
    args = network_args(spec, plan_of(MADE).node_groups)
    assert args == {
        **PLACE,
        "machine_types": ["a3-ultragpu-8g"],  # the other group's come by dranet
        "gpu_nodes": 6,
        "private_services": True,
        "cidr": "10.0.0.0/14",
        "mtu": 8896,
    }
    assert "private_services" not in network_args(spec_of(ULTRA), [])
    assert network_args(spec_of(with_group(network_tier="standard")), [])["machine_types"] == []


def test_machines_of_one_kind_are_listed_once() -> None:
    groups = [{"name": name, "machine_type": "a3-megagpu-8g", "nodes": 2} for name in ("a", "b")]
    stack = plan_of({**ULTRA, "node_groups": groups})
    assert network_args(spec_of(ULTRA), stack.node_groups)["machine_types"] == ["a3-megagpu-8g"]


def test_the_cluster_runs_the_drivers_of_the_storage() -> None:
    args = cluster_args(spec_of(MADE))
    assert args["csi_drivers"] == ["gcsfuse", "lustre", "filestore"]
    assert cluster_args(spec_of(ULTRA))["csi_drivers"] == []
    cluster = plan_of(MADE).parts.cluster
    assert isinstance(cluster, GkeClusterPlan)
    assert (cluster.name, cluster.region, cluster.access) == ("prod", "us-central1", "public")


def test_storage_is_planned_by_name() -> None:
    parts = plan_of(MADE).parts
    data, home = parts.filesystems["data"], parts.filesystems["home"]
    assert isinstance(data, ManagedLustrePlan)
    assert isinstance(home, FilestorePlan)
    assert [(each.instance, each.claim, each.location) for each in (data, home)] == [
        ("prod-data", "data", "us-central1-a"),
        ("prod-home", "home", "us-central1-a"),
    ]
    assert parts.stores["weights"].bucket == "acme-weights"
    spec = spec_of(MADE)
    assert filesystem_args(spec, "home") == {
        "project": "acme-training",
        "zone": "us-central1-a",
        "claim": "home",
        "tags": {"owner": "ml"},
        "size_gib": 1024,
        "tier": "zonal",
    }
    assert bucket_args(spec, "weights") == {
        "project": "acme-training",
        "region": "us-central1",
        "tags": {"owner": "ml"},
        "name": "acme-weights",
        "protect": False,
    }


def test_a_key_of_the_other_kind_of_file_system() -> None:
    def of(**filesystem: Any) -> list[str]:
        return says({**ULTRA, "filesystems": {"data": filesystem}})

    assert of(kind="filestore", size_gib=1024, throughput_mbytes_per_s_per_tib=250) == [
        (
            "filesystems.data.throughput_mbytes_per_s_per_tib: does not apply to kind: filestore; "
            "leave it out, or write kind: lustre"
        )
    ]
    assert of(size_gib=36000, tier="zonal") == [
        "filesystems.data.tier: does not apply to kind: lustre; leave it out, or write kind: filestore"
    ]


def test_what_exists_is_found_and_not_planned() -> None:
    parts = plan_of(FOUND).parts
    assert isinstance(parts.cluster, ExistingGkePlan)
    assert parts.cluster.path == "projects/acme-training/locations/us-central1/clusters/shared"
    assert (parts.network.host, parts.network.vpcs) == (None, ())
    assert parts.filesystems["data"].existing == "training-data"
    assert parts.stores["weights"].existing


def test_a_cluster_that_exists_needs_its_network() -> None:
    alone = {key: value for key, value in FOUND.items() if key != "network"}
    (line,) = says(alone)
    assert line == (
        "network.existing: missing: the cluster exists, and its nodes live in its VPC; "
        "write {network: ..., subnetwork: ..., pods_range: ..., services_range: ...}"
    )


@pytest.mark.parametrize("count", [*range(8), 9, 10])
def test_existing_networks_of_mega_are_counted(count: int) -> None:
    rails = [{"network": f"rail-{n}", "subnetwork": f"rail-{n}"} for n in range(count)]
    network = {"existing": {**MADE_VPC, "gpu_networks": {"a3-megagpu-8g": rails}}}
    lines = says({**with_group(machine_type="a3-megagpu-8g"), "network": network})
    where = "network.existing.gpu_networks.a3-megagpu-8g"
    assert [line for line in lines if line.startswith(f"{where}: {count} networks; a3-megagpu-8g needs 8")] == lines


@pytest.mark.parametrize("group", [{"group__fabric_attachment": "dranet"}, {"group__network_tier": "standard"}])
def test_existing_networks_that_nothing_uses(group: dict[str, str]) -> None:
    """DRANET makes its own; with both, which of them a node had would be open."""
    where = "network.existing.gpu_networks.a3-ultragpu-8g"
    assert says(changed(FOUND, **group)) == [f"{where}: no group of such machines has its fabric by networks; leave it out"]


MADE_VPC = {"network": "shared", "subnetwork": "nodes", "pods_range": "pods", "services_range": "services"}


def test_the_problems_of_all_parts_come_together() -> None:
    raw = {
        **with_group(nodes=4999),
        "api_access": {"kind": "private", "cidrs": ["203.0.113.0/24"]},
        "cluster": {"kubernetes_version": "1.22"},
        "filesystems": {"data": {"size_gib": 5}},
        "stores": {"a": {"name": "acme-weights"}, "b": {"name": "acme-weights"}},
    }
    assert sorted(line.split(": ")[0] for line in says(raw)) == [
        "api_access",
        "cluster.kubernetes_version",
        "filesystems.data.size_gib",
        "network.cidr",
        "node_groups[0].nodes",
        "stores",
    ]


def test_more_nodes_than_kubernetes_takes() -> None:
    groups = [{"name": name, "machine_type": "a3-ultragpu-8g", "nodes": 1400} for name in ("a", "b", "c", "d")]
    wide = {**ULTRA, "node_groups": groups, "network": {"cidr": "10.0.0.0/11"}}
    assert says(wide)[0] == (
        "node_groups: 5600 nodes together; Kubernetes is tested to 5,000 in one cluster; ask for fewer, or split the cluster"
    )


Said = dict[str, tuple[str, str]]


def explained(raw: dict[str, Any]) -> tuple[Said, Said]:
    """What is said of the stack and of its first group."""
    (title, made), (_, nodes), *_ = explain(plan_of(raw))
    assert title == "prod: GKE in us-central1-a"
    for lines in (made, nodes):
        assert len({line.subject for line in lines}) == len(lines)
    stack, group = ({line.subject: (line.decision, line.why) for line in lines} for lines in (made, nodes))
    return stack, group


def test_what_is_made_is_explained() -> None:
    stack, group = explained(MADE)
    assert stack["network"][0] == "a VPC with MTU 8896, nodes in 10.0.0.0/17, pods in 10.2.0.0/15"
    assert stack["GPU networks"] == ("2 VPCs with 9 subnets", "that of RDMA has the profile us-central1-a-vpc-roce")
    assert stack["API"][0] == "from 203.0.113.0/24 and from inside"
    assert stack["file system data"][0] == "36000 GiB, 250 MB/s per TiB"
    assert stack["file system home"][0] == "1024 GiB, zonal"
    assert stack["bucket weights"] == ("acme-weights", "goes with the stack, if it is empty")
    assert stack["kubernetes"][0] == "1.35"
    assert stack["cost"][0] == "not known"
    assert group["reservation"][0] == "projects/acme-training/reservations/june/reservationBlocks/b-1"
    assert group["placement"][0] == "compact, near"
    assert group["interfaces"][0] == "9 beside the node's own, 8 of them for GPUs"
    assert group["local disks"][0] == "32, striped, for containers and scratch"
    assert group["updates"][0] == "without extra nodes"
    assert group["admission"][0] == "jobs run only on nodes labelled gpufabric.dev/validated=pass"
    assert group["hold"][0] == "closed nodes are tainted gpufabric.dev/hold:NoSchedule"
    assert group["taints"] == (
        "nvidia.com/gpu=present, gpufabric.dev/hold=",
        "nothing lands on a node that was not validated",
    )


def test_what_exists_is_explained() -> None:
    stack, _ = explained(FOUND)
    assert stack["network"] == ("shared, which exists", "nothing of it is changed")
    assert stack["cluster"] == ("shared, which exists", "nothing of it is changed")
    assert stack["file system data"] == ("training-data", "exists")
    assert not {"GPU networks", "API", "system nodes"} & stack.keys()


def test_mega_is_explained_by_its_rails() -> None:
    stack, _ = explained(with_group(machine_type="a3-megagpu-8g"))
    assert stack["GPU networks"] == ("8 VPCs with 8 subnets", "one for each rail")
    dns, _ = explained({**ULTRA, "api_access": {"kind": "dns"}})
    assert dns["API"][0] == "by its DNS name, by whom IAM lets in"


def test_nodes_that_come_with_a_job_are_explained() -> None:
    _, group = explained(with_group(machine_type="a4-highgpu-8g", fabric_attachment="dranet", capacity={"kind": "flex_start"}))
    assert group["nodes"] == ("0 to 4 x a4-highgpu-8g, made as one node pool", "COS_CONTAINERD, driver LATEST")
    assert group["capacity"] == ("flex start", "nodes come when a job asks for them: the gate's outcome is pending")
    assert group["interfaces"][0] == "8 for GPUs, by DRANET"
    assert group["taints"] == ("nvidia.com/gpu=present", "jobs look at their nodes themselves: none is there before")
    assert group["admission"][0] == "jobs run on any node of the group, and look at it before they start"
    assert not {"updates", "reservation", "hold"} & group.keys()


def test_one_node_is_warned_of() -> None:
    assert "one node" in explained(with_group(nodes=1))[1]
    assert "one node" not in explained(with_group(nodes=2))[1]
    assert "one node" not in explained(with_group(nodes=1, network_tier="standard"))[1]


def test_a_role_wants_the_filesystem_it_names() -> None:
    with pytest.raises(SpecError, match=r"storage\.dataset\.kind: no filesystems are there"):
        plan_of({**ULTRA, "storage": {"dataset": {"kind": "shared_filesystem", "path": "/data"}}})
