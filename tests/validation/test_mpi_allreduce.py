"""The CPU benchmark: exact sums, counted errors, nccl-tests' grammar; over threads, and over real MPI where it is installed."""

import functools
import os
import random
import shutil
import subprocess
import sys
import threading
from array import array
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gpufabric.validation import mpi_allreduce, sweep, table
from gpufabric.validation.gate_json import Expectation
from gpufabric.validation.judge import judge
from gpufabric.validation.mpi_allreduce import CPU, ArraySide
from gpufabric.validation.sweep import Options, Ranks

SMALL = Options(1024, 65536, 4, iterations=3, warmup=2, seconds_per_size=1.0)
WANTED = Expectation("mpi", "all_reduce", 3, 1, 1024, 65536, 4, 1e-6, "a test")
Damage = Callable[[int, int, "array[float]"], None]


class Room:
    """Threads that play ranks: every call is an exchange of one value per rank."""

    def __init__(self, size: int, damage: Damage) -> None:
        self.size, self.damage, self.calls = size, damage, 0
        self.barrier = threading.Barrier(size, timeout=60)
        self.values: list[Any] = [None] * size

    def exchange(self, rank: int, value: Any) -> list[Any]:
        self.values[rank] = value
        self.barrier.wait()
        got = list(self.values)
        self.barrier.wait()
        return got


@dataclass
class Player:
    """One rank of a Room, as `Ranks`."""

    room: Room
    rank: int

    def __post_init__(self) -> None:
        self.size = self.room.size
        self.calls, self.device = 0, CPU

    def side(self, count: int, *, in_place: bool) -> ArraySide:
        return ArraySide(self.all_reduce, self.rank, self.size, count, in_place=in_place)

    def barrier(self) -> None:
        self.room.exchange(self.rank, None)

    def all_reduce(self, source: "array[float] | None", target: "array[float]") -> None:
        data = self.room.exchange(self.rank, array("f", target if source is None else source))
        for at, values in enumerate(zip(*data, strict=True)):
            target[at] = sum(values)
        self.room.damage(self.rank, self.calls, target)
        self.calls += 1

    def most(self, value: float) -> float:
        return float(max(self.room.exchange(self.rank, value)))

    def total(self, value: int) -> int:
        return sum(self.room.exchange(self.rank, value))

    def gather(self, value: Any) -> list[Any]:
        values = self.room.exchange(self.rank, value)
        return values if self.rank == 0 else []


def play(size: int, options: Options, damage: Damage = lambda *_: None) -> list[int]:
    room, codes = Room(size, damage), [-1] * size

    def one(rank: int) -> None:
        player: Ranks = Player(room, rank)
        codes[rank] = sweep.benchmark(player, options, mpi_allreduce.NAME)

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return codes


def test_output_is_the_grammar_and_passes(capfd: pytest.CaptureFixture[str]) -> None:
    assert play(3, SMALL) == [0, 0, 0]
    output = capfd.readouterr().out
    assert output.startswith("# gpufabric mpi_allreduce version 1")
    found = judge(output, WANTED, exit_code=0)
    assert (found.outcome, found.ranks) == ("pass", 3), found.reason
    parsed = table.parse(output)
    assert [row.size_bytes for row in parsed.rows] == [1024, 4096, 16384, 65536]
    assert (parsed.collective, parsed.min_bytes, parsed.max_bytes) == ("all_reduce", 1024, 65536)
    assert {len(line.split()) for line in output.splitlines() if " float " in line} == {13}


@pytest.mark.parametrize("rank", [0, 2])
def test_wrong_sums_are_counted_on_every_rank(capfd: pytest.CaptureFixture[str], rank: int) -> None:
    def damage(at: int, call: int, target: "array[float]") -> None:
        if at == rank:
            target[5] += 1
            target[-1] = float("nan")

    assert play(3, replace(SMALL, max_bytes=1024), damage) == [1, 1, 1]
    output = capfd.readouterr().out
    row = table.parse(output).rows[0]
    assert (row.out_of_place.wrong, row.in_place.wrong) == (2, 2)
    assert "# Out of bounds values : 4 FAILED" in output
    assert judge(output, replace(WANTED, max_bytes=1024), exit_code=1).outcome == "fail"


def test_an_error_in_a_later_iteration_is_seen(capfd: pytest.CaptureFixture[str]) -> None:
    def damage(at: int, call: int, target: "array[float]") -> None:
        if call == 4:  # the last timed one, out of place
            target[0] = 0.5

    play(2, replace(SMALL, max_bytes=1024), damage)
    assert table.parse(capfd.readouterr().out).rows[0].out_of_place.wrong == 2


