"""Run a program, and end it with all that it started when whoever asked for it is gone: ``python3 tools/keeper.py PROGRAM``.

A process that is killed takes nobody along. The keeper has to lead a process group of its own (``start_new_session``): that is
what it ends.
"""

import os
import select
import signal
import subprocess
import sys


def main() -> int:
    """The program's exit code, if it ends first."""
    parent = os.pidfd_open(os.getppid())
    with subprocess.Popen(sys.argv[1:]) as program:
        child = os.pidfd_open(program.pid)
        poll = select.poll()
        for handle in (parent, child):
            poll.register(handle, select.POLLIN)
        if parent in dict(poll.poll()):
            os.killpg(0, signal.SIGKILL)
        return program.wait()


if __name__ == "__main__":
    sys.exit(main())
