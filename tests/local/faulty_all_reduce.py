#!/usr/bin/python3
"""Stands in for nccl-tests' all_reduce_perf where there is no GPU: a real all-reduce over MPI, with one fault on demand.

Goes into a test's image as all_reduce_perf. The measurement is the gate's own (its programs are mounted in every rank), so that
a healthy run really passes and a fault is a fault of the run, not of a printed text. $FAULT: see FAULTS. $FAULT_SEED: which
rank it hits, and when (Chosen); the test that set it knows what to expect.
"""

import importlib
import os
import random
import signal
import sys
from array import array
from dataclasses import dataclass

from gpufabric.validation import mpi_allreduce, sweep

FAULTS = {
    "": "none",
    "sockets": "NCCL's log of one rank says that it fell back to sockets",
    "sums": "one element of one size's sums is wrong on one rank",
    "independent": "each process is a job of its own with one rank, as nccl-tests built without MPI; all exit 0",
    "missing": "one rank leaves before the run; the others measure without it and exit 0",
    "truncated": "the output ends after some rows; exit 0",
    "crash": "one rank is killed at one size, as by the kernel for want of memory",
}
_NOT_OURS = ("-g", "-c")  # GPUs per process and checks: nccl-tests' options without a meaning here


@dataclass(frozen=True)
class Chosen:
    """What a seed chooses: the rank that is hit, the size at which it is, the rows after which an output ends."""

    rank: int
    size_bytes: int
    rows: int

    @staticmethod
    def by(seed: int, ranks: int, min_bytes: int, max_bytes: int, factor: int) -> "Chosen":
        """The same here and in the test. The rows may be all of them: then the end of the output is missing alone."""
        sizes = [min_bytes]
        while sizes[-1] * factor <= max_bytes:
            sizes.append(sizes[-1] * factor)
        throw = random.Random(seed)  # noqa: S311 - a seed, not a secret
        return Chosen(throw.randrange(ranks), throw.choice(sizes), throw.randint(0, len(sizes)))


class Faulty(mpi_allreduce.MpiRanks):
    """The world with a fault in it."""

    def __init__(self, mpi: object, fault: str, wanted: sweep.Options) -> None:
        super().__init__(mpi)
        seed = int(os.environ.get("FAULT_SEED", "0"))
        self.chosen = Chosen.by(seed, self.size, wanted.min_bytes, wanted.max_bytes, wanted.factor)
        self.fault, self.hit, self.number = fault, self.rank == self.chosen.rank, self.rank
        if fault == "independent":
            self.world, self.rank, self.size = self.mpi.COMM_SELF, 0, 1
        if fault == "missing":
            self.world = self.world.Split(int(self.hit), self.rank)
            self.rank, self.size = int(self.world.Get_rank()), int(self.world.Get_size())

    def all_reduce(self, source: "array[float] | None", target: "array[float]") -> None:
        hit = self.hit and len(target) * sweep.FLOAT_BYTES == self.chosen.size_bytes
        if self.fault == "crash" and hit:
            os.kill(os.getpid(), signal.SIGKILL)
        super().all_reduce(source, target)
        if self.fault == "sums" and hit:
            target[len(target) // 2] += 1.0


class FirstRows:
    """Standard output that loses everything after some rows of the table."""

    def __init__(self, most: int) -> None:
        self.rows, self.most, self.ended = 0, most, False

    def write(self, text: str) -> int:
        if text.strip():
            row = text.lstrip()[:1].isdigit()
            self.ended = self.ended or (self.rows == self.most and (row or self.rows > 0))
            self.rows += row
        if not self.ended:
            sys.__stdout__.write(text)  # type: ignore[union-attr]
        return len(text)

    def flush(self) -> None:
        sys.__stdout__.flush()  # type: ignore[union-attr]


def main() -> int:
    """Every rank's part; the exit code."""
    mpi = importlib.import_module("mpi4py.MPI")  # of the image
    fault = os.environ.get("FAULT", "")
    given = sys.argv[1:]
    ours = [text for at, text in enumerate(given) if text not in _NOT_OURS and (at == 0 or given[at - 1] not in _NOT_OURS)]
    wanted = mpi_allreduce.options(ours)
    ranks = Faulty(mpi, fault, wanted)
    if fault == "missing" and ranks.hit:
        return 0
    network = "Socket" if fault == "sockets" and ranks.hit else "IB"
    print(f"{os.uname().nodename}:1:1 [{ranks.number}] NCCL INFO Using network {network}", flush=True)
    if fault == "truncated":
        sys.stdout = FirstRows(ranks.chosen.rows)
    return sweep.benchmark(ranks, wanted, mpi_allreduce.NAME)


if __name__ == "__main__":
    assert os.environ.get("FAULT", "") in FAULTS
    sys.exit(main())
