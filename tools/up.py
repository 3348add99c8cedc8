"""``make up`` and ``make down``: the real engine declares the sample stack on a real cluster and prints what was measured.

    python3 -m tools.up [--kubeconfig FILE] [--sample FILE] [--run N]
    python3 -m tools.up --down [--kubeconfig FILE]

Without a kubeconfig the local cluster is brought up first, with a bucket where this machine can mount one: then the sample is
stacks/Pulumi.local-storage.yaml, and a pod saves a checkpoint; else it is stacks/Pulumi.local.yaml. The sample is copied to a
git-ignored stack file, because ``pulumi stack init`` writes into the file it uses.
"""

import argparse
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from gpufabric.plan import resolve_any
from gpufabric.preflight import connect
from gpufabric.spec import SpecError, read_stack_file, run_of, with_run
from tools.engine import Engine
from tools.errors import ToolError, run_reporting
from tools.folders import REPOSITORY
from tools.image.build import ensure_images
from tools.image.recipe import read_recipe
from tools.localcluster import bucket, lifecycle
from tools.localcluster.cluster import DEFAULT_NAME, kubeconfig_of
from tools.save import described, save

STACK = "dev"
STATE = REPOSITORY / ".local"
COPY = REPOSITORY / "stacks" / f"Pulumi.{STACK}.yaml"
PLAIN = REPOSITORY / "stacks" / "Pulumi.local.yaml"
WITH_BUCKET = REPOSITORY / "stacks" / "Pulumi.local-storage.yaml"
CHECKPOINT, CHECKPOINT_MIB = "checkpoint.pt", 64


def main() -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tools.up", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kubeconfig", type=Path, help="use this cluster instead of the local one")
    parser.add_argument("--sample", type=Path, help="stack file to copy, instead of the local cluster's")
    parser.add_argument("--run", type=int, help="value of validation.run: raise it to validate again")
    parser.add_argument("--down", action="store_true", help="undo it")
    given = parser.parse_args()
    engine = Engine(STATE, given.kubeconfig.absolute() if given.kubeconfig else None)
    return _down(engine) if given.down else _up(engine, given.sample, given.run)


def _up(engine: Engine, given: Path | None, run: int | None) -> int:
    sample, saves = given or PLAIN, False
    if engine.kubeconfig is None:
        lifecycle.up(DEFAULT_NAME, None, None)
        engine = Engine(engine.state, Path(kubeconfig_of(DEFAULT_NAME)))
        sample, saves = with_bucket(given)
    else:
        ensure_images()
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
    if code == 0 and saves:
        return _save(engine)
    return code


def with_bucket(given: Path | None) -> tuple[Path, bool]:
    """The sample, and whether it has the bucket of the local cluster, which is then there."""
    if given and bucket.ENDPOINT not in (given.read_text("utf-8") if given.exists() else ""):
        return given, False
    if reason := bucket.lacking():
        if given:
            raise ToolError(f"{given} needs a bucket: {reason}")
        print(f"without a bucket: {reason}")
        return PLAIN, False
    bucket.install(DEFAULT_NAME)
    print(f"an S3 server is up in the cluster, with the bucket {bucket.BUCKET}", flush=True)
    return given or WITH_BUCKET, True


def _save(engine: Engine) -> int:
    """A checkpoint by a pod of each group that has a place for one."""
    found = read_stack_file(COPY)
    plan = resolve_any(found.spec, found.stack)
    api = connect(str(engine.kubeconfig), None)
    code = 0
    for group, role in ((group, role) for group in plan.groups for role in plan.storage if role.role == "checkpoint"):
        image = group.gate.gate.image
        saved = save(api, group.profile.apply_to, image, folder=role.path, key=CHECKPOINT, mib=CHECKPOINT_MIB)
        in_bucket = bucket.checksum(DEFAULT_NAME, CHECKPOINT)
        print(described(saved, in_bucket))
        code |= in_bucket != saved.sha256
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
