"""What is recorded on a node: its last verdict, and why it is held. Pure: annotations in, values out."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufabric.validation import contract
from gpufabric.validation.clock import seconds


@dataclass(frozen=True)
class Record:
    """The last verdict on a node (`contract.ANNOTATION_VALIDATION`). `at` in seconds since 1970; 0 where it cannot be read.

    `alone`: it rests on a measurement of this node alone.
    """

    outcome: str
    boot_id: str
    fingerprint: str = ""
    at: float = 0.0
    busbw_gbytes_per_s: float | None = None
    alone: bool = False


@dataclass(frozen=True)
class Hold:
    """Why a node is kept closed (`contract.ANNOTATION_HOLD`). `label`, `tainted`: as it was before a drain closed it."""

    why: str
    boot_id: str
    reason: str = ""
    label: str = ""
    tainted: bool = False


def record(annotations: Mapping[str, Any]) -> Record | None:
    """The last verdict, or None where there is none that can be read."""
    raw = loaded(annotations.get(contract.ANNOTATION_VALIDATION))
    if not isinstance(raw, dict) or not raw.get("outcome"):
        return None
    busbw = raw.get("busbw_gbytes_per_s")
    return Record(
        outcome=str(raw["outcome"]),
        boot_id=str(raw.get("boot_id") or ""),
        fingerprint=str(raw.get("fingerprint") or ""),
        at=seconds(raw.get("at")),
        busbw_gbytes_per_s=float(busbw) if isinstance(busbw, int | float) and not isinstance(busbw, bool) else None,
        alone=raw.get(contract.RESTS_ON) == contract.SINGLE_NODE,
    )


def hold(annotations: Mapping[str, Any]) -> Hold | None:
    """Why it is held, or None."""
    raw = loaded(annotations.get(contract.ANNOTATION_HOLD))
    if not isinstance(raw, dict):
        return None
    texts = {key: str(raw.get(key) or "") for key in ("why", "boot_id", "reason", "label")}
    return Hold(**texts, tainted=raw.get("tainted") is True)


def loaded(text: Any) -> Any:
    """JSON, or None for what is none."""
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
