"""A group's nodes as the controller sees them. Pure: API objects in, values out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gpufabric.validation import contract, hold, nodes, records
from gpufabric.validation import controller_contract as words
from gpufabric.validation.api import Json
from gpufabric.validation.records import Hold, Record

_SUFFIXES: Final[Mapping[str, float]] = {"": 1.0, "k": 1e3, "M": 1e6, "Ki": 2.0**10, "Mi": 2.0**20}


@dataclass(frozen=True)
class State:
    """One node. `label`: pass | fail | unknown, or empty. `why_not`: why no rank could run on it now, empty if one could.

    `tainted`: by the hold. `busy`: other pods are on it (`busy.occupants`). `running`: a run of this controller is on it.
    `reserved`: a placeholder keeps it free for a late node. `doubted`: the partner with which it failed once, of a node that is
    to have a second opinion. `member`: it matches the group's selector; nothing is ever done to others.
    """

    name: str
    boot_id: str
    ready: bool = True
    why_not: str = ""
    label: str = ""
    record: Record | None = None
    hold: Hold | None = None
    tainted: bool = False
    busy: bool = False
    running: bool = False
    reserved: bool = False
    doubted: str = ""
    failed_pairs: int = 0
    member: bool = True

    @property
    def proven(self) -> bool:
        """Its record says that it passed, in the boot that it is in."""
        return self.record is not None and self.record.outcome == "pass" and bool(self.boot_id) and self.same_boot

    @property
    def alone(self) -> bool:
        """It was opened alone, so that its network is not known to be good: no partner for others."""
        return self.record is not None and self.record.alone

    @property
    def same_boot(self) -> bool:
        return self.record is not None and self.record.boot_id == self.boot_id


def of(
    raw: Json, selector: Mapping[str, str], resources: Mapping[str, float], *, busy: bool = False, running: bool = False
) -> State:
    """A Node object of the API -> State. `resources`: what a rank pod asks for of device plugins."""
    node, meta, status = nodes.of(raw), raw.get("metadata") or {}, raw.get("status") or {}
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    ready = any(each.get("type") == "Ready" and each.get("status") == "True" for each in status.get("conditions") or [])
    return State(
        name=node.name,
        boot_id=node.boot_id,
        ready=ready and not meta.get("deletionTimestamp"),
        why_not=node.why_not or _lacking(status.get("allocatable") or {}, resources),
        label=str(labels.get(contract.LABEL_VALIDATED, "")),
        record=records.record(annotations),
        hold=records.hold(annotations),
        tainted=hold.has(raw),
        busy=busy,
        running=running,
        failed_pairs=len(failed_pairs(raw)),
        member=selector.items() <= labels.items(),
    )


def failed_pairs(raw: Json) -> list[Any]:
    """What is recorded of failed pairs on a node; empty where nothing can be read."""
    found = records.loaded((raw["metadata"].get("annotations") or {}).get(words.ANNOTATION_FAILED_PAIRS))
    return found if isinstance(found, list) else []


def device_resources(rank_job: Mapping[str, Any]) -> dict[str, float]:
    """What a rank pod asks for of device plugins: names with a domain (`nvidia.com/gpu`), summed over its containers."""
    out: dict[str, float] = {}
    for container in rank_job["spec"]["template"]["spec"]["containers"]:
        for name, value in ((container.get("resources") or {}).get("limits") or {}).items():
            if "/" in name:
                out[name] = out.get(name, 0.0) + _quantity(value)
    return out


def _lacking(allocatable: Mapping[str, Any], wanted: Mapping[str, float]) -> str:
    """A node that has joined is Ready before its device plugins have spoken."""
    for name, count in wanted.items():
        have = _quantity(allocatable.get(name, 0))
        if have < count:
            return f"has {have:g} of {count:g} {name} allocatable"
    return ""


def _quantity(value: Any) -> float:
    text = str(value)
    number = text.rstrip("kMi")
    try:
        return float(number) * _SUFFIXES.get(text[len(number) :], 1.0)
    except ValueError:
        return 0.0
