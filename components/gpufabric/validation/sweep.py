"""All-reduce over growing messages, printed in nccl-tests' grammar. Who moves the data is given: MPI, or torch.

float32 sum. The data depends on rank and index and every sum is exact in float32, so each wrong element is seen and counted
on every rank. `--seconds-per-size` lowers the number of iterations on slow links, it never drops a size.

Runs in users' images too: nothing here needs more than Python 3.10.
"""

import argparse
import functools
import os
import socket
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

FLOAT_BYTES: Final = 4
PERIOD: Final = 1021
"""Length of the data's pattern; a prime, so that data shifted by a power of two does not look right."""
WRONG_SUMS: Final = 1
"""Exit code of a complete run with wrong sums; 0 is a fine one, 2 a usage."""
_HEADER: Final = (
    "#",
    f"# {'':>54}  {'out-of-place':^36}  {'in-place':^36}",
    f"# {'size':>12} {'count':>12} {'type':>8} {'redop':>6} {'root':>6}"
    + f"  {'time':>10} {'algbw':>9} {'busbw':>9} {'#wrong':>6}" * 2,
    f"# {'(B)':>12} {'(elements)':>12} {'':>8} {'':>6} {'':>6}" + f"  {'(us)':>10} {'(GB/s)':>9} {'(GB/s)':>9} {'':>6}" * 2,
)


class Side(Protocol):
    """The data of one side of one size on this rank. `in_place`: an all-reduce leaves its sums where its input was."""

    in_place: bool

    def refill(self) -> None:
        """The input anew, where it was summed over."""

    def all_reduce(self) -> None:
        """Begin one sum over all ranks; `finish` waits for those begun."""

    def finish(self) -> None: ...
    def wrong(self) -> int:
        """How many elements differ from the right sums."""


class Ranks(Protocol):
    """The part of a communicator that is used here. `device`: its number, a word for its kind, its name, as they are listed."""

    rank: int
    size: int
    device: tuple[int, str, str]

    def side(self, count: int, *, in_place: bool) -> Side: ...
    def barrier(self) -> None: ...
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


def add_options(parser: argparse.ArgumentParser) -> None:
    """nccl-tests' letters, and the budget."""
    parser.add_argument("-b", dest="min_bytes", type=size_of, default=size_of("1K"), help="smallest size")
    parser.add_argument("-e", dest="max_bytes", type=size_of, default=size_of("16M"), help="largest size")
    parser.add_argument("-f", dest="factor", type=int, default=4, help="step between sizes")
    parser.add_argument("-n", dest="iterations", type=int, default=20, help="timed iterations at most")
    parser.add_argument("-w", dest="warmup", type=int, default=1, help="iterations before, not timed")
    parser.add_argument("--seconds-per-size", type=float, default=1.0, help="budget that lowers -n and -w")


def options(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> Options:
    """The options among what was parsed; on a mistake argparse prints the usage and exits with 2."""
    out = Options(**{name: getattr(parsed, name) for name in Options.__dataclass_fields__})
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


@functools.cache
def sums(ranks: int) -> "array[float]":
    """One period of the right result. Exact in float32 while ranks x 1021 < 2^24, that is up to 16,000 ranks."""
    totals = [0.0] * PERIOD
    for rank in range(ranks):
        totals = [total + value for total, value in zip(totals, pattern(rank), strict=True)]
    return array("f", totals)


def measure(ranks: Ranks, size_bytes: int, wanted: Options, *, in_place: bool) -> Result:
    """One side of one size. The first all-reduce is checked and sets the number of iterations for all ranks alike."""
    side = ranks.side(size_bytes // FLOAT_BYTES, in_place=in_place)

    def run(times: int) -> float:
        ranks.barrier()
        begin = time.perf_counter()
        for _ in range(times):
            side.all_reduce()
        side.finish()
        return ranks.most(time.perf_counter() - begin) / times

    once = run(1)
    wrong = side.wrong()
    afford = int(wanted.seconds_per_size / 2 / max(once, 1e-7))
    if min(wanted.warmup - 1, afford) > 0:
        run(min(wanted.warmup - 1, afford))
    seconds = run(max(1, min(wanted.iterations, afford)))
    if side.in_place:  # the sums have been summed again: one more, of fresh data, can be checked
        side.refill()
        run(1)
    wrong = max(wrong, side.wrong())
    return Result(size_bytes, seconds * 1e6, ranks.total(wrong), ranks.size)


def benchmark(ranks: Ranks, wanted: Options, name: str, notes: Sequence[str] = ()) -> int:
    """The whole run; rank 0 prints. Returns the exit code. `name`: the program's; `notes`: lines on what it runs with."""

    def say(line: str) -> None:
        if ranks.rank == 0:
            print(line, flush=True)

    number, kind, _ = ranks.device
    say(f"# gpufabric {name} version 1 (nccl-tests grammar)")
    for note in notes:
        say(f"# {note}")
    say("# Collective test starting: all_reduce")
    say(
        f"# nThread 1 nGpus {0 if kind == 'cpu' else 1} minBytes {wanted.min_bytes} maxBytes {wanted.max_bytes} "
        f"step: {wanted.factor}(factor) "
        f"warmup iters: {wanted.warmup} iters: {wanted.iterations} agg iters: 1 validation: 1 graph: 0"
    )
    say("#\n# Using devices")
    for rank, (pid, host, (number, kind, what)) in enumerate(ranks.gather((os.getpid(), socket.gethostname(), ranks.device))):
        say(f"#  Rank {rank:>2} Group  0 Pid {pid:>6} on {host:>10} device {number:>2} [{kind}] {what}")
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
    return WRONG_SUMS if wrong else 0
