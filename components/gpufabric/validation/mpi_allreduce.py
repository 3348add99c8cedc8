"""The sweep over MPI on CPUs: what the gate runs where there is no GPU.

    mpirun -np N … python3 -m gpufabric.validation.mpi_allreduce -b 1K -e 16M -f 4

Exit 0 fine, 1 wrong sums, 2 usage.
"""

import argparse
import importlib
import socket
import sys
from array import array
from collections.abc import Callable, Sequence
from typing import Any, Final

from gpufabric.validation import sweep
from gpufabric.validation.sweep import FLOAT_BYTES, PERIOD

NAME: Final = "mpi_allreduce"
CPU: Final = (0, "cpu", "CPU")
_TILE: Final = 64

Reduce = Callable[["array[float] | None", "array[float]"], None]
"""Sum over ranks into the second; the first None = in place."""


def filled(period: "array[float]", count: int) -> "array[float]":
    """`count` elements that repeat the period."""
    whole = period * (count // PERIOD + 1)
    return whole[:count]


def wrong_elements(got: "array[float]", right: "array[float]") -> int:
    """How many elements differ from the repeated period `right` (nan differs from everything)."""
    tile = right * _TILE
    wanted, whole, wrong = memoryview(tile).cast("B"), memoryview(got).cast("B"), 0
    for start in range(0, len(got), len(tile)):
        part = got[start : start + len(tile)]
        if whole[start * FLOAT_BYTES : (start + len(part)) * FLOAT_BYTES] != wanted[: len(part) * FLOAT_BYTES]:
            wrong += sum(1 for one, other in zip(part, tile, strict=False) if one != other)
    return wrong


class ArraySide:
    """`sweep.Side` over plain arrays in memory."""

    def __init__(self, reduce: Reduce, rank: int, size: int, count: int, *, in_place: bool) -> None:
        self.reduce, self.in_place, self.right = reduce, in_place, sweep.sums(size)
        self.source = filled(sweep.pattern(rank), count)
        self.target = array("f", self.source if in_place else bytes(count * FLOAT_BYTES))

    def refill(self) -> None:
        self.target[:] = self.source

    def all_reduce(self) -> None:
        self.reduce(None if self.in_place else self.source, self.target)

    def finish(self) -> None:
        """Each all-reduce has ended when it returns."""

    def wrong(self) -> int:
        return wrong_elements(self.target, self.right)


class MpiRanks:
    """mpi4py's world as `sweep.Ranks`."""

    def __init__(self, mpi: Any) -> None:
        self.mpi, self.world, self.device = mpi, mpi.COMM_WORLD, CPU
        self.rank, self.size = int(self.world.Get_rank()), int(self.world.Get_size())

    def side(self, count: int, *, in_place: bool) -> ArraySide:
        return ArraySide(self.all_reduce, self.rank, self.size, count, in_place=in_place)

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


def options(arguments: Sequence[str]) -> sweep.Options:
    """The command line; on a mistake argparse prints the usage and exits with 2."""
    parser = argparse.ArgumentParser(prog=NAME, description="All-reduce over MPI, nccl-tests' columns.")
    sweep.add_options(parser)
    return sweep.options(parser, parser.parse_args(arguments))


def main(arguments: Sequence[str]) -> int:
    """Run under mpirun. A rank that fails takes the others down with it: they would wait for it for ever."""
    wanted = options(arguments)
    mpi: Any = importlib.import_module("mpi4py.MPI")  # starts MPI: only after the arguments are known to be right
    try:
        return sweep.benchmark(MpiRanks(mpi), wanted, NAME)
    except Exception as error:  # noqa: BLE001
        print(f"# error: rank {mpi.COMM_WORLD.Get_rank()} on {socket.gethostname()}: {error!r}", file=sys.stderr, flush=True)
        mpi.COMM_WORLD.Abort(1)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
