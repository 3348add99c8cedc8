"""Run the test ladder rung by rung and say how long each took: ``python3 -m tools.rungs [--soak]``."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

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
        "tests/policy/test_rules.py",
        "tests/policy/test_docs.py",
        "tests/policy/test_server.py",
        "tests/review",
        "tests/ci",
        "tests/cli",
        "tests/tools",
    ],
    "component": ["tests/kubernetes", "tests/aws", "tests/gcp", "tests/plugin", "tests/policy/test_samples.py", "tests/golden"],
    "judged": ["tests/judged"],
    "engine": ["tests/engine"],
    "policy": ["tests/policy/test_engine.py"],
    "provider": ["tests/provider"],
    "local": ["tests/local", "tests/mounts", "tests/local_nvme"],
}

# Without engine or cluster: file by file on every core. What starts processes of its own fills the cores without this.
SPREAD = ("pure", "component", "judged")

# The files of tests/local, in two processes beside each other, on clusters of their own: an `up` mostly waits (for pods,
# for pulls, for graces). In each lane those with a cluster for themselves come first, before the one that stays to the end:
# an idle cluster takes a third of a core.
# tests/mounts is a third one, with tests/local_nvme: they need no cluster, and mostly wait for uploads.
LANES: dict[str, list[str]] = {
    "test": [
        "gcp",
        "reserve",
        "aws",
        "queue",
        "mounts",
        "claims",
        "node_check",
        "local_nvme",
        "cluster",
        "gate",
        "hold",
        "wheel",
    ],
    "test2": ["controller", "torch", "localise", "faults"],
}


def main() -> int:
    """Run all rungs; the exit code is the first failing one's."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.rungs", description=__doc__)
    parser.add_argument("--soak", action="store_true", help="the full fault counts instead of two or three seeds")
    soak = parser.parse_args().soak
    took: dict[str, float] = {}
    for rung, paths in LADDER.items():
        if soak and rung not in ("engine", "provider", "local"):
            continue
        print(f"== rung {rung}", flush=True)
        started = time.monotonic()
        present = [path for path in paths if (REPOSITORY / path).exists()]
        if rung == "local":
            code = _run_lanes(soak)
        else:
            spread = ["--numprocesses=auto", "--dist=loadfile"] if rung in SPREAD else []
            command = _pytest([*spread, *present], _report(rung) if soak else None)
            code = subprocess.run(command, cwd=REPOSITORY, check=False).returncode
        took[rung] = time.monotonic() - started
        if code:
            _summary(took)
            return code
    _summary(took)
    return 0


def _report(what: str) -> Path:
    """Of a soak, dated: what ran, how long, what failed."""
    report = REPOSITORY / "soak" / f"{what}-{datetime.now(UTC):%Y-%m-%dT%H%MZ}.xml"
    print(f"report: {report}", flush=True)
    return report


def _pytest(arguments: list[str], report: Path | None) -> list[str]:
    """One pytest. With a report everything runs, soak marks included."""
    return [sys.executable, "-m", "pytest", "-q", *([f"--junit-xml={report}"] if report else ["-m", "not soak"]), *arguments]


def _run_lanes(soak: bool) -> int:
    """All lanes at once, each with clusters of its name; the output of the others follows the first one's."""
    lanes = {name: [f"tests/local/test_{each}.py" for each in files] for name, files in LANES.items()}
    lanes["mounts"] = ["tests/mounts", "tests/local_nvme"]
    with tempfile.TemporaryFile() as later:
        running: list[subprocess.Popen[bytes]] = []
        for name, arguments in lanes.items():
            report = _report(f"local-{name}") if soak else None
            process = subprocess.Popen(
                _pytest(["--durations=15", "--durations-min=5", *arguments], report),
                cwd=REPOSITORY,
                env={**os.environ, "GPUFABRIC_TEST_CLUSTER": name},
                stdout=later if running else None,
                stderr=subprocess.STDOUT if running else None,
            )
            running.append(process)
        codes = [process.wait() for process in running]
        later.seek(0)
        print(f"== other lanes\n{later.read().decode('utf-8', 'replace')}", flush=True)
    return max(codes, key=abs)


def _summary(took: dict[str, float]) -> None:
    print("time per rung: " + ", ".join(f"{rung} {seconds:.0f} s" for rung, seconds in took.items()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
