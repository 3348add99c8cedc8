"""What is accepted, and the defaults that a user does not write."""

from typing import Any

import pytest

from gpufabric.spec import NodeGroupSpec, ValidationSpec, parse_spec, size_bytes
from tests.spec.specs import CPU, H100, changed, kubernetes_spec, plan_of, problems


def test_the_defaults() -> None:
    spec = kubernetes_spec(H100)
    assert spec.orchestrator == "kubernetes"
    assert (spec.cluster.existing.kubeconfig, spec.cluster.existing.context) == (None, None)
    assert spec.node_groups[0].network_tier == "best"
    gate = spec.validation
    assert (gate.backend, gate.floor_gbytes_per_s, gate.max_size, gate.run, gate.wait) == ("nccl", None, None, 1, True)
    assert (gate.nodes_minutes, gate.start_minutes, gate.benchmark_minutes) == (15, 15, 10)


def test_models_are_frozen_and_leave_their_input_alone() -> None:
    raw = changed(H100)
    spec = parse_spec(raw)
    assert raw == H100
    with pytest.raises(ValueError, match="frozen"):
        spec.node_groups[0].nodes = 3


@pytest.mark.parametrize("nodes", [1, 2, 5000, 2.0])
def test_whole_numbers(nodes: float) -> None:
    """2.0: Pulumi hands every number of a program in another language to a component as a float."""
    raw = {**H100["node_groups"][0], "nodes": nodes}
    found = NodeGroupSpec.parse(raw).nodes
    assert found == nodes
    assert type(found) is int


@pytest.mark.parametrize("floor", [1e-9, 0.03, 300, 10_000])
def test_floors(floor: float) -> None:
    assert ValidationSpec.parse({"floor_gbytes_per_s": floor}).floor_gbytes_per_s == floor


@pytest.mark.parametrize(
    "image",
    [
        "a:1",
        "localhost/gpufabric/gate:1",
        "localhost:5000/gate:1",
        "ghcr.io/acme/gate:1.2-rc.1_x",
        "registry.acme.example:5000/a/b/c__d:v1",
        f"ghcr.io/acme/gate@sha256:{'0a' * 32}",
        f"ghcr.io/acme/gate:1@sha256:{'0a' * 32}",
    ],
)
def test_pinned_images(image: str) -> None:
    assert problems(changed(H100, validation__image=image)) == []


@pytest.mark.parametrize(
    ("size", "count"), [("1K", 1024), ("64M", 64 * 2**20), ("8G", 8 * 2**30), ("64G", 64 * 2**30), ("1500K", 1500 * 1024)]
)
def test_sizes_count_in_1024(size: str, count: int) -> None:
    assert size_bytes(size) == count
    assert ValidationSpec.parse({"max_size": size}).max_size == size


@pytest.mark.parametrize("size", ["", "G", "8", "8T", "8 G", "-8G", "08G", "1234567K"])
def test_what_is_no_size(size: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        size_bytes(size)


@pytest.mark.parametrize(
    "labels",
    [
        {"pool": "train"},
        {"node.kubernetes.io/instance-type": "gd-8xh100ib-i128"},
        {"empty.example/value": ""},
        {"A.b_c-d": "X.y_z-1"},
        {"k" * 63: "v" * 63},
    ],
)
def test_labels(labels: dict[str, str]) -> None:
    assert NodeGroupSpec.parse({**H100["node_groups"][0], "node_selector": labels}).node_selector == labels


@pytest.mark.parametrize("hca", ["mlx5", "mlx5_0", "mlx5_0:1", "=mlx5_0", "^mlx5_1", "^=mlx5_1", "ibp"])
def test_adapters_in_the_words_of_nccl(hca: str) -> None:
    raw = {**H100["node_groups"][0], "profile": {"hcas": [hca]}}
    profile = NodeGroupSpec.parse(raw).profile
    assert profile is not None
    assert profile.hcas == [hca]


@pytest.mark.parametrize(
    "change",
    [
        {"group__accelerators": "H200:8"},
        {"group__nodes": 4, "validation__floor_gbytes_per_s": 250},
        {"group__accelerators": "A100-80GB:4", "validation__floor_gbytes_per_s": 80},
        {"validation__max_size": "8G"},
        {"validation__max_size": "8192M"},
        {"validation__max_size": "1G", "validation__floor_gbytes_per_s": 250},
        {"cluster": {}},
        {"cluster": {"existing": {"kubeconfig": "~/.kube/config", "context": "admin@prod"}}},
        {"orchestrator": "kubernetes"},
        {"validation__nodes_minutes": 0.5},
    ],
    ids=str,
)
def test_wishes_that_can_be_granted(change: dict[str, Any]) -> None:
    assert len(plan_of(changed(H100, **change)).groups) == 1


def test_two_groups_told_apart_by_one_label() -> None:
    other = {**H100["node_groups"][0], "name": "other", "node_selector": {"pool": "other", "rack": "1"}}
    plan = plan_of({**H100, "node_groups": [H100["node_groups"][0], other]})
    assert [group.name for group in plan.groups] == ["train", "other"]


def test_a_single_node_of_many_gpus_has_ranks_enough() -> None:
    assert problems(changed(H100, group__nodes=1)) == []
    assert problems(changed(CPU, group__nodes=1)) != []
