"""``make up`` and ``make down``: the real engine declares the sample stack on a real cluster and prints what was measured.

    python3 -m tools.up [--kubeconfig FILE] [--sample stacks/Pulumi.local.yaml] [--run N]
    python3 -m tools.up --down [--kubeconfig FILE]

Without a kubeconfig the local cluster is brought up first. The sample is copied to a git-ignored stack file, because
``pulumi stack init`` writes into the file it uses.
"""

import argparse
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from gpufabric.spec import SpecError, run_of, with_run
from tools.engine import Engine
from tools.errors import ToolError, run_reporting
from tools.folders import REPOSITORY
from tools.image.recipe import read_recipe
from tools.localcluster import lifecycle
from tools.localcluster.cluster import DEFAULT_NAME, kubeconfig_of

STACK = "dev"
STATE = REPOSITORY / ".local"
COPY = REPOSITORY / "stacks" / f"Pulumi.{STACK}.yaml"


def main() -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tools.up", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kubeconfig", type=Path, help="use this cluster instead of the local one")
    parser.add_argument("--sample", type=Path, default=REPOSITORY / "stacks" / "Pulumi.local.yaml", help="stack file to copy")
    parser.add_argument("--run", type=int, help="value of validation.run: raise it to validate again")
    parser.add_argument("--down", action="store_true", help="undo it")
    given = parser.parse_args()
    engine = Engine(STATE, given.kubeconfig.absolute() if given.kubeconfig else None)
    return _down(engine) if given.down else _up(engine, given.sample, given.run)


def _up(engine: Engine, sample: Path, run: int | None) -> int:
    if engine.kubeconfig is None:
        lifecycle.up(DEFAULT_NAME, None, None)
        engine = Engine(engine.state, Path(kubeconfig_of(DEFAULT_NAME)))
    else:
        gate = read_recipe("gate")
        print(f"your cluster must be able to pull the image named in {sample}; {gate.reference} is at {gate.archive}")
        print("(python3 -m tools.image howto: how to load it onto nodes or push it to a registry)")
    write_copy(sample, COPY, run)
    if engine.unlock(STACK):
        print("an earlier run was killed; this one carries on where it stopped")
    engine.select(STACK)
    code = engine.stream("up", "--yes", "--skip-preview", "--suppress-outputs", "--stack", STACK)
    if code == 0:
        for group, verdict in engine.outputs(STACK).get("validation", {}).items():
            print(describe(group, verdict))
    return code


def _down(engine: Engine) -> int:
    """Your own cluster: destroy the stack. The local one: the cluster goes, and with it all that the stack made."""
    if engine.kubeconfig is not None:
        if code := engine.stream("destroy", "--yes", "--skip-preview", "--stack", STACK):
            return code
    else:
        lifecycle.down(DEFAULT_NAME)
    shutil.rmtree(STATE, ignore_errors=True)
    COPY.unlink(missing_ok=True)
    return 0


def write_copy(sample: Path, copy: Path, run: int | None = None) -> None:
    """Copy a sample stack file.

    A run counter goes into its ``validation`` block; without one the counter of the last copy stays, since lowering it would
    validate again, too. Pulumi's own keys in the copy are kept.
    """
    before = copy.read_text("utf-8") if copy.exists() else ""
    if run is None:
        run = run_of(before)
    try:
        text = sample.read_text(encoding="utf-8")
        if run is not None:
            text = with_run(text, run)
    except OSError as error:
        raise ToolError(f"{sample}: {error.strerror}") from None
    except SpecError as error:
        raise ToolError(f"{sample}: {error}") from None
    pulumis = re.findall(r"^(?:encryptionsalt|secretsprovider|encryptedkey): .*\n", before, flags=re.MULTILINE)
    copy.write_text("".join(pulumis) + text, encoding="utf-8")


_COLUMNS = ("12.0f", "12.1f", "13.4f", "13.4f", "6.0f")


def describe(group: str, verdict: Mapping[str, object]) -> str:
    """The verdict and the measured table as text."""
    lines = [f"{group}: {str(verdict.get('outcome', 'none')).upper()} {verdict.get('reason', '')}".rstrip()]
    rows = verdict.get("table")
    if isinstance(rows, list) and rows:
        lines.append(f"{'size (B)':>12} {'time (us)':>12} {'algbw (GB/s)':>13} {'busbw (GB/s)':>13} {'wrong':>6}")
        for row in rows:
            lines.append(" ".join(_cell(value, form) for value, form in zip(row, _COLUMNS, strict=False)))
    stand_ins = verdict.get("stand_ins")
    lines += [f"note: {each}" for each in stand_ins] if isinstance(stand_ins, list) else []
    return "\n".join(lines)


def _cell(value: object, form: str) -> str:
    return format(value, form) if isinstance(value, int | float) else format("N/A", f">{form.partition('.')[0]}")


if __name__ == "__main__":
    sys.exit(run_reporting(main))
