"""Stage 1: what every node measures among its own ranks before any network run, and what it is held to."""

from dataclasses import dataclass

from gpufabric.hardware import find_baseline
from gpufabric.plan.benchmark import COLLECTIVE, Benchmark, program
from gpufabric.plan.fabric import GroupAccelerators, GroupFabric
from gpufabric.spec import NodeGroupSpec, Problem, ValidationSpec, size_bytes
from gpufabric.validation.inside_wish import Inside

# A hang ends here. On GPUs most of the time goes into the communicator and the comparison of sums (ours, generous).
_GPU_SECONDS = 120
_CPU_SECONDS = 60
_GPU_SIZE = 1 << 30  # where no baseline asks for a size: large enough for the sums of every GPU's memory to mean something
_CPU_SIZES = (1 << 10, 1 << 20, 32)  # two processes and loopback: a second


@dataclass(frozen=True, slots=True)
class InsideRun:
    """The stage of one group: what is run, and what it is held to. Both go into the rank Job and into gate.json."""

    command: str
    wish: Inside


def plan_inside(
    group: NodeGroupSpec, accelerators: GroupAccelerators, fabric: GroupFabric, wish: ValidationSpec, benchmark: Benchmark
) -> InsideRun | None:
    """The stage, or None: one GPU has nobody in its node to sum with; of a group of one node the group's run is the stage."""
    ranks = accelerators.count if benchmark.on_gpus else 0  # MPI measures CPUs, also on nodes that have GPUs
    if group.nodes == 1 or ranks == 1:
        return None
    if not ranks:
        low, high, factor = _CPU_SIZES
        found = Inside(
            ranks=2,
            min_bytes=low,
            max_bytes=high,
            factor=factor,
            seconds=_CPU_SECONDS,
            what="2 CPU processes of one node over loopback",
        )
        return InsideRun(program(benchmark, found, iterations=5, warmup=1, budget_s=0.05), found)
    row = find_baseline(
        fabric=fabric.name, accelerator=accelerators.accelerator.name, per_node=ranks, nodes=1, collective=COLLECTIVE
    )
    known = row is not None and size_bytes(row.size) <= benchmark.max_bytes  # a smaller sweep may be all that the memory holds
    size = size_bytes(row.size) if row and known else min(_GPU_SIZE, benchmark.max_bytes)
    floor = row.floor_busbw_gbytes_per_s if row and known else None
    source = f"from the baseline table: {row.provenance}" if row and known else ""
    if floor is not None and wish.floor_gbytes_per_s is not None and wish.floor_gbytes_per_s < floor:
        floor, source = wish.floor_gbytes_per_s, "given in the spec, less than the table's for one node"
    found = Inside(
        ranks=ranks,
        min_bytes=size,
        max_bytes=size,
        factor=2,
        seconds=_GPU_SECONDS,
        what=f"{ranks} GPUs of one node",
        floor_busbw_gbytes_per_s=floor,
        floor_source=source,
        on_gpus=True,
    )
    return InsideRun(program(benchmark, found, iterations=10, warmup=3, budget_s=2), found)


def kept_problems(wish: ValidationSpec) -> list[Problem]:
    """A stack that says what its controller may do, and asks for none."""
    if not wish.single_node_ok or wish.keep:
        return []
    reason = "it says what the controller may do, and no controller is kept"
    return [Problem("validation.single_node_ok", reason, "write keep: true too, or leave it out")]


def single_node_problems(group: NodeGroupSpec, wish: ValidationSpec, stage: InsideRun | None, path: str) -> list[Problem]:
    """What must be so before a late node may be opened alone."""
    if not wish.single_node_ok or stage is not None:
        return []
    alone = "of a single node no other could be late" if group.nodes == 1 else "one GPU has nobody in its node to sum with"
    reason = f"nothing is measured inside a node of {path}: {alone}"
    return [Problem("validation.single_node_ok", reason, "leave it out")]
