"""A queue in front of node pools: queued ones are asked for, others wait for the verdict, flex-start cannot be queued."""

from typing import Any

import pytest

from gpufabric.plan.gcp import GkeNodePoolPlan
from tests.plan.gcp.wishes import ULTRA, plan_of, says

KUEUE = {"kind": "kueue"}


def stack(*kinds: str, **more: Any) -> dict[str, Any]:
    groups = [
        {"name": f"g{position}", "machine_type": "a3-ultragpu-8g", "nodes": 2, "capacity": {"kind": kind}}
        for position, kind in enumerate(kinds)
    ]
    return {**ULTRA, "node_groups": groups, "scheduler": {**KUEUE, **more}}


def test_queued_nodes_are_asked_for_and_others_wait_for_the_verdict() -> None:
    queued, there = plan_of(stack("queued", "on_demand")).groups
    assert queued.queue is not None
    assert there.queue is not None
    assert queued.queue.check is not None
    assert there.queue.check is None
    assert queued.queue.flavor_spec["nodeLabels"] == {"gpufabric.dev/node-group": "g0"}
    assert there.queue.flavor_spec["nodeLabels"]["gpufabric.dev/validated"] == "pass"
    keys = {each["key"] for each in queued.queue.flavor_spec["tolerations"]}
    assert keys == {"nvidia.com/gpu", "cloud.google.com/gke-queued"}, "what such nodes are tainted with"


def test_nodes_live_as_long_as_the_capacity_says() -> None:
    raw = stack("queued")
    raw["node_groups"][0]["capacity"]["max_run_seconds"] = 86400
    (group,) = plan_of(raw).groups
    assert group.queue is not None
    assert group.queue.check is not None
    assert group.queue.check.config_spec["parameters"] == {"maxRunDurationSeconds": "86400"}


def test_without_a_scheduler_there_is_no_queue() -> None:
    (pool,) = plan_of({**stack("queued"), "scheduler": None}).node_groups
    assert isinstance(pool, GkeNodePoolPlan)
    assert "scheduler" not in pool.gate_keys


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (
            stack("flex_start"),
            [
                (
                    "node_groups[0].capacity.kind: the nodes of g0 come for pods that wait, and a queue lets none wait before "
                    "they are there; write kind: queued, for which the queue asks, or leave scheduler out"
                )
            ],
        ),
        (
            stack("queued", topology_levels=["cloud.google.com/gce-topology-block"]),
            [
                (
                    "scheduler.topology_levels: the nodes of g0 are not there yet when a job is admitted, and nobody can "
                    "choose among them; leave it out"
                )
            ],
        ),
        (
            stack("queued", "queued", queue="jobs"),
            [
                (
                    "scheduler.queue: one name for the queues of 2 groups; leave it out, or write a scheduler of its own into "
                    "each group"
                )
            ],
        ),
    ],
)
def test_what_no_queue_can_give_out_is_said(raw: dict[str, Any], lines: list[str]) -> None:
    assert says(raw) == lines
