"""Run the system's own programs with a plain environment: no proxy, locale or PATH of the caller reaches the cluster."""

import subprocess
from collections.abc import Sequence

from tools.errors import ToolError

ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C"}


def run(*command: str) -> str:
    """Run and return stdout; failure is an error with the command's own words."""
    done = subprocess.run(command, env=ENVIRONMENT, cwd="/", capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip()[-600:]
        raise ToolError(f"`{' '.join(command)}` failed with status {done.returncode}: {words}")
    return done.stdout


def succeeds(*command: str) -> bool:
    """Run for the exit status only."""
    done = subprocess.run(command, env=ENVIRONMENT, cwd="/", capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return done.returncode == 0


def ip_batch(commands: Sequence[str], namespace: str | None = None) -> None:
    """Several `ip` commands in one process, which saves most of the time of a start."""
    where = ["-n", namespace] if namespace else []
    command = ["ip", *where, "-batch", "-"]
    text = "\n".join(commands) + "\n"
    done = subprocess.run(command, env=ENVIRONMENT, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolError(f"`{' '.join(command)}` failed: {done.stderr.strip()} in:\n{text}")
