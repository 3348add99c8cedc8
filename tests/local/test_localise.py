"""Who is it, on real pods: a cluster of four workers whose links are degraded; the failed gate names the nodes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpufabric.validation.api import path
from tests.local.conftest import LocalCluster
from tests.local.gate_stack import FLOOR, NAMESPACE, SLOW_LINK, STACK, GateStack, make_stack

pytestmark = pytest.mark.local

WORKERS = ("n0", "n1", "n2", "n3")


@pytest.fixture(scope="module")
def stack(four: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> GateStack:
    """A stack that validates all four; no ``up`` has run yet."""
    made = make_stack(four, tmp_path_factory.mktemp("localise"))
    made.write(nodes=len(WORKERS))
    made.engine.select(STACK)
    return made


def failed_up(four: LocalCluster, stack: GateStack, slow: tuple[str, ...], run: int) -> tuple[str, dict[str, Any]]:
    """An ``up`` while some links are slow: its log, and the verdict."""
    stack.write(nodes=len(WORKERS), max_size="1M", run=run)
    for node in slow:
        four.degrade(node, SLOW_LINK)
    try:
        done = stack.up()
    finally:
        four.restore()
    assert done.returncode != 0, done.stdout
    assert "FAIL train: all_reduce busbw 0.00" in done.stdout, done.stdout
    assert "Traceback" not in done.stdout
    found = stack.api.get(path("configmaps", "train-verdict", namespace=NAMESPACE))
    verdict: dict[str, Any] = json.loads(found["data"]["verdict.json"])
    assert (verdict["run"], verdict["outcome"]) == (run, "fail")
    assert "Avg bus bandwidth" in found["data"]["output.txt"], "the group's output, not a pair's"
    assert stack.objects()["jobs"] == [name for name in stack.objects()["jobs"] if name.startswith("train-gate-")]
    return done.stdout, verdict


def named(verdict: dict[str, Any], kind: str) -> list[list[str]]:
    assert {each["kind"] for each in verdict["findings"]} == {kind}, verdict["findings"]
    return sorted(each["nodes"] for each in verdict["findings"])


def test_one_slow_node_is_named(four: LocalCluster, stack: GateStack) -> None:
    log, verdict = failed_up(four, stack, ("n2",), 1)
    assert named(verdict, "slow_node") == [["n2"]]
    assert stack.labels() == {"n0": "unknown", "n1": "unknown", "n2": "fail", "n3": "unknown"}
    (said,) = set(re.findall(r"Slow node: \w+ \(0\.00\d+ GB/s with n\d, 0\.00\d+ with n\d; the others 0\.\d+\)", log))
    assert said.startswith("Slow node: n2 ")
    assert "GateProgress: looking for the node, round 1: n0 with n3; n1 with n2" in log
    assert "compare NIC speed, error counters and cables of n2" in log
    figures = {tuple(each["nodes"]): each["busbw_gbytes_per_s"] for each in verdict["pairs"]}
    assert {pair for pair, busbw in figures.items() if busbw < FLOOR} == {pair for pair in figures if "n2" in pair}
    note = json.loads(stack.api.get(path("nodes", "n2"))["metadata"]["annotations"]["gpufabric.dev/validation"])
    assert note["why"] == said


def test_two_slow_nodes_are_named(four: LocalCluster, stack: GateStack) -> None:
    _, verdict = failed_up(four, stack, ("n1", "n3"), 2)
    assert named(verdict, "slow_node") == [["n1"], ["n3"]]
    assert stack.labels() == {"n0": "unknown", "n1": "fail", "n2": "unknown", "n3": "fail"}


def test_a_uniformly_slow_fabric_is_called_so(four: LocalCluster, stack: GateStack) -> None:
    log, verdict = failed_up(four, stack, WORKERS, 3)
    assert named(verdict, "slow_fabric") == [[]]
    assert len(verdict["pairs"]) == 6
    assert stack.labels() == dict.fromkeys(WORKERS, "fail")
    assert "Slow fabric: all 6 pairs are slow" in log


def test_a_repaired_group_passes_without_any_pair(stack: GateStack, tmp_path: Path) -> None:
    done = stack.up()  # no input changed
    assert done.returncode == 0, done.stdout
    assert stack.labels() == dict.fromkeys(WORKERS, "pass")
    assert (stack.verdict()["findings"], stack.verdict()["pairs"]) == ([], [])
    assert "looking for the node" not in done.stdout
