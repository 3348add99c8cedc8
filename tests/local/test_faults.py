"""Faults on real pods: each ends as docs/gate.md says, with the reason a person needs, and a repaired gate passes.

Cheap ones share an ``up``: a group of its own for every node, or for every two.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gpufabric.validation.api import path
from tests.local.conftest import LocalCluster
from tests.local.derived_image import derive
from tests.local.gate_stack import GateStack, make_stack
from tools.localcluster.lifecycle import existing
from tools.localcluster.waits import wait_until

pytestmark = pytest.mark.local

WORKERS = ("n0", "n1", "n2", "n3")
GPUS = 3
BENCHMARK = "localhost/gpufabric/test-benchmark:1"  # the gate's image and a stand-in for nccl-tests
NO_SSHD = "localhost/gpufabric/test-no-sshd:1"
GATE = "localhost/gpufabric/gate:1"  # has everything but nccl-tests
# What a node without GPUs and adapters cannot have. Everything else of stage 0 stays as strict as it is.
ABSENT = ("gpu_driver", "gpu_count", "nvlink", "hca_count", "hca_state", "hca_rate", "rdma_device")


@pytest.fixture(scope="module", autouse=True)
def images(four: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> None:
    """On every node. A kubelet lists a new image up to half a minute later; the tests that need them come last."""
    folder = tmp_path_factory.mktemp("images")
    program = (Path(__file__).parent / "faulty_all_reduce.py").read_text("utf-8")
    derive(folder / "benchmark.tar", BENCHMARK, {"/usr/local/bin/all_reduce_perf": program})
    derive(folder / "no-sshd.tar", NO_SSHD, {}, without=["/usr/sbin/sshd"])
    for archive in sorted(folder.iterdir()):
        four.cli("load", str(archive))


@pytest.fixture(scope="module")
def sides(four: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> GateStack:
    """A stack with two groups of two nodes each."""
    made = make_stack(four, tmp_path_factory.mktemp("sides"))
    made.engine.select("gate")
    return made


def verdict(stack: GateStack, group: str) -> dict[str, Any]:
    namespace = f"gpufabric-gate-{group}"
    data = stack.api.get(path("configmaps", f"{group}-verdict", namespace=namespace))["data"]
    found: dict[str, Any] = json.loads(data["verdict.json"])
    return found


def ended(stack: GateStack, log: str, group: str, outcome: str, *words: str) -> None:
    """The group's outcome, its reason in the verdict, and both in the log of the ``up``."""
    found = verdict(stack, group)
    assert found["outcome"] == outcome, found
    for each in words:
        assert each in found["reason"], found["reason"]
    assert f"{outcome.upper()} {group}: " in log, log
    assert "Next: " in log


def write_sides(stack: GateStack, run: int, max_size: str = "4M") -> None:
    groups = [
        {"name": side, "node_selector": {"side": side}, "accelerators": "cpu", "nodes": 2, "network_tier": "standard"}
        for side in ("east", "west")
    ]
    stack.write_groups([{**each, "fabric": "ethernet"} for each in groups], max_size=max_size, run=run)


def rank_pods(stack: GateStack, side: str) -> list[dict[str, Any]]:
    found = stack.api.list(path("pods", namespace=f"gpufabric-gate-{side}"), labels="app.kubernetes.io/component=ranks")
    return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))


def both_run(stack: GateStack, side: str) -> bool:
    return [pod["status"]["phase"] for pod in rank_pods(stack, side)] == ["Running"] * 2


def while_both_measure(stack: GateStack, log: Path, run: int, fault: Callable[[], None]) -> str:
    """An ``up`` of both sides, and a fault in the middle of their long sweeps; its log. It must fail."""
    write_sides(stack, run, max_size="64M")
    up = stack.start(log, "--continue-on-error")
    for side in ("east", "west"):
        stack.await_ranks(2, side)
    fault()
    assert up.wait(timeout=240) != 0
    said = log.read_text("utf-8")
    assert "Traceback" not in said
    return said


def test_a_node_that_dies_and_a_pod_that_is_evicted(four: LocalCluster, sides: GateStack, tmp_path: Path) -> None:
    def fault() -> None:
        name = rank_pods(sides, "west")[1]["metadata"]["name"]
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        sides.api.create(path("pods", name, namespace="gpufabric-gate-west", sub="eviction"), eviction)
        four.kill("n1")

    log = while_both_measure(sides, tmp_path / "up.log", 1, fault)
    ended(sides, log, "west", "unknown", "was taken away by the cluster: EvictionByEvictionAPI")
    ended(sides, log, "east", "unknown", "n1")
    assert sides.labels() == dict.fromkeys(WORKERS, "unknown")


def test_late_names_only_delay_and_the_repaired_sides_pass(four: LocalCluster, sides: GateStack, tmp_path: Path) -> None:
    four.revive("n1")
    names = existing(four.name).control_plane_daemons()["coredns"]
    write_sides(sides, run=2)
    names.stop()
    try:
        up = sides.start(tmp_path / "up.log")
        for side in ("east", "west"):
            wait_until(f"ranks of {side} to run", partial(both_run, sides, side), 60)
        assert up.poll() is None
    finally:
        names.ensure()
    assert up.wait(timeout=120) == 0, (tmp_path / "up.log").read_text("utf-8")
    assert sides.labels() == dict.fromkeys(WORKERS, "pass")


