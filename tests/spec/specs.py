"""Specs for tests: two good ones, and how to change them."""

import copy
from collections.abc import Mapping
from typing import Any

from gpufabric.plan import StackPlan, resolve
from gpufabric.spec import SpecError, TrainingSpec, parse_spec

IMAGE = "ghcr.io/acme/gate:1.2"
H100: dict[str, Any] = {
    "cloud": "kubernetes",
    "node_groups": [
        {"name": "train", "node_selector": {"pool": "train"}, "accelerators": "H100:8", "nodes": 2, "fabric": "infiniband"}
    ],
    "validation": {"image": IMAGE},
}
CPU: dict[str, Any] = {
    "cloud": "kubernetes",
    "node_groups": [
        {
            "name": "train",
            "node_selector": {"pool": "train"},
            "accelerators": "cpu",
            "nodes": 2,
            "network_tier": "standard",
            "fabric": "ethernet",
        }
    ],
    "validation": {"image": IMAGE, "backend": "mpi", "floor_gbytes_per_s": 0.1},
}
GONE: Any = object()


def changed(base: Mapping[str, Any], /, **changes: Any) -> dict[str, Any]:
    """A copy of ``base`` with other values. ``group__nodes=3`` is in the first group, ``validation__run`` one level down."""
    spec = copy.deepcopy(dict(base))
    for name, value in changes.items():
        *parents, key = name.split("__")
        at = spec
        for parent in parents:
            at = spec["node_groups"][0] if parent == "group" else at.setdefault(parent, {})
        if value is GONE:
            del at[key]
        else:
            at[key] = value
    return spec


def with_value(base: Mapping[str, Any], place: tuple[str | int, ...], value: object) -> dict[str, Any]:
    """A copy of ``base`` with another value at one place: keys and positions from the top."""
    *parents, last = place
    spec: dict[str, Any] = copy.deepcopy(dict(base))
    at: Any = spec
    for step in parents:
        at = at[step]
    at[last] = value
    return spec


def plan_of(raw: object, stack: str = "dev") -> StackPlan:
    """The plan of a raw spec; raises SpecError."""
    return resolve(kubernetes_spec(raw), stack)


def kubernetes_spec(raw: object) -> TrainingSpec:
    """A raw spec of a cluster of one's own; raises SpecError."""
    spec = parse_spec(raw)
    assert isinstance(spec, TrainingSpec)
    return spec


def problems(raw: object) -> list[str]:
    """Every problem of a raw spec, as the user reads it; empty for a good one."""
    try:
        plan_of(raw)
    except SpecError as error:
        return str(error).split("\n")
    return []
