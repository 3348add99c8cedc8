"""Where an all_gather follows the all_reduce, and what it is held to."""

from dataclasses import replace
from typing import Any

import pytest

from gpufabric.hardware.baselines import baselines
from gpufabric.plan import also as also_plan
from gpufabric.plan import explain
from gpufabric.validation import contract, gate_json, pairs
from tests.spec.specs import CPU, H100, changed, plan_of, problems

FLOOR = "floor_all_gather_gbytes_per_s"
JOBS = "nvcr.io/nvidia/pytorch:26.01-py3"


def gate(spec: dict[str, Any]) -> gate_json.Gate:
    return plan_of(spec).groups[0].gate.gate


def env(planned: gate_json.Gate, name: str = "rank") -> dict[str, str]:
    (found,) = (each for each in planned.rank_job["spec"]["template"]["spec"]["containers"] if each["name"] == name)
    return {each["name"]: each["value"] for each in found["env"]}


def test_two_nodes_run_an_all_gather_of_the_same_sizes_too() -> None:
    planned = gate(H100)
    found = env(planned)
    assert found[contract.ENV_ALSO] == found[contract.ENV_BENCHMARK].replace("all_reduce_perf", "all_gather_perf")
    assert found[contract.ENV_ALSO].startswith("all_gather_perf -b 8388608 -e 8589934592 -f 2 ")
    assert planned.expectation.also is not None
    assert planned.expectation.also.collective == "all_gather"


def test_the_program_is_where_the_image_has_it() -> None:
    planned = gate(changed(H100, validation__rank_image="ghcr.io/coreweave/nccl-tests:13.2.1"))
    assert env(planned)[contract.ENV_ALSO].startswith("/opt/nccl_tests/build/all_gather_perf -b ")


ELSEWHERE: dict[str, dict[str, Any]] = {
    "four nodes": changed(H100, group__nodes=4),
    "one node": changed(H100, group__nodes=1),
    "one GPU in each": changed(H100, group__accelerators="H100:1", validation__floor_gbytes_per_s=10),
    "no RDMA": changed(H100, group__fabric="ethernet", group__network_tier="standard", validation__floor_gbytes_per_s=1),
    "torch": changed(H100, validation__backend="torch", validation__rank_image=JOBS),
    "mpi": CPU,
}


@pytest.mark.parametrize("spec", ELSEWHERE.values(), ids=ELSEWHERE)
def test_elsewhere_there_is_none(spec: dict[str, Any]) -> None:
    planned = gate(spec)
    assert planned.expectation.also is None
    assert contract.ENV_ALSO not in env(planned)
    (found,) = problems(changed(spec, **{f"validation__{FLOOR}": 300}))
    assert found == (
        f"validation.{FLOOR}: no group runs an all_gather: that takes backend nccl, GPUDirect or RDMA, exactly 2 nodes and "
        "more than one GPU in each; leave it out"
    )


def test_a_floor_that_one_of_two_groups_needs_is_no_mistake() -> None:
    spec = changed(H100, **{f"validation__{FLOOR}": 300})
    spec["node_groups"].append({**spec["node_groups"][0], "name": "more", "node_selector": {"pool": "more"}, "nodes": 4})
    two, four = (each.gate.gate.expectation for each in plan_of(spec).groups)
    assert two.also is not None
    assert two.also.floor_busbw_gbytes_per_s == 300
    assert four.also is None


def said(spec: dict[str, Any]) -> tuple[float | None, str]:
    found = gate(spec).expectation.also
    assert found is not None
    return found.floor_busbw_gbytes_per_s, found.floor_source


def test_the_floor_is_yours_else_the_tables_else_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(H100) == (None, "")
    assert said(changed(H100, **{f"validation__{FLOOR}": 300})) == (300, "given in the spec")
    known = next(each for each in baselines() if each.most_nodes == 2)
    row = replace(known, collective="all_gather", floor_busbw_gbytes_per_s=280)
    monkeypatch.setattr(also_plan, "find_baseline", lambda **asked: row if asked["collective"] == "all_gather" else None)
    assert said(H100) == (280, f"from the baseline table: {row.provenance}")
    assert said(changed(H100, validation__max_size="4G", validation__floor_gbytes_per_s=300)) == (None, ""), "another size"


def test_explain_says_what_is_run_and_that_no_floor_is_known() -> None:
    def line(spec: dict[str, Any]) -> tuple[str, str]:
        lines = [line for _, group in explain(plan_of(spec)) for line in group if line.subject == "second measurement"]
        (found,) = lines
        return found.decision, found.why

    assert line(H100)[0] == "all_gather of the same sizes, no floor is known for it"
    assert f"give validation.{FLOOR}" in line(H100)[1]
    assert line(changed(H100, **{f"validation__{FLOOR}": 300})) == (
        "all_gather of the same sizes, at least 300 GB/s",
        "given in the spec",
    )


def test_a_late_node_of_two_is_measured_as_the_group_was() -> None:
    planned = gate(H100)
    pair = pairs.pair_gate(planned, ("a", "b"), 1, 0, timeouts=planned.timeouts)
    assert pair.expectation.also == planned.expectation.also
    assert env(pair)[contract.ENV_ALSO] == env(planned)[contract.ENV_ALSO]


def test_a_floor_is_part_of_what_was_validated() -> None:
    first, second = gate(H100), gate(changed(H100, **{f"validation__{FLOOR}": 300}))
    assert first.fingerprint != second.fingerprint
