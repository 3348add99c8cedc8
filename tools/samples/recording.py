"""Records of samples, made one after the other: what a cloud's provider sends while each goes up."""

import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from tools.errors import ToolError
from tools.judge.request import Record
from tools.samples.plans import RECORDED, samples

# Records the sample of that name with a folder of its own.
Recorder = Callable[[str, Path], Record]


def main(cloud: str, vendor: str, *, built: bool, recording: Callable[[Path], AbstractContextManager[Recorder]]) -> int:
    """The command line of one cloud: ``record [SAMPLE ...]``. ``recording`` opens a session whose logs lie in a folder."""
    parser = ArgumentParser(
        prog=f"python3 -m tools.{vendor.lower()}provider", description=f"Record what {vendor}'s provider sends."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="write tests/judged/recorded/SAMPLE.json")
    record.add_argument("samples", nargs="*", metavar="SAMPLE", help="by stack name; all if none is named")
    named: Sequence[str] = parser.parse_args().samples
    known = samples(cloud)
    if unknown := set(named) - known.keys():
        raise ToolError(f"no sample {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    if not built:
        raise ToolError(f"{vendor}'s provider is not built; run `make provider-{vendor.lower()}` (minutes, once)")
    RECORDED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, recording(Path(folder)) as recorder:
        for name in named or known:
            started = time.monotonic()
            made = recorder(name, Path(folder) / name)
            made.write(RECORDED / f"{name}.json")
            print(f"{name}: {len(made.requests)} requests in {time.monotonic() - started:.0f} s", flush=True)
    for file in RECORDED.glob(f"{cloud}-*.json"):
        if file.stem not in known:
            file.unlink()
    return 0
