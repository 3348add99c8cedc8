"""Which Python runs a program or plugin: the one of its project's virtual environment, else our own."""

import sys
from pathlib import Path

from pulumi.runtime.proto import language_pb2


def interpreter_of(info: language_pb2.ProgramInfo) -> str:
    """The runtime option `virtualenv`, relative to the project; ignored where it does not exist, as in a fresh clone."""
    option = info.options.fields["virtualenv"].string_value if "virtualenv" in info.options.fields else ""
    if option:
        python = Path(info.root_directory, option, "bin", "python")
        if python.exists():
            return str(python)
    return sys.executable


def is_ours(python: str) -> bool:
    """Is it the environment in which this process runs? The path's folder decides: every environment's python is a link."""
    return Path(python).parent.resolve() == Path(sys.executable).parent.resolve()
