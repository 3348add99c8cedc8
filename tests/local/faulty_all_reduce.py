#!/usr/bin/python3
"""Stands in for nccl-tests' all_reduce_perf where there is no GPU: a real all-reduce over MPI, with one fault on demand.

Goes into a test's image as all_reduce_perf. The measurement is the gate's own (its programs are mounted in every rank), so that
a healthy run really passes and a fault is a fault of the run, not of a printed text. $FAULT: see FAULTS.
"""

import importlib
import os
import signal
import sys
from array import array

from gpufabric.validation import mpi_allreduce, sweep

FAULTS = {
    "": "none",
    "sockets": "NCCL's log says that it fell back to sockets",
    "sums": "one element of every sum is wrong on the last rank",
    "independent": "each process is a job of its own with one rank, as nccl-tests built without MPI; all exit 0",
    "missing": "the last rank leaves before the run; the others measure without it and exit 0",
    "truncated": "the output ends after the first row; exit 0",
    "crash": "the last rank is killed at the largest size, as by the kernel for want of memory",
}
_NOT_OURS = ("-g", "-c")  # GPUs per process and checks: nccl-tests' options without a meaning here


class Faulty(mpi_allreduce.MpiRanks):
    """The world with a fault in it."""

    def __init__(self, mpi: object, fault: str, largest_bytes: int) -> None:
        super().__init__(mpi)
        self.fault, self.largest_bytes, self.last = fault, largest_bytes, self.rank == self.size - 1
        if fault == "independent":
            self.world, self.rank, self.size = self.mpi.COMM_SELF, 0, 1
        if fault == "missing":
            self.world = self.world.Split(int(self.last), self.rank)
            self.size = int(self.world.Get_size())

    def all_reduce(self, source: "array[float] | None", target: "array[float]") -> None:
        if self.fault == "crash" and self.last and len(target) * sweep.FLOAT_BYTES == self.largest_bytes:
            os.kill(os.getpid(), signal.SIGKILL)
        super().all_reduce(source, target)
        if self.fault == "sums" and self.last:
            target[len(target) // 2] += 1.0


class FirstRow:
    """Standard output that loses everything after the first row of the table."""

    def __init__(self) -> None:
        self.rows = 0

    def write(self, text: str) -> int:
        if self.rows < 1:
            sys.__stdout__.write(text)  # type: ignore[union-attr]
        self.rows += text.lstrip()[:1].isdigit()
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
    ranks = Faulty(mpi, fault, wanted.max_bytes)
    if fault == "missing" and ranks.last:
        return 0
    if ranks.rank == 0:
        network = "Socket" if fault == "sockets" else "IB"
        print(f"{os.uname().nodename}:1:1 [0] NCCL INFO Using network {network}", flush=True)
    if fault == "truncated":
        sys.stdout = FirstRow()
    return sweep.benchmark(ranks, wanted, mpi_allreduce.NAME)


if __name__ == "__main__":
    assert os.environ.get("FAULT", "") in FAULTS
    sys.exit(main())
