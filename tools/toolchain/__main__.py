"""`python3 -m tools.toolchain`."""

import sys

from tools.errors import run_reporting
from tools.toolchain.cli import main

sys.exit(run_reporting(main))
