"""Record what AWS's provider sends for the samples: ``python3 -m tools.awsprovider record [SAMPLE ...]``."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tools.awsprovider.bridge import built
from tools.awsprovider.record import record_sample
from tools.awsprovider.session import running
from tools.errors import run_reporting
from tools.samples.recording import Recorder, main


@contextmanager
def recording(folder: Path) -> Iterator[Recorder]:
    """One AWS for all samples."""
    with running(folder / "bridge.log") as session:
        yield partial(record_sample, session)


if __name__ == "__main__":
    sys.exit(run_reporting(lambda: main("aws", "AWS", built=built(), recording=recording)))
