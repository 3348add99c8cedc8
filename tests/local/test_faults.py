"""Faults on real pods: each ends as docs/gate.md says, with the reason a person needs, and a repaired gate passes.

Cheap ones share an ``up``: a group of its own for every node, or for every two. A seed chooses which rank or node is hit, and
when; two of each in `make test` where that costs seconds, ten in the soak.
"""

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gpufabric.validation.api import path
from gpufabric.validation.judge import size_text
from tests.local.conftest import LocalCluster
from tests.local.faulty_all_reduce import Chosen
from tests.local.gate_stack import FLOOR, SLOW_LINK, GateStack, make_stack, send
from tools.image.derived import derive
from tools.localcluster.lifecycle import existing
from tools.localcluster.waits import wait_until

pytestmark = pytest.mark.local

WORKERS = ("n0", "n1", "n2", "n3")
SIDES = {"east": ("n0", "n1"), "west": ("n2", "n3")}
GPUS = 3
SEEDS, SOAK_SEEDS = (1, 5), (2, 3, 4, 6, 7, 8, 9, 10)
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


def write_sides(stack: GateStack, run: int, **validation: Any) -> None:
    groups = [
        {"name": side, "node_selector": {"side": side}, "accelerators": "cpu", "nodes": 2, "network_tier": "standard"}
        for side in SIDES
    ]
    stack.write_groups([{**each, "fabric": "ethernet"} for each in groups], run=run, **validation)


def rank_pods(stack: GateStack, side: str) -> list[dict[str, Any]]:
    found = stack.api.list(path("pods", namespace=f"gpufabric-gate-{side}"), labels="app.kubernetes.io/component=ranks")
    return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))


def both_run(stack: GateStack, side: str) -> bool:
    return [pod["status"]["phase"] for pod in rank_pods(stack, side)] == ["Running"] * 2


def while_both_measure(
    stack: GateStack, log: Path, run: int, fault: Callable[[dict[str, list[int]]], None], **validation: Any
) -> tuple[int, str]:
    """An ``up`` of both sides, and a fault in the middle of their long sweeps; its exit code and its log.

    ``fault`` gets the processes of each side's ranks.
    """
    write_sides(stack, run, **{"max_size": "16M", **validation})
    up = stack.start(log, "--continue-on-error")
    try:
        fault({side: stack.await_ranks(2, side, timeout_s=120) for side in SIDES})
        code = up.wait(timeout=240)
    finally:
        if up.poll() is None:  # else the next test finds the stack locked
            os.killpg(up.pid, signal.SIGKILL)
            up.wait()
    said = log.read_text("utf-8")
    assert "Traceback" not in said
    return code, said


def test_late_names_only_delay(four: LocalCluster, sides: GateStack, tmp_path: Path) -> None:
    names = existing(four.name).control_plane_daemons()["coredns"]
    write_sides(sides, run=1)
    names.stop()
    try:
        up = sides.start(tmp_path / "up.log")
        for side in SIDES:
            wait_until(f"ranks of {side} to run", partial(both_run, sides, side), 60)
        assert up.poll() is None
    finally:
        names.ensure()
    assert up.wait(timeout=120) == 0, (tmp_path / "up.log").read_text("utf-8")
    assert sides.labels() == dict.fromkeys(WORKERS, "pass")


def a_seed_for_each_side() -> pytest.MarkDecorator:
    """Two seeds share an ``up``: (1, 2) in `make test`, up to (9, 10) in the soak."""
    pairs = [(seed, seed + 1) for seed in range(1, 10, 2)]
    return pytest.mark.parametrize(
        "seeds", [pairs[0], *(pytest.param(pair, marks=pytest.mark.soak) for pair in pairs[1:])], ids=str
    )


