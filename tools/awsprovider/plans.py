"""The part of a golden plan that decides what AWS's provider sends."""

import hashlib
import re
from pathlib import Path
from typing import Any

import yaml

from tools.folders import REPOSITORY

GOLDEN = REPOSITORY / "tests" / "golden"
RECORDED = REPOSITORY / "tests" / "judged" / "recorded"
AGAIN = "make record-aws"
_OURS = re.compile(r"(read )?(aws:|pulumi:providers:aws )")
_ID = re.compile(r"[a-z]{1,12}-(?:[0-9a-f]{17}|[0-9a-f]{8})")


# Keys of a stack's config below which names of existing things stand.
_EXISTING = ("existing", "placement_group")


def plan_hash(sample: str) -> str:
    """Hash of the AWS resources in a sample's golden plan. What runs in the cluster never reaches AWS's provider."""
    blocks = (GOLDEN / f"{sample}.txt").read_text("utf-8").split("\n\n")
    return hashlib.sha256("\n\n".join(block for block in blocks if _OURS.match(block)).encode()).hexdigest()


def declared(config: Any) -> set[str]:
    """What a stack's config names as existing before it: ids anywhere, and names below certain keys."""
    return set(_texts(config, everything=False))


def _texts(value: Any, *, everything: bool) -> list[str]:
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in _texts(each, everything=everything or key in _EXISTING)]
    if isinstance(value, list):
        return [text for each in value for text in _texts(each, everything=everything)]
    if isinstance(value, str) and (everything or _ID.fullmatch(value)):
        return [value]
    return []


def config_of(stack_file: Path) -> Any:
    """A stack file's config."""
    return yaml.safe_load(stack_file.read_text("utf-8"))["config"]
