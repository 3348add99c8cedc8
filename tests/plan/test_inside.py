"""Stage 1 and the torch backend as decisions: what is run where, what it is held to, and what the objects say of it."""

from typing import Any

import pytest

from gpufabric.plan import GroupPlan
from gpufabric.validation import contract
from tests.spec.specs import CPU, GONE, H100, changed, plan_of

JOBS = "nvcr.io/nvidia/pytorch:26.01-py3"
TORCH = changed(H100, validation__backend="torch", validation__rank_image=JOBS)
GLOO = changed(CPU, validation__backend="torch", validation__rank_image=JOBS)


def group(spec: dict[str, Any]) -> GroupPlan:
    return plan_of(spec).groups[0]


def env(spec: dict[str, Any], name: str = "rank") -> dict[str, str]:
    containers = group(spec).gate.gate.rank_job["spec"]["template"]["spec"]["containers"]
    (found,) = (each for each in containers if each["name"] == name)
    return {each["name"]: each["value"] for each in found["env"]}


def stage(spec: dict[str, Any]) -> tuple[int, int, float | None]:
    """Ranks, judged size and floor."""
    found = group(spec).gate.gate.inside
    assert found is not None
    return found.ranks, found.max_bytes, found.floor_busbw_gbytes_per_s


def test_eight_gpus_are_held_to_the_tables_row_of_one_node() -> None:
    assert stage(H100) == (8, 8 << 30, 324)
    assert env(H100)[contract.ENV_INSIDE] == "all_reduce_perf -b 8589934592 -e 8589934592 -f 2 -g 1 -c 1 -n 10 -w 3"
    assert env(H100)[contract.ENV_INSIDE_RANKS] == "8"
    assert env(H100)[contract.ENV_LOAD] == "1", "the GPUs are read while they work"
    assert env(H100)[contract.ENV_INSIDE_SECONDS] == env(H100, "judge")[contract.ENV_INSIDE_SECONDS] == "120"


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"validation__floor_gbytes_per_s": 100}, (8, 8 << 30, 100)),  # never more inside than is accepted between nodes
        ({"validation__floor_gbytes_per_s": 400}, (8, 8 << 30, 324)),
        ({"validation__floor_gbytes_per_s": 100, "validation__max_size": "1G"}, (8, 1 << 30, None)),  # no figure for this size
        ({"validation__floor_gbytes_per_s": 100, "group__accelerators": "H100:4"}, (4, 1 << 30, None)),  # nor for half a node
    ],
)
def test_the_floor_inside(change: dict[str, Any], wanted: tuple[int, int, float | None]) -> None:
    assert stage(changed(H100, **change)) == wanted


@pytest.mark.parametrize(
    "change",
    [{"group__nodes": 1}, {"group__accelerators": "H100:1", "validation__floor_gbytes_per_s": 10}],
    ids=["a node", "a GPU"],
)
def test_where_nobody_is_to_sum_with_there_is_no_stage(change: dict[str, Any]) -> None:
    spec = changed(H100, **change)
    assert group(spec).gate.gate.inside is None
    assert not {name for name in (*env(spec), *env(spec, "judge")) if name.startswith(contract.ENV_INSIDE)}


def test_between_cpus_two_processes_and_right_sums_are_enough() -> None:
    gpus_aside = changed(CPU, group__accelerators="H100:8")  # MPI measures the nodes' network there, too
    for spec in (CPU, GLOO, gpus_aside, changed(gpus_aside, group__accelerators="H100:1")):
        assert stage(spec) == (2, 1 << 20, None)
        assert env(spec)[contract.ENV_INSIDE].endswith("-b 1024 -e 1048576 -f 32 --seconds-per-size 0.05 -n 5 -w 1")
        assert contract.ENV_LOAD not in env(spec), "no GPU works there"


def test_torch_on_gpus_is_held_to_the_baseline_and_shows_its_transport() -> None:
    found = group(TORCH)
    assert (found.floor.busbw_gbytes_per_s, found.gate.gate.image) == (300, JOBS)
    expected = found.gate.gate.expectation
    assert (expected.backend, expected.ranks, expected.max_bytes) == ("torch", 16, 8 << 30)
    assert expected.transport_regex is not None
    of_rank = env(TORCH)
    assert of_rank["NCCL_DEBUG"] == "INFO"
    assert of_rank[contract.ENV_BACKEND] == "torch"
    launch = "python3 -m gpufabric.validation.torch_launch --device cuda"
    assert of_rank[contract.ENV_BENCHMARK] == f"{launch} -b 8388608 -e 8589934592 -f 2 --seconds-per-size 4 -n 20 -w 5"
    assert of_rank[contract.ENV_INSIDE].startswith(f"{launch} -b 8589934592")
    assert contract.ENV_BACKEND not in env(H100), "only torch starts its ranks by itself"
    assert found.gate.gate.stand_ins == ()


def test_gloo_says_that_it_measures_no_gpu_and_needs_a_floor_of_its_own() -> None:
    gate = group(GLOO).gate.gate
    assert gate.stand_ins == ("CPU processes over TCP stand in for GPUs: this measures the nodes' network, no GPU and no RDMA",)
    assert (gate.expectation.ranks, gate.expectation.transport_regex) == (2, None)
    assert "--device cpu" in env(GLOO)[contract.ENV_BENCHMARK]
    assert "NCCL_DEBUG" not in env(GLOO)
    with pytest.raises(Exception, match="no baseline is known"):
        plan_of(changed(GLOO, validation__floor_gbytes_per_s=GONE))


def test_late_nodes_and_words_are_no_reason_to_validate_again() -> None:
    kept = changed(H100, validation__keep=True)
    alone = changed(kept, validation__single_node_ok=True)
    assert group(alone).gate.gate.single_node_ok
    assert group(alone).gate.trigger == group(kept).gate.trigger
