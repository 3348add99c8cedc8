"""`python3 -m tools.image`."""

import sys

from tools.errors import run_reporting
from tools.image.cli import main

sys.exit(run_reporting(main))
