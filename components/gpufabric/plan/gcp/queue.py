"""The queue in front of node pools: over nodes that are there, or asking for queued ones when the turn of a job comes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpufabric.plan.gcp.model import GkeNodePoolPlan
from gpufabric.plan.queue import shared_name_problems
from gpufabric.spec import Problem, SchedulerSpec


def scheduler_problems(scheduler: SchedulerSpec, groups: Sequence[GkeNodePoolPlan]) -> Iterator[Problem]:
    """Capacity that no queue can give out, and a name for several queues."""
    yield from shared_name_problems(scheduler, len(groups))
    for position, group in enumerate(groups):
        if group.capacity.flex_start:
            reason = f"the nodes of {group.name} come for pods that wait, and a queue lets none wait before they are there"
            fix = "write kind: queued, for which the queue asks, or leave scheduler out"
            yield Problem(f"node_groups[{position}].capacity.kind", reason, fix)


def queued(group: GkeNodePoolPlan, scheduler: SchedulerSpec) -> GkeNodePoolPlan:
    """The group with its queue, as gate and jobs see it; without one where none can be, which is said elsewhere."""
    if group.capacity.flex_start:
        return group
    keys = scheduler.model_dump(exclude_unset=True)
    if group.capacity.queued:
        lives = {"max_run_seconds": group.capacity.max_run_s} if group.capacity.max_run_s else {}
        keys["provisioning"] = {"kind": "gke_queued", **lives}
    return replace(group, gate_keys={**group.gate_keys, "scheduler": keys})
