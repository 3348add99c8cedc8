"""The second collective: an all_gather beside the all_reduce, where two nodes could hide a lost rail."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gpufabric.hardware import find_baseline, nccl_tests_program
from gpufabric.plan.benchmark import Benchmark, program
from gpufabric.plan.fabric import GroupAccelerators, GroupFabric
from gpufabric.plan.images import rank_image
from gpufabric.plan.model import GroupPlan
from gpufabric.spec import NodeGroupSpec, Problem, ValidationSpec, size_bytes
from gpufabric.validation.also_wish import Also

COLLECTIVE = "all_gather"
_PATH = "validation.floor_all_gather_gbytes_per_s"


@dataclass(frozen=True, slots=True)
class AlsoRun:
    """What is run after the group's first benchmark, and what it is held to."""

    command: str
    wish: Also


def plan_also(
    group: NodeGroupSpec, accelerators: GroupAccelerators, fabric: GroupFabric, wish: ValidationSpec, benchmark: Benchmark
) -> AlsoRun | None:
    """The second collective, or None where it would tell nothing more.

    Between two nodes NCCL reduces inside each (NVLS, tree), so that 480 GB/s of all_reduce take about half of that on the wire
    and 3 of 8 rails can be lost unseen (ml-engineering; nccl issue 1017). An all_gather has nothing to reduce.
    """
    if benchmark.backend != "nccl" or fabric.tier != "best" or group.nodes != 2 or benchmark.ranks_per_node == 1:
        return None
    floor, source = wish.floor_all_gather_gbytes_per_s, "given in the spec"
    if floor is None:
        row = find_baseline(
            fabric=fabric.name,
            accelerator=accelerators.accelerator.name,
            per_node=accelerators.count,
            nodes=group.nodes,
            collective=COLLECTIVE,
        )
        known = row is not None and size_bytes(row.size) == benchmark.max_bytes
        floor = row.floor_busbw_gbytes_per_s if row and known else None
        source = f"from the baseline table: {row.provenance}" if row and known else ""
    run = replace(benchmark, base=nccl_tests_program(rank_image(fabric, wish), COLLECTIVE))
    return AlsoRun(program(run, run, iterations=20, warmup=5, budget_s=4.0), Also(COLLECTIVE, floor, source))


def unused_floor_problems(wish: ValidationSpec, plans: Iterable[GroupPlan]) -> list[Problem]:
    """A floor for an all_gather that no group runs."""
    if wish.floor_all_gather_gbytes_per_s is None or any(plan.gate.gate.expectation.also for plan in plans):
        return []
    reason = (
        "no group runs an all_gather: that takes backend nccl, GPUDirect or RDMA, exactly 2 nodes and more than one GPU in each"
    )
    return [Problem(_PATH, reason, "leave it out")]
