"""What a plan with queues needs to find, said before anything is made."""

from pathlib import Path
from typing import Any

import pytest

from tests.preflight.cluster import KUEUE, KUEUE_SERVES, FakeCluster, node, status
from tests.preflight.test_kubernetes import ASK, LACK, problems
from tests.spec.specs import CPU, changed

INSTALL = "install Kueue 0.15 or newer (https://kueue.sigs.k8s.io/docs/installation), or leave scheduler out"
IN_PART = "its CRDs may have been installed in part"
NEVER = "the queue would never give them out"


@pytest.fixture
def queued(cluster: FakeCluster) -> FakeCluster:
    """A cluster with Kueue 0.17."""
    hosts = {name: {"kubernetes.io/hostname": name} for name in ("n1", "n2")}
    cluster.nodes = [*(node(name, "train", labels=labels) for name, labels in hosts.items()), node("s1", "system")]
    cluster.add_kueue()
    return cluster


def asked(cluster: FakeCluster, tmp_path: Path, **scheduler: Any) -> list[str]:
    return problems(cluster, changed(CPU, scheduler={"kind": "kueue", **scheduler}), tmp_path)


def test_a_cluster_with_kueue_has_what_it_needs(queued: FakeCluster, tmp_path: Path) -> None:
    assert asked(queued, tmp_path) == []


def test_without_a_wish_nobody_looks_for_kueue(queued: FakeCluster, tmp_path: Path) -> None:
    assert problems(queued, CPU, tmp_path) == []
    assert not any("kueue" in at or "namespaces" in at for _, at, _ in queued.asked)


def test_no_kueue(queued: FakeCluster, tmp_path: Path) -> None:
    queued.errors[KUEUE] = status(404, "NotFound", "the server could not find the requested resource")
    assert asked(queued, tmp_path) == [f"scheduler: Kueue is not in this cluster: nobody serves kueue.x-k8s.io; {INSTALL}"]


def test_an_old_kueue(queued: FakeCluster, tmp_path: Path) -> None:
    queued.found[KUEUE] = {"versions": [{"version": "v1beta1"}, {"version": "v1alpha1"}]}
    assert asked(queued, tmp_path) == [
        "scheduler: Kueue here serves v1beta1, v1alpha1 and not v1beta2; upgrade it to 0.15 or newer (Kueue changelog, 0.15)"
    ]


def test_half_a_kueue(queued: FakeCluster, tmp_path: Path) -> None:
    queued.found[f"{KUEUE}/v1beta2"] = {"resources": [{"name": name} for name in KUEUE_SERVES[1:]]}
    assert asked(queued, tmp_path) == [
        f"scheduler: Kueue here does not serve topologies in kueue.x-k8s.io/v1beta2; {INSTALL}; {IN_PART}"
    ]


def test_no_namespace(queued: FakeCluster, tmp_path: Path) -> None:
    queued.errors["/api/v1/namespaces/ml"] = status(404, "NotFound", 'namespaces "ml" not found')
    assert asked(queued, tmp_path, namespaces=["default", "ml"]) == [
        "scheduler.namespaces: there is no namespace ml; make it first (kubectl create namespace ml), or name others"
    ]


def test_a_node_without_the_label_of_a_level(queued: FakeCluster, tmp_path: Path) -> None:
    queued.nodes[0]["metadata"]["labels"]["rack"] = "r1"
    assert asked(queued, tmp_path, topology_levels=["rack"]) == [
        f"scheduler.topology_levels: no label rack on n2: {NEVER}; label them, or leave this level out"
    ]
    queued.nodes[1]["metadata"]["labels"]["rack"] = "r1"
    assert asked(queued, tmp_path, topology_levels=["rack"]) == []


def test_missing_permissions(queued: FakeCluster, tmp_path: Path) -> None:
    queued.denied = {"create topologies", "create localqueues"}
    assert asked(queued, tmp_path) == [f"{LACK} create topologies.kueue.x-k8s.io, create localqueues.kueue.x-k8s.io; {ASK}"]
