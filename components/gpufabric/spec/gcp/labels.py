"""Tags on Google Cloud: labels, which have a grammar of their own."""

import re
from typing import Annotated

from pydantic import AfterValidator

from gpufabric.spec.problems import shown

MOST_LABELS = 54
"""Google takes 64 labels on a resource (Resource Manager, Requirements for labels); ten are left for GKE's own."""
_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_VALUE = re.compile(r"[a-z0-9_-]{0,63}")


def _labels(value: dict[str, str]) -> dict[str, str]:
    if len(value) > MOST_LABELS:
        raise ValueError(f"{len(value)} tags; write at most {MOST_LABELS}")
    for key, text in value.items():
        if not _KEY.fullmatch(key) or not _VALUE.fullmatch(text):
            words = "a-z, 0-9, _ and -, 63 each, and begin the key with a letter"
            raise ValueError(f"{shown(f'{key}={text}')} is not a label of Google Cloud; use {words}")
        if key.startswith("goog"):
            raise ValueError(f"{shown(key)} begins with goog, which is Google's own; write another key")
    return value


Labels = Annotated[dict[str, str], AfterValidator(_labels)]
