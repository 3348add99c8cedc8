"""Record what AWS's provider sends for the samples: ``python3 -m tools.awsprovider record [SAMPLE ...]``."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tools.awsprovider.bridge import built
from tools.awsprovider.plans import RECORDED
from tools.awsprovider.record import record_sample
from tools.awsprovider.sample import samples
from tools.awsprovider.session import running
from tools.errors import ToolError, run_reporting


def main() -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.awsprovider", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="write tests/judged/recorded/SAMPLE.json")
    record.add_argument("samples", nargs="*", metavar="SAMPLE", help="by stack name; all if none is named")
    named = parser.parse_args().samples
    if unknown := set(named) - samples().keys():
        raise ToolError(f"no sample {', '.join(sorted(unknown))}; known: {', '.join(samples())}")
    if not built():
        raise ToolError("AWS's provider is not built; run `make provider-aws` (minutes, once)")
    RECORDED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "bridge.log") as session:
        for name in named or samples():
            started = time.monotonic()
            made = record_sample(session, name, Path(folder) / name)
            made.write(RECORDED / f"{name}.json")
            print(f"{name}: {len(made.requests)} requests in {time.monotonic() - started:.0f} s", flush=True)
    for name in {file.stem for file in RECORDED.glob("*.json")} - samples().keys():
        (RECORDED / f"{name}.json").unlink()
    return 0


if __name__ == "__main__":
    sys.exit(run_reporting(main))
