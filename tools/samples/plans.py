"""The samples' files, and the part of a golden plan that decides what a cloud's provider sends."""

import hashlib
import re
from pathlib import Path
from typing import Any

import yaml

from tools.folders import REPOSITORY

STACKS = REPOSITORY / "stacks"
GOLDEN = REPOSITORY / "tests" / "golden"
RECORDED = REPOSITORY / "tests" / "judged" / "recorded"


def samples(cloud: str) -> dict[str, Path]:
    """The stack files for a cloud (``aws``, ``gcp``: also its provider's name), by stack name."""
    return {path.name.split(".")[1]: path for path in sorted(STACKS.glob(f"Pulumi.{cloud}-*.yaml"))}


def config_of(stack_file: Path) -> Any:
    """A stack file's config."""
    return yaml.safe_load(stack_file.read_text("utf-8"))["config"]


def plan_hash(sample: str) -> str:
    """Hash of the cloud's resources in a sample's golden plan. What runs in the cluster never reaches the cloud's provider."""
    cloud = sample.partition("-")[0]
    ours = re.compile(rf"(read )?({cloud}:|pulumi:providers:{cloud} )")
    blocks = (GOLDEN / f"{sample}.txt").read_text("utf-8").split("\n\n")
    return hashlib.sha256("\n\n".join(block for block in blocks if ours.match(block)).encode()).hexdigest()
