"""The torch backend on real pods: gloo between two workers, in an image that holds torch and nothing of the gate.

The image is optional (tools/image/torch.toml): where it was not built, all of this is skipped, and says how to build it.
"""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpufabric.validation.api import path
from tests.local.conftest import NAME, LocalCluster, running_cluster
from tests.local.gate_stack import FLOOR, NAMESPACE, SLOW_LINK, STACK, TORCH, GateStack, make_stack, send
from tools.image.recipe import read_recipe
from tools.localcluster.waits import wait_until

pytestmark = pytest.mark.local

IMAGE = read_recipe("torch")
PASSED = {"n0": "pass", "n1": "pass"}


@pytest.fixture(scope="module")
def workers() -> Iterator[LocalCluster]:
    """A cluster of its own, whose nodes have the image."""
    if not IMAGE.archive.exists():
        build = "python3 -m tools.image ensure torch (1.1 GiB, minutes)"
        pytest.skip(f"NOT TESTED: the torch backend on pods, since its image is not built; to build it: {build}")
    with running_cluster(f"{NAME}-torch", "--torch") as made:
        yield made


@pytest.fixture(scope="module")
def stack(workers: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> GateStack:
    """A stack whose ranks run in the torch image."""
    made = make_stack(workers, tmp_path_factory.mktemp("torch"))
    write(made, run=1)
    made.engine.select(STACK)
    return made


def write(stack: GateStack, **validation: Any) -> None:
    stack.write(**{"backend": "torch", "rank_image": IMAGE.reference, "start_minutes": 2, **validation})


def measuring(stack: GateStack) -> list[int]:
    """Process ids of the ranks once they have met: importing torch takes them seconds."""
    pids = stack.await_ranks(2, program=TORCH)
    output = Path(f"/proc/{pids[0]}/root/gate/shared/output")
    wait_until("the ranks to measure", lambda: "out-of-place" in output.read_text("utf-8"), 60)
    return pids


def test_an_up_passes_in_the_image_of_the_ranks(stack: GateStack) -> None:
    done = stack.up()
    assert done.returncode == 0, done.stdout
    verdict = stack.verdict()
    assert (verdict["outcome"], verdict["backend"], verdict["image"]) == ("pass", "torch", IMAGE.reference)
    assert verdict["busbw_gbytes_per_s"] >= FLOOR
    assert [row[0] for row in verdict["table"]] == [1 << power for power in range(10, 23, 2)]
    assert all(row[4] == row[8] == 0 for row in verdict["table"])
    assert {name: each["outcome"] for name, each in verdict["inside"]["nodes"].items()} == PASSED
    assert "Inside: sums right on 2 nodes (2 CPU processes of one node over loopback; no floor is known)." in done.stdout
    assert stack.labels() == PASSED
    data = stack.api.get(path("configmaps", "train-verdict", namespace=NAMESPACE))["data"]
    assert re.search(r"# torch 1\.13\S*, backend gloo", data["output.txt"])
    assert json.loads(data["verdict.json"])["ranks"] == 2


@pytest.mark.soak
def test_a_slow_link_fails_with_both_figures(workers: LocalCluster, stack: GateStack) -> None:
    write(stack, run=2)
    workers.degrade("n1", SLOW_LINK)
    try:
        failed = stack.up()
    finally:
        workers.restore()
    assert failed.returncode != 0
    wanted = r"wanted at least 0\.004 GB/s \(floor given in the spec\)"
    said = re.search(rf"FAIL train: all_reduce busbw (0\.00\d+) GB/s at 4 MiB over n0, n1; {wanted}", failed.stdout)
    assert said, failed.stdout
    assert float(said[1]) < FLOOR
    assert stack.labels() == {"n0": "fail", "n1": "fail"}


def test_a_killed_rank_is_unknown_and_named(stack: GateStack, tmp_path: Path) -> None:
    write(stack, run=3, max_size="64M")
    log = tmp_path / "up.log"
    up = stack.start(log)
    send(measuring(stack)[1], signal.SIGKILL)
    assert up.wait(timeout=120) != 0
    said = log.read_text("utf-8")
    where = r"rank 1 \(pod train-ranks-1-\S+ on node n[01]\)"
    assert re.search(rf"UNKNOWN train: {where} ended with exit code 75: rank 1 was killed by signal 9", said), said
    assert stack.labels() == {"n0": "unknown", "n1": "unknown"}


@pytest.mark.soak
def test_a_hang_ends_by_its_deadline(stack: GateStack, tmp_path: Path) -> None:
    write(stack, run=4, max_size="64M", benchmark_minutes=0.2)
    log = tmp_path / "up.log"
    up = stack.start(log)
    send(measuring(stack)[1], signal.SIGSTOP)
    assert up.wait(timeout=120) != 0
    assert "the benchmark did not end within 12 s and was stopped" in log.read_text("utf-8")


def test_an_image_without_torch_is_named_so(workers: LocalCluster, stack: GateStack) -> None:
    write(stack, run=5, rank_image=workers.image)
    failed = stack.up()
    assert failed.returncode != 0
    said = [line for line in failed.stdout.splitlines() if "UNKNOWN train:" in line]
    assert said, failed.stdout
    assert "the image has no torch for its python3" in said[0]
