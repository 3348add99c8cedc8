"""Processes as the kernel knows them. There are no pid files: a number in a file may by now belong to somebody else."""

import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tools.errors import ToolError


def command_line(pid: int) -> list[str]:
    """The arguments of a process; empty when it is gone or a zombie."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []
    return [part.decode(errors="replace") for part in raw.split(b"\0")[:-1]]


def all_pids() -> Iterator[int]:
    """Every process of this machine."""
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def with_argument(argument: str) -> list[int]:
    """Processes one of whose arguments is exactly this marker."""
    return [pid for pid in all_pids() if argument in command_line(pid)]


def pid_namespace(pid: int) -> str:
    """Identity of the pid namespace a process lives in; empty when it is gone, or protected and thus none of ours."""
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""


def is_namespace_init(pid: int) -> bool:
    """Is it process 1 of a namespace of its own?"""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    ids = next((line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:")), [])
    return len(ids) > 1 and ids[-1] == "1"


def in_namespace(namespace: str) -> dict[int, list[str]]:
    """Processes of a pid namespace itself (not of those below it, where pods live), with their arguments."""
    return {pid: command_line(pid) for pid in all_pids() if namespace and pid_namespace(pid) == namespace}


def end(pid: int, still_meant: Callable[[int], bool], grace_seconds: float = 0.0, kill_seconds: float = 20.0) -> None:
    """End a process: SIGTERM with a grace period if there is one, then SIGKILL, and wait until it is gone.

    The pidfd pins the process before `still_meant` looks at it again: a pid that was reused in between is left alone.
    """
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if not still_meant(pid):
            return
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        if grace_seconds and _signalled(handle, signal.SIGTERM) and poll.poll(grace_seconds * 1000):
            return
        if _signalled(handle, signal.SIGKILL) and not poll.poll(kill_seconds * 1000):
            raise ToolError(
                f"process {pid} ({' '.join(command_line(pid))[:80]}) is still there {kill_seconds:.0f} s after SIGKILL"
            )
    finally:
        os.close(handle)


def end_all(meant: Callable[[int], bool], timeout_seconds: float = 20.0) -> None:
    """End every process that is meant, and those that appear meanwhile."""
    deadline = time.monotonic() + timeout_seconds
    while pids := [pid for pid in all_pids() if meant(pid)]:
        for pid in pids:
            end(pid, meant)
        if time.monotonic() > deadline:
            raise ToolError(f"processes keep coming back: {[' '.join(command_line(pid))[:80] for pid in pids]}")


def _signalled(handle: int, number: int) -> bool:
    try:
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    return True
