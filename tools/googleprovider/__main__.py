"""Record what Google's provider sends for the samples: ``python3 -m tools.googleprovider record [SAMPLE ...]``."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.errors import run_reporting
from tools.googleprovider.provider import built
from tools.googleprovider.record import record_sample
from tools.samples.recording import Recorder, main


@contextmanager
def recording(_: Path) -> Iterator[Recorder]:
    """Every sample has a project of its own."""
    yield record_sample


if __name__ == "__main__":
    sys.exit(run_reporting(lambda: main("gcp", "Google", built=built(), recording=recording)))
