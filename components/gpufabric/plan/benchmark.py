"""What the gate runs, by backend: the program, its sizes, its ranks, and the floor it is held to."""

from dataclasses import dataclass

from gpufabric.hardware import Baseline, all_reduce_program, find_baseline, most_nodes_known
from gpufabric.plan.fabric import GroupAccelerators, GroupFabric
from gpufabric.plan.images import rank_image
from gpufabric.plan.model import Floor
from gpufabric.spec import NodeGroupSpec, Problem, ValidationSpec, size_bytes

COLLECTIVE = "all_reduce"
DEFAULT_NCCL_SIZE = "8G"


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One sweep. ``command`` is empty for the gate's own benchmark; sizes grow by ``factor``; the largest is judged."""

    backend: str
    command: str
    ranks_per_node: int
    min_bytes: int
    max_bytes: int
    factor: int
    transport_regex: str | None


def decide_benchmark(
    group: NodeGroupSpec, accelerators: GroupAccelerators, fabric: GroupFabric, wish: ValidationSpec, path: str
) -> Benchmark | Problem:
    """The benchmark for a group. A backend that could not prove the fabric is a problem, never a weaker proof."""
    if wish.backend == "torch":
        return Problem("validation.backend", "torch is not built yet", "write nccl, or mpi for nodes without GPUs")
    if wish.backend == "mpi":
        if group.network_tier == "best":
            reason = f"mpi measures TCP between CPUs and proves nothing about {fabric.name} ({path}.network_tier: best)"
            return Problem("validation.backend", reason, "write nccl, or network_tier: standard for the group")
        return Benchmark(
            backend="mpi",
            command="",
            ranks_per_node=1,
            min_bytes=1 << 10,
            max_bytes=size_bytes(wish.max_size or "64M"),
            factor=4,
            transport_regex=None,
        )
    if not accelerators.count:
        return Problem("validation.backend", f"nccl needs GPUs; {path} has accelerators: cpu", "write mpi")
    max_bytes = size_bytes(wish.max_size or _default_size(group, accelerators, fabric))
    min_bytes = min(8 << 20, max_bytes)
    program = f"{all_reduce_program(rank_image(fabric, wish))} -b {min_bytes} -e {max_bytes} -f 2 -g 1 -c 1 -n 20 -w 5"
    return Benchmark(
        backend="nccl",
        command=program,
        ranks_per_node=accelerators.count,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        factor=2,
        transport_regex=fabric.transport_regex,
    )


def _default_size(group: NodeGroupSpec, accelerators: GroupAccelerators, fabric: GroupFabric) -> str:
    """The size that the baseline of this hardware was measured at, else one at which every fabric is at its full rate."""
    found = _baseline(group, accelerators, fabric)
    return found.size if found else DEFAULT_NCCL_SIZE


def _baseline(group: NodeGroupSpec, accelerators: GroupAccelerators, fabric: GroupFabric) -> Baseline | None:
    return find_baseline(
        fabric=fabric.name,
        accelerator=accelerators.accelerator.name,
        per_node=accelerators.count,
        nodes=group.nodes,
        collective=COLLECTIVE,
    )


def decide_floor(
    group: NodeGroupSpec,
    accelerators: GroupAccelerators,
    fabric: GroupFabric,
    wish: ValidationSpec,
    benchmark: Benchmark | Problem,
    *,
    path: str,
) -> Floor | Problem:
    """The floor: the user's, else the baseline of exactly this hardware; without one, the user must give it."""
    machine, per_node = accelerators.accelerator.name, accelerators.count
    of_nccl = not isinstance(benchmark, Benchmark) or benchmark.backend == "nccl"  # the table holds figures of nccl-tests
    found = _baseline(group, accelerators, fabric) if of_nccl else None
    same_size = found is not None and size_bytes(wish.max_size or found.size) == size_bytes(found.size)
    healthy = found.healthy_busbw_gbytes_per_s if found and same_size else None
    if wish.floor_gbytes_per_s is not None:
        return Floor(wish.floor_gbytes_per_s, "given in the spec", healthy)
    if found is None:
        reason = f"no baseline is known for {group.nodes} nodes of {accelerators} on {fabric.name} ({path})"
        most = most_nodes_known(fabric=fabric.name, accelerator=machine, per_node=per_node, collective=COLLECTIVE)
        if of_nccl and most:
            reason += f", only for up to {most}"
        fix = f"write the least {COLLECTIVE} bus bandwidth that you accept, in GB/s"
        return Problem("validation.floor_gbytes_per_s", reason, fix)
    if not same_size:
        reason = f"the baseline of {path} holds for messages of {found.size}, not of {wish.max_size}"
        return Problem("validation.max_size", reason, "leave it out, or give floor_gbytes_per_s for your size")
    return Floor(found.floor_busbw_gbytes_per_s, f"from the baseline table: {found.provenance}", healthy)
