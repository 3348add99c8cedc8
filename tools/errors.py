"""How tools fail: one sentence that says what is wrong and what to do, exit status 2, no traceback."""

import sys
from collections.abc import Callable


class ToolError(Exception):
    """A user can act on it: the message names the cause and the fix."""


def run_reporting(main: Callable[[], int]) -> int:
    """Run a command line's main; a ToolError becomes one message on stderr and exit status 2."""
    try:
        return main()
    except ToolError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the next run carries on from here", file=sys.stderr)
        return 130
