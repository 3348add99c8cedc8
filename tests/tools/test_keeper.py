"""A kept program, and what it has started, end with whoever asked for it."""

import os
import select
import subprocess
import sys

from tools.awsprovider.bridge import KEEPER

PROGRAM = "import os, subprocess, sys; p = subprocess.Popen(['sleep', '60']); print(os.getpid(), p.pid, flush=True); p.wait()"
ASKS = """import subprocess, sys
p = subprocess.Popen([sys.executable, *sys.argv[1:]], stdout=subprocess.PIPE, text=True, start_new_session=True)
print(p.stdout.readline(), flush=True)
p.wait()"""


def gone(handle: int) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    try:
        return bool(poll.poll(10_000))
    finally:
        os.close(handle)


def test_what_a_kept_program_started_ends_with_who_asked_for_it() -> None:
    command = [sys.executable, "-c", ASKS, str(KEEPER), sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asks:
        assert asks.stdout is not None
        handles = [os.pidfd_open(int(pid)) for pid in asks.stdout.readline().split()]
        asks.kill()
    assert [gone(handle) for handle in handles] == [True, True]


def test_the_exit_code_is_the_programs() -> None:
    command = [sys.executable, str(KEEPER), sys.executable, "-c", "raise SystemExit(7)"]
    assert subprocess.run(command, start_new_session=True, check=False).returncode == 7
