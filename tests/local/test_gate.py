"""The gate on real pods, by the real engine: what passes, what fails and why, what a killed ``up`` leaves to the next."""

import json
import os
import random
import re
import signal
import time
from pathlib import Path

import pytest

from gpufabric.validation.api import path
from tests.local.conftest import LocalCluster
from tests.local.gate_stack import FLOOR, NAMESPACE, STACK, GateStack, make_stack, send

pytestmark = pytest.mark.local

PASSED = {"n0": "pass", "n1": "pass"}
CONVERGED = {
    "configmaps": ["train-plan", "train-programs", "train-verdict"],
    "clusterroles": [NAMESPACE],
    "rank_pods": [],
}


@pytest.fixture(scope="module")
def stack(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> GateStack:
    """The stack of this module. A test may leave a failed gate behind: the next ``up`` runs it anew."""
    made = make_stack(cluster, tmp_path_factory.mktemp("gate"))
    made.write()
    made.engine.select(STACK)
    return made


def up_passes(stack: GateStack) -> str:
    done = stack.up()
    assert done.returncode == 0, done.stdout
    assert stack.verdict()["outcome"] == "pass"
    assert stack.labels() == PASSED
    return done.stdout


def test_a_preview_of_a_new_stack_shows_everything_and_creates_nothing(stack: GateStack) -> None:
    done = stack.engine.run("preview", "--stack", STACK, timeout_s=120)
    assert done.returncode == 0, done.stdout
    assert re.search(r"\+ 1[0-9] to create", done.stdout), done.stdout
    assert NAMESPACE not in [n["metadata"]["name"] for n in stack.api.list(path("namespaces"))]


def test_an_up_passes_and_says_what_it_measured(stack: GateStack) -> None:
    log = up_passes(stack)
    verdict = stack.verdict()
    assert verdict["nodes"] == ["n0", "n1"]
    assert verdict["busbw_gbytes_per_s"] >= FLOOR
    sizes = [row[0] for row in verdict["table"]]
    assert sizes == [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22]
    assert verdict["busbw_gbytes_per_s"] == verdict["table"][-1][3]
    assert all(row[4] == 0 for row in verdict["table"])
    assert "CPU processes over TCP stand in" in verdict["stand_ins"][0]
    assert "GateProgress: 2 of 2 ranks run" in log
    assert re.search(r"GateProgress:\s+4 MiB: busbw [0-9.]+ GB/s", log)
    assert "PASS train: all_reduce busbw" in log
    assert "Inside: sums right on 2 nodes (2 CPU processes of one node over loopback; no floor is known)." in log
    assert {name: each["outcome"] for name, each in verdict["inside"]["nodes"].items()} == PASSED
    assert "Node health: 2 checks passed on 2 nodes." in log, "the one that nodes without GPUs are held to, on each"
    assert verdict["health"] == {name: {"passed": ["interface"], "findings": [], "dropped": 0} for name in ("n0", "n1")}
    node = stack.api.get(path("nodes", "n0"))
    note = json.loads(node["metadata"]["annotations"]["gpufabric.dev/validation"])
    assert note["outcome"] == "pass"
    assert note["boot_id"] == node["status"]["nodeInfo"]["bootID"]


def test_a_second_up_changes_nothing(stack: GateStack) -> None:
    before = stack.verdict()["finished_at"]
    log = up_passes(stack)
    assert re.search(r"Resources:\n\s+16 unchanged\n", log), log
    assert stack.verdict()["finished_at"] == before


@pytest.mark.soak  # test_faults.py has a crash in every make test
def test_a_crashed_rank_is_unknown(stack: GateStack, tmp_path: Path) -> None:
    stack.write(run=4, max_size="64M")
    log = tmp_path / "up.log"
    up = stack.start(log)
    send(stack.await_ranks(2)[1], signal.SIGKILL)
    assert up.wait(timeout=120) != 0
    said = log.read_text("utf-8")
    assert "UNKNOWN train:" in said, said
    assert stack.labels() == {"n0": "unknown", "n1": "unknown"}


def test_sick_nodes_are_named_and_no_network_run_starts(stack: GateStack) -> None:
    stack.write(run=10, profile={"interface": "eth7"})
    failed = stack.up()
    assert failed.returncode != 0
    assert "FAIL train: sick before any network run: n0 (interface), n1 (interface); none was started." in failed.stdout
    for name in ("n0", "n1"):
        assert f"Sick node: {name}: interface: no eth7; the pod has eth0, lo" in failed.stdout, failed.stdout
    assert "Nothing measured over n0, n1" in failed.stdout
    data = stack.api.get(path("configmaps", "train-verdict", namespace=NAMESPACE))["data"]
    assert json.loads(data["verdict.json"])["table"] == []
    assert "Next: write the interface that ip link shows in a pod under profile.interface" in failed.stdout
    assert stack.labels() == {"n0": "fail", "n1": "fail"}


def test_missing_nodes_are_pending_when_that_is_normal(stack: GateStack) -> None:
    before = stack.labels()
    stack.write(run=8, nodes=3, wait=False)
    done = stack.up()
    assert done.returncode == 0, done.stdout
    assert stack.verdict()["outcome"] == "pending"
    assert stack.labels() == before  # nothing is opened or closed


def test_missing_nodes_are_a_spec_error_otherwise(stack: GateStack) -> None:
    before = stack.objects()
    stack.write(run=9, nodes=3)
    failed = stack.up()
    assert failed.returncode != 0
    assert (
        "node_groups[0].node_selector: 2 nodes are labelled gpufabric.dev/pool=train (n0, n1), nodes asks for exactly 3"
        in failed.stdout
    )
    assert "Traceback" not in failed.stdout
    assert stack.objects() == before


def test_an_unreachable_cluster_is_a_spec_error(stack: GateStack, tmp_path: Path) -> None:
    lost = tmp_path / "kubeconfig"
    lost.write_text(stack.engine.kubeconfig.read_text("utf-8").replace(":6443", ":6444"), encoding="utf-8")  # type: ignore[union-attr]
    other = GateStack(type(stack.engine)(stack.engine.state, lost, stack.engine.project), stack.api, stack.cluster)
    failed = other.up()
    assert failed.returncode != 0
    assert "cluster.existing: the API server does not answer" in failed.stdout
    assert "Traceback" not in failed.stdout


@pytest.mark.soak
@pytest.mark.parametrize("ten", range(5))
def test_ten_healthy_runs_raise_no_false_alarm(stack: GateStack, ten: int) -> None:
    """Fifty in all. Each is a gate of its own: the run counter is raised, as `gpufabric validate` does."""
    for run in range(300 + 10 * ten, 310 + 10 * ten):
        stack.write(run=run)
        begun = time.monotonic()
        up_passes(stack)
        assert stack.verdict()["run"] == run
        took = f"{time.monotonic() - begun:.0f} s, load {os.getloadavg()[0]:.0f}"
        print(f"run {run}: busbw {stack.verdict()['busbw_gbytes_per_s']} GB/s; {took}", flush=True)


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(3, 11))])
def test_a_killed_up_converges_on_the_next_one(stack: GateStack, tmp_path: Path, seed: int) -> None:
    """Killed anywhere between its first second and its end: the next ``up`` passes, with one of everything."""
    stack.write(run=100 + seed)
    typical_s = 14
    wait_s = random.Random(seed).uniform(1, typical_s)  # noqa: S311 - a seed, not a secret
    up = stack.start(tmp_path / "up.log")
    time.sleep(wait_s)
    os.killpg(up.pid, signal.SIGKILL)
    up.wait()
    up_passes(stack)
    assert stack.verdict()["run"] == 100 + seed
    found = stack.objects()
    assert len(found.pop("jobs")) == 1, f"killed after {wait_s:.1f} s"
    assert found == CONVERGED


def test_a_killed_up_and_another_wish(stack: GateStack, tmp_path: Path) -> None:
    """The Job that the killed ``up`` made must not stand for the new wish, and must not be left behind."""
    stack.write(run=200, max_size="64M")
    up = stack.start(tmp_path / "up.log")
    stack.await_ranks(2)
    os.killpg(up.pid, signal.SIGKILL)
    up.wait()
    stack.write(run=201)
    up_passes(stack)
    assert stack.verdict()["run"] == 201
    found = stack.objects()
    assert len(found.pop("jobs")) == 1
    assert found == CONVERGED


def test_zz_destroy_leaves_only_what_the_docs_say(stack: GateStack) -> None:
    done = stack.engine.run("destroy", "--yes", "--skip-preview", "--stack", STACK, timeout_s=200)
    assert done.returncode == 0, done.stdout
    assert stack.engine.resources(STACK) == [] or [r["type"] for r in stack.engine.resources(STACK)] == ["pulumi:pulumi:Stack"]
    namespaces = [n["metadata"]["name"] for n in stack.api.list(path("namespaces"))]
    assert NAMESPACE not in namespaces
    assert set(stack.labels().values()) == {"pass"}  # docs/gate.md: the labels of nodes stay, they say what was measured
