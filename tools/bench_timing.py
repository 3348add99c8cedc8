"""How benchmarks are timed: two things in turn, medians of both; or what the processors did, where it is never quiet."""

import os
import statistics
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tools.errors import ToolError
from tools.localcluster.processes import all_pids, command_line

ROUNDS = 7

# Fields of /proc/PID/stat after the name (proc(5)).
_SESSION, _USER, _SYSTEM = 3, 11, 12

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


def processor_seconds(process: subprocess.Popen[bytes]) -> list[tuple[list[str], float]]:
    """Wait for a process that leads a session: command line and processor seconds of each process of that session.

    Looked at every fifth of a second: the engine kills a policy pack without asking what it took (getrusage has nothing of it).
    """
    took: dict[int, tuple[list[str], float]] = {}
    while process.poll() is None:
        for pid in all_pids():
            with suppress(OSError):  # it has just ended
                fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
                if int(fields[_SESSION]) == process.pid and (command := command_line(pid)):
                    took[pid] = (command, (int(fields[_USER]) + int(fields[_SYSTEM])) / os.sysconf("SC_CLK_TCK"))
        time.sleep(0.2)
    return list(took.values())


def checked(done: subprocess.CompletedProcess[str]) -> None:
    """Raise with the output of a command that failed."""
    if done.returncode:
        raise ToolError(f"{' '.join(map(str, done.args))[:200]} failed:{os.linesep}{done.stdout}{done.stderr or ''}")
