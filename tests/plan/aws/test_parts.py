"""The parts of a stack: planned from the values its components get, every problem of every part at once."""

from typing import Any

import pytest

from gpufabric.plan import explain
from gpufabric.plan.aws.cluster import ClusterPlan
from gpufabric.plan.aws.parts import cluster_args, network_args
from tests.plan.aws.wishes import P5, plan_of, says, spec_of
from tests.spec.specs import changed

VPC = {"vpc": "vpc-0123456789abcdef0", "subnets": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]}


def test_the_parts_know_how_many_nodes_there_will_be() -> None:
    spec = spec_of(changed(P5, group__nodes=3, tags={"owner": "ml"}))
    assert network_args(spec) == {"zone": "us-east-2b", "gpu_nodes": 3, "tags": {"owner": "ml"}}
    assert cluster_args(spec, plan_of(P5).node_groups)["gpu_nodes"] == 3
    cluster = plan_of(changed(P5, group__nodes=500)).parts.cluster
    assert isinstance(cluster, ClusterPlan)
    assert (cluster.name, cluster.region, cluster.tier) == ("prod", "us-east-2", "standard")


@pytest.mark.parametrize(("machine", "delegation"), [("p5.48xlarge", True), ("p5en.48xlarge", False), ("p4d.24xlarge", False)])
def test_prefixes_are_delegated_where_a_card_holds_two_interfaces(machine: str, delegation: bool) -> None:
    plan = plan_of(changed(P5, group__machine_type=machine))
    assert cluster_args(spec_of(P5), plan.node_groups)["prefix_delegation"] is delegation


def test_the_device_plugins_are_those_of_the_groups() -> None:
    assert plan_of(P5).parts.daemons == ("nvidia-device-plugin", "aws-efa-device-plugin")
    ethernet = plan_of(changed(P5, group__network_tier="standard", validation__floor_gbytes_per_s=1.0))
    assert ethernet.parts.daemons == ("nvidia-device-plugin",)


def test_storage_is_planned_by_name_and_the_driver_comes_once() -> None:
    fast, small = {"size_gib": 19200}, {"size_gib": 1200, "efa": False}
    parts = plan_of({**P5, "filesystems": {"data": fast, "home": small}, "stores": {"weights": {"name": "acme-weights"}}}).parts
    assert {name: (each.claim, each.driver) for name, each in parts.filesystems.items()} == {
        "data": ("data", True),
        "home": ("home", False),
    }
    assert parts.stores["weights"].bucket == "acme-weights"


def test_a_cluster_that_exists_needs_its_network_and_takes_nothing_else() -> None:
    existing = {**P5, "cluster": {"existing": {"name": "shared"}}, "network": {"existing": VPC}}
    del existing["api_access"]
    plan = plan_of(existing)
    assert plan.parts.cluster == "shared"
    assert plan.parts.network.subnets == ()
    assert says({**existing, "network": {}, "api_access": P5["api_access"]}) == [
        (
            "network.existing: missing: the cluster exists, and its nodes live in its VPC; "
            "write {vpc: vpc-..., subnets: [subnet-..., subnet-...]}"
        ),
        "api_access: the cluster exists, and nothing of it is changed; leave it out",
    ]


def test_the_problems_of_all_parts_come_together() -> None:
    raw = {
        **changed(P5, group__nodes=600),
        "api_access": {"kind": "private", "cidrs": ["203.0.113.0/24"]},
        "cluster": {"kubernetes_version": "1.22"},
        "filesystems": {"data": {"size_gib": 5}},
        "stores": {"a": {"name": "acme-weights"}, "b": {"name": "acme-weights"}},
    }
    assert [line.split(": ")[0] for line in says(raw)] == [
        "stores",
        "network.cidr",
        "api_access",
        "cluster.kubernetes_version",
        "filesystems.data.size_gib",
    ]


def test_a_bucket_is_named_once() -> None:
    stores = {"a": {"name": "acme-weights"}, "b": {"name": "acme-weights"}, "c": {"name": "acme-data"}}
    assert says({**P5, "stores": stores}) == ["stores: a and b name the same bucket acme-weights; name a bucket once"]


def test_more_nodes_than_kubernetes_takes() -> None:
    groups = [{"name": name, "machine_type": "p5.48xlarge", "nodes": 2501} for name in ("one", "two")]
    (first, *_) = says({**P5, "node_groups": groups, "network": {"existing": VPC}})
    assert first == (
        "node_groups: 5002 nodes together; Kubernetes is tested to 5,000 in one cluster; ask for fewer, or split the cluster"
    )


def test_nobody_is_let_in_by_default() -> None:
    raw = dict(P5)
    del raw["api_access"]
    (line,) = says(raw)
    assert line.startswith("api_access: missing: there is no default for who reaches the cluster's API; write {kind: public")


def explained(raw: dict[str, Any]) -> dict[str, str]:
    title, lines = next(iter(explain(plan_of(raw))))
    assert title == "prod: EKS in us-east-2b"
    return {line.subject: line.decision for line in lines}


def test_the_parts_are_explained() -> None:
    made = explained({**P5, "filesystems": {"data": {"size_gib": 19200}}, "stores": {"weights": {"name": "acme-weights"}}})
    assert made["network"] == "a VPC 10.0.0.0/16, GPU nodes in 10.0.128.0/17"
    assert made["API"] == "from 203.0.113.0/24 and from inside"
    assert made["control plane"] == "standard"
    assert made["device plugins"] == "nvidia-device-plugin, aws-efa-device-plugin"
    assert made["file system data"] == "19200 GiB, 250 MB/s per TiB"
    assert made["bucket weights"] == "acme-weights"
    existing = {**P5, "cluster": {"existing": {"name": "shared"}}, "network": {"existing": VPC}}
    del existing["api_access"]
    found = explained(existing)
    assert found["network"] == f"{VPC['vpc']}, which exists"
    assert found["cluster"] == "shared, which exists"
    assert not {"API", "control plane"} & found.keys()


def test_one_node_with_efa_is_warned_of() -> None:
    """The number is legal, and the gate holds it to NVLink; that EFA went unmeasured must be said before it is believed."""

    def subjects(**changes: Any) -> set[str]:
        _, (_, lines) = explain(plan_of(changed(P5, **changes)))
        return {line.subject for line in lines}

    assert "one node" in subjects(group__nodes=1)
    assert "one node" not in subjects(group__nodes=2)
    assert "one node" not in subjects(group__nodes=1, group__network_tier="standard")
