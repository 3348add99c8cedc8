"""Serve stand-ins until standard input closes: ``python3 -m tools.standin STORE aws kubernetes`` prints {"aws": PORT, ...}."""

import json
import os
import sys
from pathlib import Path

from tools.standin.cloud import Cloud
from tools.standin.description import read_description
from tools.standin.provider import serve
from tools.standin.store import Store


def main() -> int:
    """It ends with whoever started it, however that comes about: the pipe closes."""
    store = Store(Path(sys.argv[1]))
    store.create()
    served = {name: serve(Cloud(read_description(name), store)) for name in sys.argv[2:]}
    print(json.dumps({name: port for name, (_, port) in served.items()}), flush=True)
    sys.stdin.read()
    os._exit(0)  # calls may hang, as they were asked to


if __name__ == "__main__":
    sys.exit(main())