@a_seed_for_each_side()
def test_slow_links_fail_with_both_figures_and_a_repair_passes(
    four: LocalCluster, sides: GateStack, seeds: tuple[int, int]
) -> None:
    write_sides(sides, run=400 + seeds[0], max_size="1M")
    for seed, nodes in zip(seeds, SIDES.values(), strict=True):
        throw = random.Random(seed)  # noqa: S311 - a seed, not a secret
        four.degrade(throw.choice(nodes), throw.choice(["10mbit", SLOW_LINK]))
    try:
        failed = sides.up("--continue-on-error")
    finally:
        four.restore()
    assert failed.returncode != 0
    assert "Traceback" not in failed.stdout
    for side, nodes in SIDES.items():
        ended(sides, failed.stdout, side, "fail", f"GB/s at 1 MiB is below the floor of {FLOOR} GB/s")
        found = verdict(sides, side)["busbw_gbytes_per_s"]
        assert 0 < found < FLOOR
        over = f"{found} GB/s at 1 MiB over {', '.join(nodes)}; wanted at least {FLOOR} GB/s (floor given in the spec)"
        assert f"FAIL {side}: all_reduce busbw {over}" in failed.stdout
    assert sides.labels() == dict.fromkeys(WORKERS, "fail")
    done = sides.up()  # no input changed: a gate that failed runs again by itself
    assert done.returncode == 0, done.stdout
    assert sides.labels() == dict.fromkeys(WORKERS, "pass")


@a_seed_for_each_side()
def test_hanging_benchmarks_end_by_their_deadline(sides: GateStack, tmp_path: Path, seeds: tuple[int, int]) -> None:
    def fault(ranks: dict[str, list[int]]) -> None:
        for seed, side in zip(seeds, SIDES, strict=True):
            throw = random.Random(seed)  # noqa: S311 - a seed, not a secret
            time.sleep(throw.uniform(0, 1))
            send(throw.choice(ranks[side]), signal.SIGSTOP)

    log = tmp_path / "up.log"
    code, said = while_both_measure(sides, log, 500 + seeds[0], fault, max_size="64M", benchmark_minutes=0.3)
    assert code != 0
    for side in SIDES:
        ended(sides, said, side, "unknown", "the benchmark did not end within 18 s and was stopped")
    assert "timed out" not in said.partition("UNKNOWN")[0], "an outer clock rang first"


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(3, 11))])
def test_a_node_that_dies_and_a_pod_that_is_evicted(four: LocalCluster, sides: GateStack, tmp_path: Path, seed: int) -> None:
    throw = random.Random(seed)  # noqa: S311 - a seed, not a secret
    dying, other = throw.sample(list(SIDES), 2)
    node, index = throw.choice(SIDES[dying]), throw.randrange(2)

    def fault(_: dict[str, list[int]]) -> None:
        name, namespace = rank_pods(sides, other)[index]["metadata"]["name"], f"gpufabric-gate-{other}"
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        time.sleep(throw.uniform(0, 2))
        sides.api.create(path("pods", name, namespace=namespace, sub="eviction"), eviction)
        four.kill(node)

    try:
        code, log = while_both_measure(sides, tmp_path / "up.log", 100 + seed, fault)
    finally:
        four.revive(node)
    assert code != 0
    ended(sides, log, other, "unknown", "was taken away by the cluster: EvictionByEvictionAPI")
    ended(sides, log, dying, "unknown", node)
    assert sides.labels() == dict.fromkeys(WORKERS, "unknown")


def test_the_coordinators_node_dies(four: LocalCluster, sides: GateStack, tmp_path: Path) -> None:
    """Their Jobs start the coordinators again: they clear what was left, measure anew, and the same ``up`` passes."""

    def fault(_: dict[str, list[int]]) -> None:
        four.kill("system")
        four.revive("system")

    code, log = while_both_measure(sides, tmp_path / "up.log", 200, fault)
    assert code == 0, log
    assert "starting again: pod " in log, log
    assert "removing the rank Jobs of an earlier run" in log
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


