"""All-reduce over MPI on CPUs, printed in nccl-tests' grammar: what the gate runs where there is no GPU.

    mpirun -np N … python3 -m gpufabric.validation.mpi_allreduce -b 1K -e 16M -f 4

float32 sum. The data depends on rank and index and every sum is exact in float32, so each wrong element is seen and counted
on every rank. `--seconds-per-size` lowers the number of iterations on slow links, it never drops a size. Exit 0 fine, 1 wrong
sums, 2 usage.
"""

import argparse
import functools
import importlib
import os
import socket
import sys
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

FLOAT_BYTES: Final = 4
PERIOD: Final = 1021
"""Length of the data's pattern; a prime, so that data shifted by a power of two does not look right."""
_TILE: Final = 64
_HEADER: Final = (
    "#",
    f"# {'':>54}  {'out-of-place':^36}  {'in-place':^36}",
    f"# {'size':>12} {'count':>12} {'type':>8} {'redop':>6} {'root':>6}"
    + f"  {'time':>10} {'algbw':>9} {'busbw':>9} {'#wrong':>6}" * 2,
    f"# {'(B)':>12} {'(elements)':>12} {'':>8} {'':>6} {'':>6}" + f"  {'(us)':>10} {'(GB/s)':>9} {'(GB/s)':>9} {'':>6}" * 2,
)


class Ranks(Protocol):
    """The part of a communicator that is used here."""

    rank: int
    size: int

    def barrier(self) -> None: ...
    def all_reduce(self, source: "array[float] | None", target: "array[float]") -> None:
        """Sum over ranks into target; source None = in place."""

    def most(self, value: float) -> float: ...
    def total(self, value: int) -> int: ...
    def gather(self, value: Any) -> list[Any]:
        """The values of all ranks on rank 0; elsewhere empty."""


@dataclass(frozen=True)
class Options:
    """Sizes in bytes (multiples of 4); `iterations` and `warmup` per side; `seconds_per_size` for both sides together."""

    min_bytes: int
    max_bytes: int
    factor: int
    iterations: int
    warmup: int
    seconds_per_size: float


@dataclass(frozen=True)
class Result:
    """One side of one size: time of one all-reduce (the slowest rank's), and wrong elements over all ranks."""

    size_bytes: int
    time_us: float
    wrong: int
    ranks: int

    @property
    def algbw_gbytes_per_s(self) -> float:
        return self.size_bytes / self.time_us / 1e3

    @property
    def busbw_gbytes_per_s(self) -> float:
        return self.algbw_gbytes_per_s * 2 * (self.ranks - 1) / self.ranks

    def columns(self) -> str:
        """Four digits where nccl-tests prints two: the links of a test cluster are slow."""
        bandwidths = f"{self.algbw_gbytes_per_s:>9.4f} {self.busbw_gbytes_per_s:>9.4f}"
        return f"  {self.time_us:>10.2f} {bandwidths} {self.wrong:>6}"


def size_of(text: str) -> int:
    """`16M` -> 16777216: suffixes K, M, G (1024-based) as in nccl-tests."""
    shift = {"K": 10, "M": 20, "G": 30}.get(text[-1:].upper(), 0)
    digits = text[:-1] if shift else text
    if not (digits.isascii() and digits.isdigit()):
        raise argparse.ArgumentTypeError(f"not a size: {text!r} (a number of bytes, K, M or G may follow)")
    return int(digits) << shift


def options(arguments: Sequence[str]) -> Options:
    """The command line; on a mistake argparse prints the usage and exits with 2."""
    parser = argparse.ArgumentParser(prog="mpi_allreduce", description="All-reduce over MPI, nccl-tests' columns.")
    parser.add_argument("-b", dest="min_bytes", type=size_of, default=size_of("1K"), help="smallest size")
    parser.add_argument("-e", dest="max_bytes", type=size_of, default=size_of("16M"), help="largest size")
    parser.add_argument("-f", dest="factor", type=int, default=4, help="step between sizes")
    parser.add_argument("-n", dest="iterations", type=int, default=20, help="timed iterations at most")
    parser.add_argument("-w", dest="warmup", type=int, default=1, help="iterations before, not timed")
    parser.add_argument("--seconds-per-size", type=float, default=1.0, help="budget that lowers -n and -w")
    out = Options(**vars(parser.parse_args(arguments)))
    for wrong, says in (
        (out.min_bytes < FLOAT_BYTES or out.min_bytes % FLOAT_BYTES, "-b must be a multiple of 4 bytes"),
        (out.max_bytes < out.min_bytes, "-e must not be below -b"),
        (out.factor < 2, "-f must be at least 2"),
        (out.iterations < 1 or out.warmup < 1, "-n and -w must be at least 1"),
        (not out.seconds_per_size > 0, "--seconds-per-size must be above 0"),
    ):
        if wrong:
            parser.error(says)
    return out


def pattern(rank: int) -> "array[float]":
    """One period of a rank's data: whole numbers below 1021, different for every rank and index."""
    return array("f", [(index * (rank % 7 + 1) + 31 * rank) % PERIOD for index in range(PERIOD)])


