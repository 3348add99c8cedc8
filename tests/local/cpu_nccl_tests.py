#!/usr/bin/python3
"""Stands in for nccl-tests where there is no GPU: real collectives between CPUs over MPI, in nccl-tests' grammar.

Goes into a test's image as all_reduce_perf and all_gather_perf. The network that it names is the one that NCCL would be told to
take, and only where a vendor's script has set what the test's script sets: without either, the gate sees sockets and fails.
"""

import importlib
import os
import sys
from array import array
from pathlib import Path
from typing import Any

from gpufabric.validation import mpi_allreduce, sweep

FROM_SCRIPT = "NCCL_FROM_THE_SCRIPT"
_NOT_OURS = ("-g", "-c")  # GPUs per process and checks: nccl-tests' options without a meaning here


class Gathered:
    """`sweep.Side`, but that every rank gets the parts of all: an all_gather."""

    in_place = False

    def __init__(self, ranks: "Gatherers", count: int) -> None:
        self.ranks, self.part = ranks, count // ranks.size
        self.mine = mpi_allreduce.filled(sweep.pattern(ranks.rank), self.part)
        self.target = array("f", bytes(self.part * ranks.size * sweep.FLOAT_BYTES))

    def refill(self) -> None:
        """The input stays what it was."""

    def all_reduce(self) -> None:
        self.ranks.world.Allgather(self.mine, self.target)

    def finish(self) -> None:
        """Each collective has ended when it returns."""

    def wrong(self) -> int:
        parts = [self.target[rank * self.part : (rank + 1) * self.part] for rank in range(self.ranks.size)]
        return sum(mpi_allreduce.wrong_elements(part, sweep.pattern(rank)) for rank, part in enumerate(parts))


class Gatherers(mpi_allreduce.MpiRanks):
    """The world, gathering: both halves of a row are measured out of place."""

    def side(self, count: int, *, in_place: bool) -> Any:
        return Gathered(self, count)


def gather(ranks: Gatherers, wanted: sweep.Options) -> int:
    """The sweep of an all_gather; rank 0 prints. The exit code."""
    rows, wrong, size = [], 0, wanted.min_bytes
    while size <= wanted.max_bytes:
        found = sweep.measure(ranks, size, wanted, in_place=False)
        busbw = found.algbw_gbytes_per_s * (ranks.size - 1) / ranks.size
        side = f"  {found.time_us:>10.2f} {found.algbw_gbytes_per_s:>9.4f} {busbw:>9.4f} {found.wrong:>6}"
        rows.append(f"  {size:>12} {size // sweep.FLOAT_BYTES:>12} {'float':>8} {'none':>6} {-1:>6}{side}{side}")
        wrong, size = wrong + found.wrong, size * wanted.factor
    listed = ranks.gather((os.getpid(), os.uname().nodename, ranks.device))
    if ranks.rank == 0:
        print("# Collective test starting: all_gather_perf\n# Using devices")
        for rank, (pid, host, (number, kind, what)) in enumerate(listed):
            print(f"#  Rank {rank:>2} Group  0 Pid {pid:>6} on {host:>10} device {number:>2} [{kind}] {what}")
        bounds = f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}"
        print("\n".join([*sweep._HEADER, *rows, bounds, "# Avg bus bandwidth    : 0"]), flush=True)
    return sweep.WRONG_SUMS if wrong else 0


def main() -> int:
    """Every rank's part; the exit code."""
    given = sys.argv[1:]
    ours = [text for at, text in enumerate(given) if text not in _NOT_OURS and (at == 0 or given[at - 1] not in _NOT_OURS)]
    wanted = mpi_allreduce.options(ours)
    mpi = importlib.import_module("mpi4py.MPI")  # of the image
    ranks = Gatherers(mpi) if "gather" in Path(sys.argv[0]).name else mpi_allreduce.MpiRanks(mpi)
    network = os.environ.get("NCCL_NET", "Socket") if FROM_SCRIPT in os.environ else "Socket"
    print(f"{os.uname().nodename}:1:1 [{ranks.rank}] NCCL INFO Using network {network}", flush=True)
    return gather(ranks, wanted) if isinstance(ranks, Gatherers) else sweep.benchmark(ranks, wanted, mpi_allreduce.NAME)


if __name__ == "__main__":
    sys.exit(main())
