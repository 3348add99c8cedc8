"""How benchmarks are timed: two things in turn, medians of both."""

import os
import statistics
import subprocess
import time
from collections.abc import Callable

from tools.errors import ToolError

ROUNDS = 7

Measured = tuple[str, float, float, str]


def paired(ours: Callable[[], None], against: Callable[[], None], rounds: int = ROUNDS) -> tuple[float, float]:
    """Medians of both, run in turn, so that a machine that gets slower slows both."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds + 1):
        print(f"  round {turn} of {rounds}", flush=True)
        for kept, run in zip(times, (ours, against), strict=True):
            started = time.perf_counter()
            run()
            if turn:  # the first round warms caches
                kept.append(time.perf_counter() - started)
    return statistics.median(times[0]), statistics.median(times[1])


def checked(done: subprocess.CompletedProcess[str]) -> None:
    """Raise with the output of a command that failed."""
    if done.returncode:
        raise ToolError(f"{' '.join(map(str, done.args))[:200]} failed:{os.linesep}{done.stdout}{done.stderr or ''}")
