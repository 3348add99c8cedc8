"""The controller's run of a whole group names nodes as the coordinator's does."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpufabric.validation import contract, gate_json
from gpufabric.validation.api import Api
from gpufabric.validation.controller import Controller
from gpufabric.validation.controller_metrics import Metrics
from tests.validation.fake_nodes import JOBS, QUICK, Nodes
from tests.validation.test_controller import OWNER


@pytest.fixture
def four(tmp_path: Path) -> Iterator[Nodes]:
    """Four nodes that nobody has validated."""
    made = Nodes(tmp_path)
    made.cluster.objects[JOBS + "train-gate"]["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    yield made
    made.cluster.close()


def controller_of(nodes: Nodes) -> Controller:
    gate = gate_json.parse(json.dumps(nodes.gate))
    api = Api(nodes.cluster.url, None, dict, sleep=lambda _: None)
    metrics = Metrics("train", time.time, 60)
    return Controller(api, gate, "train-controller", OWNER, pace=QUICK, metrics=metrics, busy_s=0.0)


def settle(controller: Controller) -> None:
    end = time.monotonic() + 20
    controller.look()
    while controller.runs:
        assert time.monotonic() < end
        time.sleep(0.01)
        controller.look()


def named(nodes: Nodes) -> list[tuple[str, list[str]]]:
    return [(each["kind"], each["nodes"]) for each in nodes.cluster.verdict()["findings"]]


@pytest.mark.parametrize("slow", [("n2",), ("n0", "n3")])
def test_it_names_the_nodes_that_a_coordinator_names(four: Nodes, slow: tuple[str, ...]) -> None:
    four.slow, four.together = slow, 0.007
    settle(controller_of(four))
    by_controller = (named(four), four.labels(), four.cluster.verdict()["outcome"])
    assert four.labels() == ["fail" if name in slow else "unknown" for name in four.names]
    assert not [at for at in four.cluster.objects if at.startswith(JOBS + "train-ranks")]
    owners = {each["metadata"]["ownerReferences"][0]["uid"] for each in four.created()}
    assert owners == {"pod-uid"}
    four.measured.clear()
    assert four.go()[0] == 2
    assert by_controller == (named(four), four.labels(), four.cluster.verdict()["outcome"])


def test_the_event_says_who_it_is(four: Nodes) -> None:
    four.slow, four.together = ("n2",), 0.007
    settle(controller_of(four))
    events = [each.body for each in four.cluster.asked("POST", "/namespaces/default/events")]
    said = {each["involvedObject"]["name"]: each["message"] for each in events if "stays closed" in each["message"]}
    assert "(Slow node: n2" in said["n2"]
    assert "not named: the group did not pass because of n2" in said["n0"]


def test_a_pass_needs_no_pairs(four: Nodes) -> None:
    settle(controller_of(four))
    assert four.labels() == ["pass"] * 4
    assert four.measured == []


def test_a_coordinator_that_comes_stops_the_search_and_keeps_its_own_job(four: Nodes) -> None:
    four.slow, four.together = ("n2",), 0.007
    own: dict[str, Any] = {"metadata": {"labels": contract.labels("train", "ranks"), "ownerReferences": [{"uid": "another"}]}}
    started: list[float] = []

    def come(cluster: Any) -> None:
        if not started:
            started.append(time.monotonic())
            cluster.objects[JOBS + "train-gate"] = {
                "metadata": {"name": "train-gate", "uid": "g", "labels": contract.labels("train", "coordinator")}
            }

    four.at_pair = come
    controller = controller_of(four)
    settle(controller)
    assert started
    assert four.labels() == [None] * 4, "its result does not count"
    assert controller.metrics.runs["group", "interrupted"] == 1
    four.cluster.kubelet = None
    four.cluster.put(JOBS + "train-ranks", own)
    controller.look()
    controller.stop()
    assert JOBS + "train-ranks" in four.cluster.objects
