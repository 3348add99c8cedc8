"""What the gate runs, by backend: the program, its sizes, its ranks, and the floor it is held to."""

from dataclasses import dataclass, replace
from typing import Protocol

from gpufabric.hardware import Baseline, find_baseline, most_nodes_known, nccl_tests_program
from gpufabric.plan.fabric import GroupAccelerators, GroupFabric
from gpufabric.plan.images import rank_image
from gpufabric.plan.model import Floor
from gpufabric.spec import NodeGroupSpec, Problem, ValidationSpec, size_bytes

COLLECTIVE = "all_reduce"
DEFAULT_GPU_SIZE = "8G"
DEFAULT_CPU_SIZE = "64M"


class Sizes(Protocol):
    """The sizes of a sweep, bytes; they grow by ``factor``."""

    @property
    def min_bytes(self) -> int: ...
    @property
    def max_bytes(self) -> int: ...
    @property
    def factor(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One sweep. ``base``: its program with what does not depend on sizes; ``command`` is empty where rank.sh knows it.

    The largest size is judged. ``on_gpus``: NCCL moves the data, and says how.
    """

    backend: str
    base: str
    command: str
    ranks_per_node: int
    min_bytes: int
    max_bytes: int
    factor: int
    on_gpus: bool
    transport_regex: str | None


def decide_benchmark(
    group: NodeGroupSpec, accelerators: GroupAccelerators, fabric: GroupFabric, wish: ValidationSpec, path: str
) -> Benchmark | Problem:
    """The benchmark for a group. A backend that could not prove the fabric is a problem, never a weaker proof."""
    on_gpus = accelerators.count > 0 and wish.backend != "mpi"
    if wish.backend == "nccl" and not on_gpus:
        return Problem("validation.backend", f"nccl needs GPUs; {path} has accelerators: cpu", "write mpi, or torch")
    if group.network_tier == "best" and not on_gpus:
        means = "mpi" if wish.backend == "mpi" else "torch without GPUs (gloo)"
        reason = f"{means} measures TCP between CPUs and proves nothing about {fabric.name} ({path}.network_tier: best)"
        return Problem("validation.backend", reason, "write nccl, or network_tier: standard for the group")
    max_bytes = size_bytes(wish.max_size or (_default_size(group, accelerators, fabric) if on_gpus else DEFAULT_CPU_SIZE))
    base = {
        "nccl": nccl_tests_program(rank_image(fabric, wish), COLLECTIVE),
        "mpi": "python3 -m gpufabric.validation.mpi_allreduce",
        "torch": f"python3 -m gpufabric.validation.torch_launch --device {'cuda' if on_gpus else 'cpu'}",
    }[wish.backend]
    found = Benchmark(
        backend=wish.backend,
        base=base,
        command="",
        ranks_per_node=accelerators.count if on_gpus else 1,
        min_bytes=min(8 << 20, max_bytes) if on_gpus else 1 << 10,
        max_bytes=max_bytes,
        factor=2 if on_gpus else 4,
        on_gpus=on_gpus,
        transport_regex=fabric.transport_regex if on_gpus else None,
    )
    if wish.backend == "mpi":
        return found
    warmup, budget_s = (5, 4.0) if on_gpus else (1, 1.0)
    return replace(found, command=program(found, found, iterations=20, warmup=warmup, budget_s=budget_s))


def program(benchmark: Benchmark, sizes: Sizes, *, iterations: int, warmup: int, budget_s: float) -> str:
    """The command line of a sweep. ``budget_s``: seconds per size, by which our own programs lower the iterations."""
    of_backend = "-g 1 -c 1" if benchmark.backend == "nccl" else f"--seconds-per-size {budget_s:g}"
    sweep = f"-b {sizes.min_bytes} -e {sizes.max_bytes} -f {sizes.factor}"
    return f"{benchmark.base} {sweep} {of_backend} -n {iterations} -w {warmup}"


def _default_size(group: NodeGroupSpec, accelerators: GroupAccelerators, fabric: GroupFabric) -> str:
    """The size that the baseline of this hardware was measured at, else one at which every fabric is at its full rate."""
    found = _baseline(group, accelerators, fabric)
    return found.size if found else DEFAULT_GPU_SIZE


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
    # The table holds figures of nccl-tests and of a torch script (ml-engineering): torch calls the same NCCL, and between GPUs
    # its own share of a message of gigabytes is microseconds. It holds nothing of gloo and MPI.
    of_nccl = not isinstance(benchmark, Benchmark) or benchmark.on_gpus
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
