"""The plan of a stack on AWS: everything that will be built, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from gpufabric.hardware import AwsMachine, EksVersion
from gpufabric.plan.aws.bucket import BucketPlan
from gpufabric.plan.aws.cluster import ClusterPlan
from gpufabric.plan.aws.filesystem import LustrePlan
from gpufabric.plan.aws.network import NetworkPlan
from gpufabric.plan.cloud import HourlyCost, Taint
from gpufabric.plan.model import GroupsPlan

INTERFACE, EFA_ONLY = "interface", "efa-only"


@dataclass(frozen=True, slots=True)
class NetworkInterface:
    """One interface of a node. ``kind``: ``interface`` (has an IP address) or ``efa-only``. ``device`` is 0 or 1."""

    card: int
    device: int
    kind: str


class Phase(Enum):
    """Where now lies to the window of the capacity; capacity without a window is always OPEN."""

    BEFORE = "before"
    OPEN = "open"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """One scheduled action: ``nodes`` at ``at`` (UTC)."""

    at: datetime
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityPlan:
    """How the machines of a group are had.

    ``capacity_type``: of the node group in EKS's words (ON_DEMAND, SPOT, CAPACITY_BLOCK). ``market_type``: of the launch
    template, empty for the ordinary one. ``own_placement_group``: one is made; ``placement_group``: name of one that exists.
    ``desired_nodes``: when the group is made; 0 outside the window. ``reserved``: it must never ask for one node more.
    ``may_lack_nodes``: fewer nodes than asked are normal, so that the gate's outcome is pending.
    """

    kind: str
    phase: Phase
    capacity_type: str
    market_type: str
    reservation_id: str | None
    own_placement_group: bool
    placement_group: str | None
    desired_nodes: int
    scale_up: ScaleUp | None
    reserved: bool
    may_lack_nodes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EksNodeGroupPlan:
    """One managed node group and its launch template.

    ``user_data`` is the MIME text before base64. ``release_version`` and ``ami_type`` stand on the node group, the machine type
    in the launch template alone (EKS refuses it in both).
    """

    name: str
    machine: AwsMachine
    nodes: int
    interfaces: tuple[NetworkInterface, ...]
    capacity: CapacityPlan
    ami_type: str
    release_version: str
    user_data: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    root_volume_gib: int
    public_ip: bool
    auto_repair: bool
    imds_hop_limit: int
    zone: str
    update_strategy: str
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsParts:
    """Everything of a stack that is no node group. ``cluster``: the plan of one to make, or the name of one that exists."""

    network: NetworkPlan
    cluster: ClusterPlan | str
    filesystems: Mapping[str, LustrePlan]
    stores: Mapping[str, BucketPlan]
    daemons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsStackPlan(GroupsPlan):
    """One stack on AWS. ``groups`` are the gates and profiles of ``node_groups``, in the same order."""

    region: str
    zone: str
    tags: Mapping[str, str]
    version: EksVersion
    parts: AwsParts
    node_groups: tuple[EksNodeGroupPlan, ...]
    cost: HourlyCost