def test_a_slow_link_costs_iterations_but_no_size(capfd: pytest.CaptureFixture[str]) -> None:
    calls: list[int] = []

    def damage(at: int, call: int, target: "array[float]") -> None:
        if at == 0:
            calls.append(len(target))

    play(2, replace(SMALL, iterations=1000, seconds_per_size=1e-9), damage)
    capfd.readouterr()
    assert [calls.count(size // 4) for size in (1024, 4096, 16384, 65536)] == [5, 5, 5, 5]


def test_data_differs_by_rank_and_index_and_sums_are_exact() -> None:
    assert len({tuple(sweep.pattern(rank)) for rank in range(16)}) == 16
    for size in (2, 3, 64):
        wanted = [sum(map(int, column)) for column in zip(*map(sweep.pattern, range(size)), strict=True)]
        assert [int(value) for value in sweep.sums(size)] == wanted
        assert max(wanted) < 1 << 24


@pytest.mark.parametrize("count", [1, 1020, 1021, 1022, 70_000])
def test_every_wrong_element_is_counted(count: int) -> None:
    right = sweep.sums(2)
    data = mpi_allreduce.filled(right, count)
    assert len(data) == count
    assert mpi_allreduce.wrong_elements(data, right) == 0
    rng = random.Random(count)  # noqa: S311  # not for secrets
    places = set(rng.sample(range(count), min(count, 7)))
    for place in places:
        data[place] += 0.5
    assert mpi_allreduce.wrong_elements(data, right) == len(places)
    shifted = mpi_allreduce.filled(right, count + 64)[64:]
    assert count == 1 or mpi_allreduce.wrong_elements(shifted, right) > count * 0.9


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-b", "1X"], "not a size: '1X'"),
        (["-b", "6"], "multiple of 4"),
        (["-b", "8K", "-e", "4K"], "-e must not be below -b"),
        (["-f", "1"], "-f must be at least 2"),
        (["-n", "0"], "-n and -w must be at least 1"),
        (["--seconds-per-size", "nan"], "must be above 0"),
        (["--surprise"], "unrecognized arguments"),
    ],
)
def test_usage(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        mpi_allreduce.options(arguments)
    assert caught.value.code == 2
    assert says in capsys.readouterr().err


def test_sizes() -> None:
    options = mpi_allreduce.options(["-b", "8", "-e", "2G", "-f", "2"])
    assert (options.min_bytes, options.max_bytes) == (8, 2 << 30)
    assert sweep.size_of("3m") == 3 << 20


@functools.cache
def mpi() -> tuple[str, str] | None:
    """mpirun and a Python that has mpi4py, where both are installed."""
    program = shutil.which("mpirun")
    for python in (sys.executable, "/usr/bin/python3"):
        if program and Path(python).exists():
            probe = subprocess.run([python, "-c", "import mpi4py.MPI"], capture_output=True, check=False)
            if probe.returncode == 0:
                return program, python
    return None


def mpirun(code: list[str]) -> "subprocess.CompletedProcess[str]":
    found = mpi()
    if found is None:
        pytest.skip("mpirun and a Python with mpi4py are not both installed; the same code ran over threads above")
    program, python = found
    root = Path(__file__).parents[2] / "components"
    flags = ["--allow-run-as-root", "--oversubscribe", "-np", "2", "--bind-to", "none", "--mca", "btl", "tcp,self"]
    flags += ["--mca", "pml", "ob1", "--mca", "coll", "^hcoll", "--mca", "mpi_yield_when_idle", "1"]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.run(
        [program, *flags, python, *code], env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_over_real_mpi() -> None:
    sizes = ["-b", "1K", "-e", "1M", "-f", "4", "--seconds-per-size", "0.05"]
    ran = mpirun(["-m", "gpufabric.validation.mpi_allreduce", *sizes])
    found = judge(ran.stdout + ran.stderr, replace(WANTED, ranks=2, max_bytes=1 << 20), exit_code=ran.returncode)
    assert (found.outcome, found.ranks, found.size_bytes) == ("pass", 2, 1 << 20), ran.stdout + ran.stderr


def test_a_rank_that_crashes_takes_the_others_down() -> None:
    """A wrapper, not the product, holds the fault: rank 1 raises in its third all-reduce."""
    program = """
import sys
from gpufabric.validation import mpi_allreduce as m
real, calls = m.MpiRanks.all_reduce, []
def fault(self, source, target):
    calls.append(1)
    if self.rank == 1 and len(calls) == 3: raise RuntimeError("the link fell")
    return real(self, source, target)
m.MpiRanks.all_reduce = fault
sys.exit(m.main(["-b", "1K", "-e", "64K"]))
"""
    ran = mpirun(["-c", program])
    assert ran.returncode != 0
    text = ran.stdout + ran.stderr
    assert "# error: rank 1 on" in text
    assert judge(text, replace(WANTED, ranks=2), exit_code=ran.returncode).outcome == "unknown"
