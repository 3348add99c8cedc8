"""Run the test ladder rung by rung and say how long each took: ``python3 -m tools.rungs [--soak]``."""

import argparse
import subprocess
import sys
import time
from datetime import UTC, datetime

from tools.folders import REPOSITORY

# From the cheapest to the dearest: a broken rung says more than what fails above it, so the ladder stops there.
LADDER: dict[str, list[str]] = {
    "pure": [
        "tests/test_rings.py",
        "tests/hardware",
        "tests/spec",
        "tests/plan",
        "tests/validation",
        "tests/preflight",
        "tests/report",
        "tests/cli",
        "tests/tools",
    ],
    "component": ["tests/kubernetes", "tests/aws", "tests/golden"],
    "judged": ["tests/judged"],
    "engine": ["tests/engine"],
    "local": ["tests/local"],
}


def main() -> int:
    """Run all rungs; the exit code is the first failing one's."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.rungs", description=__doc__)
    parser.add_argument("--soak", action="store_true", help="the full fault counts instead of two or three seeds")
    soak = parser.parse_args().soak
    took: dict[str, float] = {}
    for rung, paths in LADDER.items():
        if soak and rung not in ("engine", "local"):
            continue
        print(f"== rung {rung}", flush=True)
        started = time.monotonic()
        present = [path for path in paths if (REPOSITORY / path).exists()]
        command = [sys.executable, "-m", "pytest", "-q", *(_soak_options(rung) if soak else ["-m", "not soak"]), *present]
        code = subprocess.run(command, cwd=REPOSITORY, check=False).returncode
        took[rung] = time.monotonic() - started
        if code:
            _summary(took)
            return code
    _summary(took)
    return 0


def _soak_options(rung: str) -> list[str]:
    """Everything, soak marks included, with a dated report beside it: what ran, how long, what failed."""
    report = REPOSITORY / "soak" / f"{rung}-{datetime.now(UTC):%Y-%m-%dT%H%MZ}.xml"
    print(f"report: {report}", flush=True)
    return [f"--junit-xml={report}"]


def _summary(took: dict[str, float]) -> None:
    print("time per rung: " + ", ".join(f"{rung} {seconds:.0f} s" for rung, seconds in took.items()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