def filled(period: "array[float]", count: int) -> "array[float]":
    """`count` elements that repeat the period."""
    whole = period * (count // PERIOD + 1)
    return whole[:count]


@functools.cache
def sums(ranks: int) -> "array[float]":
    """One period of the right result. Exact in float32 while ranks x 1021 < 2^24, that is up to 16,000 ranks."""
    totals = [0.0] * PERIOD
    for rank in range(ranks):
        totals = [total + value for total, value in zip(totals, pattern(rank), strict=True)]
    return array("f", totals)


def wrong_elements(got: "array[float]", right: "array[float]") -> int:
    """How many elements differ from the repeated period `right` (nan differs from everything)."""
    tile = right * _TILE
    wanted, whole, wrong = memoryview(tile).cast("B"), memoryview(got).cast("B"), 0
    for start in range(0, len(got), len(tile)):
        part = got[start : start + len(tile)]
        if whole[start * FLOAT_BYTES : (start + len(part)) * FLOAT_BYTES] != wanted[: len(part) * FLOAT_BYTES]:
            wrong += sum(1 for one, other in zip(part, tile, strict=False) if one != other)
    return wrong


def measure(ranks: Ranks, size_bytes: int, wanted: Options, *, in_place: bool) -> Result:
    """One side of one size. The first all-reduce is checked and sets the number of iterations for all ranks alike."""
    count = size_bytes // FLOAT_BYTES
    data, right = filled(pattern(ranks.rank), count), sums(ranks.size)
    source, target = (None, data) if in_place else (data, array("f", bytes(size_bytes)))

    def run(times: int) -> float:
        ranks.barrier()
        begin = time.perf_counter()
        for _ in range(times):
            ranks.all_reduce(source, target)
        return ranks.most(time.perf_counter() - begin) / times

    once = run(1)
    wrong = wrong_elements(target, right)
    afford = int(wanted.seconds_per_size / 2 / max(once, 1e-7))
    if min(wanted.warmup - 1, afford) > 0:
        run(min(wanted.warmup - 1, afford))
    seconds = run(max(1, min(wanted.iterations, afford)))
    if not in_place:  # in place the sums have been summed again: only the first result can be checked
        wrong = max(wrong, wrong_elements(target, right))
    return Result(size_bytes, seconds * 1e6, ranks.total(wrong), ranks.size)


def benchmark(ranks: Ranks, wanted: Options) -> int:
    """The whole run; rank 0 prints. Returns the exit code."""

    def say(line: str) -> None:
        if ranks.rank == 0:
            print(line, flush=True)

    say("# gpufabric mpi_allreduce version 1 (nccl-tests grammar)")
    say("# Collective test starting: all_reduce")
    say(
        f"# nThread 1 nGpus 0 minBytes {wanted.min_bytes} maxBytes {wanted.max_bytes} step: {wanted.factor}(factor) "
        f"warmup iters: {wanted.warmup} iters: {wanted.iterations} agg iters: 1 validation: 1 graph: 0"
    )
    say("#\n# Using devices")
    for rank, (pid, host) in enumerate(ranks.gather((os.getpid(), socket.gethostname()))):
        say(f"#  Rank {rank:>2} Group  0 Pid {pid:>6} on {host:>10} device  0 [cpu] CPU")
    for line in _HEADER:
        say(line)
    results: list[Result] = []
    size = wanted.min_bytes
    while size <= wanted.max_bytes:
        sides = [measure(ranks, size, wanted, in_place=in_place) for in_place in (False, True)]
        count = size // FLOAT_BYTES
        say(f"  {size:>12} {count:>12} {'float':>8} {'sum':>6} {-1:>6}" + "".join(side.columns() for side in sides))
        results += sides
        size *= wanted.factor
    wrong = sum(result.wrong for result in results)
    say(f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}")
    say(f"# Avg bus bandwidth    : {sum(result.busbw_gbytes_per_s for result in results) / len(results):g}")
    say("#\n# Collective test concluded: all_reduce")
    return 1 if wrong else 0


class MpiRanks:
    """mpi4py's world as `Ranks`."""

    def __init__(self, mpi: Any) -> None:
        self.mpi, self.world = mpi, mpi.COMM_WORLD
        self.rank, self.size = int(self.world.Get_rank()), int(self.world.Get_size())

    def barrier(self) -> None:
        self.world.Barrier()

    def all_reduce(self, source: "array[float] | None", target: "array[float]") -> None:
        self.world.Allreduce(self.mpi.IN_PLACE if source is None else source, target)

    def most(self, value: float) -> float:
        return float(self.world.allreduce(value, self.mpi.MAX))

    def total(self, value: int) -> int:
        return int(self.world.allreduce(value, self.mpi.SUM))

    def gather(self, value: Any) -> list[Any]:
        return list(self.world.gather(value) or [])


def main(arguments: Sequence[str]) -> int:
    """Run under mpirun. A rank that fails takes the others down with it: they would wait for it for ever."""
    wanted = options(arguments)
    mpi: Any = importlib.import_module("mpi4py.MPI")  # starts MPI: only after the arguments are known to be right
    try:
        return benchmark(MpiRanks(mpi), wanted)
    except Exception as error:  # noqa: BLE001
        print(f"# error: rank {mpi.COMM_WORLD.Get_rank()} on {socket.gethostname()}: {error!r}", file=sys.stderr, flush=True)
        mpi.COMM_WORLD.Abort(1)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