def test_the_coordinators_node_dies(four: LocalCluster, sides: GateStack, tmp_path: Path) -> None:
    """Nobody can label the nodes then: they stay closed, and the next ``up`` runs the gates anew."""

    def fault() -> None:
        four.kill("system")
        four.revive("system")

    log = while_both_measure(sides, tmp_path / "up.log", 3, fault)
    assert 'Container "coordinator" completed with exit code' in log, log
    assert sides.labels() == dict.fromkeys(WORKERS)
    write_sides(sides, run=3)
    done = sides.up()
    assert done.returncode == 0, done.stdout
    assert sides.labels() == dict.fromkeys(WORKERS, "pass")


@pytest.fixture(scope="module")
def bays(four: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> GateStack:
    """A stack with a group for each node: three ranks of the nccl backend on it, between CPUs. The nodes say they have GPUs."""
    made = make_stack(four, tmp_path_factory.mktemp("bays"))
    have = {"nvidia.com/gpu": str(GPUS)}
    for node in WORKERS:
        made.api.merge_patch(path("nodes", node, sub="status"), {"status": {"capacity": have, "allocatable": have}})
        wait_until(f"{node} to list the images", partial(lists_images, made, node), 60)
    made.engine.select("gate")
    return made


def lists_images(stack: GateStack, node: str) -> bool:
    known = {name for image in stack.api.get(path("nodes", node))["status"]["images"] for name in image["names"]}
    return {BENCHMARK, NO_SSHD} <= known


def up_bays(stack: GateStack, run: int, **bays: tuple[str, str]) -> str:
    """One ``up`` of all four groups, each with its image and its fault; its log."""
    groups = []
    for node in WORKERS:
        image, fault = bays[node]
        profile = {"hcas": ["mlx5"], "image": image, **({"environment": {"FAULT": fault}} if fault else {})}
        group = {"name": node, "node_selector": {"bay": node}, "accelerators": f"H100:{GPUS}", "nodes": 1, "profile": profile}
        groups.append(group)
    stack.write_groups(groups, backend="nccl", max_size="16M", health=dict.fromkeys(ABSENT, "warning"), run=run)
    done = stack.up("--continue-on-error")
    print(done.stdout)
    assert "Traceback" not in done.stdout
    outcomes = {node: verdict(stack, node)["outcome"] for node in WORKERS}
    assert (done.returncode == 0) == (set(outcomes.values()) == {"pass"}), done.stdout
    assert stack.labels() == outcomes
    return done.stdout


def test_a_run_that_is_not_what_was_asked_for(bays: GateStack) -> None:
    log = up_bays(
        bays,
        run=1,
        n0=(BENCHMARK, "sockets"),
        n1=(BENCHMARK, "sums"),
        n2=(BENCHMARK, "independent"),
        n3=(BENCHMARK, "truncated"),
    )
    ended(bays, log, "n0", "fail", "wrong transport: 'n0-ranks-0 (node n0):1:1 [0] NCCL INFO Using network Socket'")
    ended(bays, log, "n1", "fail", "wrong sums: 1 wrong elements at 8 MiB")
    ended(bays, log, "n2", "unknown", "(independent jobs instead of one?)")
    ended(bays, log, "n3", "unknown", "the largest size 16 MiB is not in the table")


def test_a_run_that_lacks_something(bays: GateStack) -> None:
    log = up_bays(bays, run=2, n0=(BENCHMARK, "missing"), n1=(BENCHMARK, "crash"), n2=(GATE, ""), n3=(NO_SSHD, ""))
    ended(bays, log, "n0", "unknown", "2 ranks took part, wanted 3")
    ended(bays, log, "n1", "unknown", "16 MiB is not in the table", "exit code 137", "signal 9 (Killed)")
    ended(bays, log, "n2", "unknown", "the image has no all_reduce_perf (the benchmark)")
    ended(bays, log, "n3", "unknown", "the image has no sshd (package openssh-server)")


def test_images_that_are_none_and_nodes_that_were_repaired(bays: GateStack) -> None:
    log = up_bays(
        bays,
        run=3,
        n0=(BENCHMARK, ""),
        n1=(BENCHMARK, ""),
        n2=("registry.invalid/nccl-tests:1", ""),
        n3=("localhost/gpufabric/pause:1", ""),
    )
    assert (verdict(bays, "n0")["outcome"], verdict(bays, "n1")["outcome"]) == ("pass", "pass"), log
    assert [row[0] for row in verdict(bays, "n0")["table"]] == [8 << 20, 16 << 20]
    ended(bays, log, "n2", "unknown", "registry.invalid/nccl-tests:1 cannot be had")
    ended(bays, log, "n3", "unknown", "/bin/sh")
