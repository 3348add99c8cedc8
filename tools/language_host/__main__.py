"""Started by the wrapper `pulumi-language-python`: serve on a free port, print it, stay until the engine goes away."""

import contextlib
import os
import select
import signal
import sys
import threading
from pathlib import Path
from typing import NoReturn

AT_HOME = "--at-home"  # an option of ours: started by another host, for one program
GRACE_S = 1.0
REPOSITORY = str(Path(__file__).resolve().parents[2])


def main() -> NoReturn:
    """The engine's address is the last argument; options before it are about tracing and are not used."""
    # The engine ends a host with SIGINT and waits for up to five seconds. No terminal's interrupt comes here: the engine puts
    # its plugins into process groups of their own.
    # A pipe that the interpreter writes: a handler that sets an Event waits for ever if this thread is just in that Event.
    end, asked_to_end = os.pipe()
    os.set_blocking(asked_to_end, False)
    signal.set_wakeup_fd(asked_to_end)
    signal.signal(signal.SIGINT, lambda *_: None)
    sys.path.insert(0, REPOSITORY)
    from tools.language_host.server import serve

    sys.path.remove(REPOSITORY)  # the user's program must not see our modules
    server, port = serve(engine=sys.argv[-1], at_home=AT_HOME in sys.argv)
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    print(port, flush=True)
    os.read(end, 1)
    server.stop(grace=0).wait(timeout=GRACE_S)  # ends the calls, and with them the plugins that they started
    os._exit(0)  # a program that hangs in its thread would keep the process


def _leave_with(parent: int) -> None:
    """End this process when its parent ends, however that comes about: a killed engine sends no farewell."""
    with contextlib.suppress(ProcessLookupError):
        poll = select.poll()
        poll.register(os.pidfd_open(parent), select.POLLIN)
        poll.poll()
    os._exit(0)  # a program may be running in another thread; there is nobody left to tell its result


if __name__ == "__main__":
    main()
