"""What the plans of all clouds say of capacity, of a group of nodes and of a stack. Each cloud's model adds its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar

from gpufabric.hardware import Machine
from gpufabric.plan.cloud import HourlyCost, Taint
from gpufabric.plan.model import GroupsPlan


class Phase(Enum):
    """Where now lies to the window of the capacity; capacity without a window is always OPEN."""

    BEFORE = "before"
    OPEN = "open"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityPlan:
    """How the machines of a group are had.

    ``desired_nodes``: when the group is made; 0 outside the window. ``reserved``: it must never ask for one node more.
    ``may_lack_nodes``: fewer nodes than asked are normal, so that the gate's outcome is pending.
    """

    kind: str
    phase: Phase
    reservation_id: str | None
    desired_nodes: int
    reserved: bool
    may_lack_nodes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudGroupPlan:
    """One group of equal nodes that a cloud makes. ``gate_keys``: what its gate's group says beside what all clouds' say."""

    name: str
    machine: Machine
    nodes: int
    capacity: CapacityPlan
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    zone: str
    tags: Mapping[str, str]
    gate_keys: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudStackPlan(GroupsPlan):
    """One stack of a cloud. ``groups`` are the gates and profiles of ``node_groups``, in the same order."""

    cloud: ClassVar[str]
    region: str
    zone: str
    tags: Mapping[str, str]
    node_groups: Sequence[CloudGroupPlan]
    cost: HourlyCost