@dataclass(frozen=True)
class Fault:
    """What is wrong with one node's group: its image, and of the benchmark what `faulty_all_reduce` knows, by a seed."""

    image: str
    name: str = ""
    seed: int = 0

    @property
    def chosen(self) -> Chosen:
        return Chosen.by(self.seed, GPUS, LEAST, MOST, 2)

    def reason(self, node: str) -> tuple[str, list[str]]:
        """The outcome, and words of the reason."""
        hit, size = self.chosen.rank, size_text(self.chosen.size_bytes)
        if self.image != BENCHMARK:
            return OTHER_IMAGES[self.image]
        match self.name:
            case "sockets":
                said = f"wrong transport: '{node}-ranks-0 (node {node}):1:1 [{hit}] NCCL INFO Using network Socket'"
                return "fail", [said]
            case "sums":
                return "fail", [f"wrong sums: 1 wrong elements at {size}"]
            case "independent":
                return "unknown", ["(independent jobs instead of one?)"]
            case "missing":
                return "unknown", [f"{GPUS - 1} ranks took part, wanted {GPUS}"]
            case "truncated":
                return "unknown", [ENDS[self.chosen.rows]]
            case "crash":
                return "unknown", ["exit code 137", "signal 9 (Killed)"]
        return "pass", [f"at {size_text(MOST)}"]


LEAST, MOST = 8 << 20, 16 << 20
ENDS = {0: "no rows in the output", 1: "the largest size 16 MiB is not in the table", 2: "no footer: the output is cut off"}
OTHER_IMAGES = {
    GATE: ("unknown", ["the image has no all_reduce_perf (the benchmark)"]),
    NO_SSHD: ("unknown", ["the image has no sshd (package openssh-server)"]),
    "registry.invalid/nccl-tests:1": ("unknown", ["registry.invalid/nccl-tests:1 cannot be had"]),
    "localhost/gpufabric/pause:1": ("unknown", ["/bin/sh"]),
}


def seeded(seeds: Sequence[int]) -> list[Fault]:
    return [Fault(BENCHMARK, name, seed) for seed in seeds for name in ("sockets", "sums", "missing", "truncated", "crash")]


def shuffled(images: Iterable[str], seed: int) -> list[str]:
    """On other nodes than in the other rounds."""
    found = list(images)
    random.Random(seed).shuffle(found)  # noqa: S311 - a seed, not a secret
    return found


def by_four(faults: list[Fault]) -> list[list[Fault]]:
    """An ``up`` each: one fault a node."""
    return [faults[at : at + len(WORKERS)] for at in range(0, len(faults), len(WORKERS))]


# The last one is a healthy run on a node that had a fault before.
ALWAYS = by_four([*seeded(SEEDS), Fault(BENCHMARK, "independent"), *map(Fault, OTHER_IMAGES), Fault(BENCHMARK)])
SOAK = by_four([*seeded(SOAK_SEEDS), *(Fault(image, seed=seed) for seed in SEEDS for image in shuffled(OTHER_IMAGES, seed))])


@pytest.mark.parametrize(
    ("run", "faults"),
    [
        *((1 + at, four) for at, four in enumerate(ALWAYS)),
        *(pytest.param(101 + at, four, marks=pytest.mark.soak) for at, four in enumerate(SOAK)),
    ],
    ids=lambda value: "-".join(f"{each.name or 'image'}{each.seed or ''}" for each in value) if isinstance(value, list) else "",
)
def test_a_fault_on_each_node(bays: GateStack, run: int, faults: list[Fault]) -> None:
    """One ``up`` of four groups, each a node with its image and its fault."""
    groups = []
    for node, fault in zip(WORKERS, faults, strict=True):
        profile: dict[str, Any] = {"hcas": ["mlx5"], "image": fault.image}
        if fault.name:
            profile["environment"] = {"FAULT": fault.name, "FAULT_SEED": str(fault.seed)}
        group = {"name": node, "node_selector": {"bay": node}, "accelerators": f"H100:{GPUS}", "nodes": 1, "profile": profile}
        groups.append(group)
    bays.write_groups(groups, backend="nccl", max_size="16M", health=dict.fromkeys(ABSENT, "warning"), run=run)
    done = bays.up("--continue-on-error")
    print(done.stdout)
    assert done.returncode != 0
    assert "Traceback" not in done.stdout
    expected = {node: fault.reason(node) for node, fault in zip(WORKERS, faults, strict=True)}
    for node, (outcome, words) in expected.items():
        ended(bays, done.stdout, node, outcome, *words)
    assert bays.labels() == {node: outcome for node, (outcome, _) in expected.items()}
    for node, (outcome, _) in expected.items():
        if outcome == "pass":
            assert [row[0] for row in verdict(bays, node)["table"]] == [LEAST, MOST]
