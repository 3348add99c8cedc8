"""`python3 -m tools.localcluster`."""

import sys

from tools.errors import run_reporting
from tools.localcluster.cli import main

sys.exit(run_reporting(main))
