"""Waiting for a condition, with a limit and with an error that says where to look."""

import time
from collections.abc import Callable
from pathlib import Path

from tools.errors import ToolError

POLL_SECONDS = 0.1


class ConditionTimeoutError(ToolError):
    """Something did not become true in time; `up` answers by building the cluster anew, once."""


def wait_until(
    what: str,
    condition: Callable[[], bool],
    timeout_seconds: float,
    log: Path | None = None,
    hopeless: Callable[[], bool] = lambda: False,
) -> None:
    """Poll until the condition holds. A refused connection or a half-written answer counts as not yet.

    `hopeless` is asked once a second: when it says so, the rest of the time is not waited for.
    """
    started = time.monotonic()
    deadline, next_question = started + timeout_seconds, started + 1.0
    last = ""
    while True:
        try:
            if condition():
                return
        except (OSError, ValueError) as error:
            last = f" (last answer: {error})"
        now = time.monotonic()
        if now > next_question:
            next_question = now + 1.0
            if hopeless():
                raise ConditionTimeoutError(f"{what}: the program ended by itself{last}{_log_end(log)}")
        if now > deadline:
            raise ConditionTimeoutError(f"{what}: not within {timeout_seconds:.0f} s{last}{_log_end(log)}")
        time.sleep(POLL_SECONDS)


def _log_end(log: Path | None, lines: int = 8) -> str:
    if log is None:
        return ""
    if not log.exists():
        return f"; there is no log at {log}"
    end = log.read_text(errors="replace").splitlines()[-lines:]
    return "\n".join([f"; {log} ends with:", *(f"  {line[:300]}" for line in end)])
