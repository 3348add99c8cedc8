"""The clocks of a gate: each longer than the one inside it, whatever a user allows."""

from dataclasses import astuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpufabric.plan.deadlines import Deadlines, gate_deadlines
from gpufabric.spec import ValidationSpec
from gpufabric.validation import contract, gate_json
from tests.spec.specs import CPU, changed, plan_of

minutes = st.integers(1, 1440) | st.floats(0.1, 1440)


@settings(max_examples=100, deadline=None)
@given(minutes, minutes, minutes, st.integers(1, 1024), st.sampled_from([0, 60, 120]))
@example(0.1, 0.1, 0.1, 3, 120)
@example(1440, 1440, 1440, 1024, 60)
@example(0.1, 1440, 0.1, 2, 0)
def test_an_inner_clock_rings_first(nodes: float, start: float, benchmark: float, group: int, inside_s: int) -> None:
    wish = ValidationSpec.parse({"nodes_minutes": nodes, "start_minutes": start, "benchmark_minutes": benchmark})
    clocks = gate_deadlines(wish, group, inside_s)
    assert clocks.benchmark_s < clocks.judge_s < clocks.rank_job_s < clocks.coordinator_s < clocks.resource_s
    # What runs inside an outer clock fits, with time to say what happened.
    assert clocks.ranks_start_s + inside_s + clocks.benchmark_s + 30 <= clocks.judge_s
    assert clocks.ranks_start_s + clocks.judge_s + 30 <= clocks.rank_job_s
    assert clocks.nodes_s + clocks.rank_job_s + 160 <= clocks.coordinator_s
    assert clocks.coordinator_s + 300 < clocks.resource_s
    pair = gate_json.Timeouts(clocks.nodes_s, clocks.ranks_start_s, clocks.benchmark_s, clocks.rank_job_s).of_pair(inside_s)
    assert pair.ranks_start_s + pair.benchmark_s + 30 <= pair.rank_job_s <= clocks.rank_job_s
    # Three rounds of pairs, each with its overtime and its removal (ranks.Pace), where the group has three nodes or more.
    rounds = 3 * (pair.rank_job_s + 10 + 45) if group >= 3 else 0
    assert clocks.nodes_s + clocks.rank_job_s + rounds + 160 <= clocks.coordinator_s
    assert all(type(each) is int and each > 0 for each in astuple(clocks))
    assert 60 * nodes <= clocks.nodes_s < 60 * nodes + 1


@pytest.mark.parametrize("minute", [0, 0.05, -1, 1441, float("inf"), float("nan")])
def test_other_minutes_are_refused(minute: float) -> None:
    for key in ("nodes_minutes", "start_minutes", "benchmark_minutes"):
        with pytest.raises(ValueError, match=key):
            ValidationSpec.parse({key: minute})


def test_a_group_of_two_waits_for_no_pairs() -> None:
    wish = ValidationSpec.parse({})
    assert gate_deadlines(wish, 2) == gate_deadlines(wish, 1)
    more_s = gate_deadlines(wish, 3).coordinator_s - gate_deadlines(wish, 2).coordinator_s
    assert more_s == 3 * (180 + (180 + 600 + 30) + 30 + 60)  # a short start, for the Job and for its judge


def test_the_objects_carry_the_clocks() -> None:
    plan = plan_of(changed(CPU, validation__nodes_minutes=1, validation__start_minutes=2, validation__benchmark_minutes=3))
    gate = plan.groups[0].gate
    assert gate.deadlines == Deadlines(
        nodes_s=60, ranks_start_s=120, benchmark_s=180, judge_s=390, rank_job_s=540, coordinator_s=760, resource_s=1090
    )
    assert gate.gate.timeouts == gate_json.Timeouts(nodes_s=60, ranks_start_s=120, benchmark_s=180, rank_job_s=540)
    assert gate.gate.rank_job["spec"]["activeDeadlineSeconds"] == 540
    assert gate.coordinator_job_spec["activeDeadlineSeconds"] == 760
    for container in gate.gate.rank_job["spec"]["template"]["spec"]["containers"]:
        env = {each["name"]: each["value"] for each in container["env"]}
        assert env[contract.ENV_START_SECONDS] == "120"
        assert env[contract.ENV_BENCHMARK_SECONDS] == "180"
        assert env[contract.ENV_DEADLINE_SECONDS] == "390"
