"""The plan of a stack on AWS: everything that will be built, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gpufabric.hardware import AwsMachine, EksVersion
from gpufabric.plan.aws.bucket import BucketPlan
from gpufabric.plan.aws.cluster import ClusterPlan
from gpufabric.plan.aws.filesystem import LustrePlan
from gpufabric.plan.aws.network import NetworkPlan
from gpufabric.plan.cloud_model import CapacityPlan, CloudGroupPlan, CloudStackPlan

INTERFACE, EFA_ONLY = "interface", "efa-only"


@dataclass(frozen=True, slots=True)
class NetworkInterface:
    """One interface of a node. ``kind``: ``interface`` (has an IP address) or ``efa-only``. ``device`` is 0 or 1."""

    card: int
    device: int
    kind: str


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """One scheduled action: ``nodes`` at ``at`` (UTC)."""

    at: datetime
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsCapacityPlan(CapacityPlan):
    """How the machines of a group are had on AWS.

    ``capacity_type``: of the node group in EKS's words (ON_DEMAND, SPOT, CAPACITY_BLOCK). ``market_type``: of the launch
    template, empty for the ordinary one. ``own_placement_group``: one is made; ``placement_group``: name of one that exists.
    """

    capacity_type: str
    market_type: str
    own_placement_group: bool
    placement_group: str | None
    scale_up: ScaleUp | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EksNodeGroupPlan(CloudGroupPlan):
    """One managed node group and its launch template.

    ``user_data`` is the MIME text before base64. ``release_version`` and ``ami_type`` stand on the node group, the machine type
    in the launch template alone (EKS refuses it in both).
    """

    machine: AwsMachine
    capacity: AwsCapacityPlan
    interfaces: tuple[NetworkInterface, ...]
    ami_type: str
    release_version: str
    user_data: str
    root_volume_gib: int
    public_ip: bool
    auto_repair: bool
    imds_hop_limit: int
    update_strategy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsParts:
    """Everything of a stack that is no node group. ``cluster``: the plan of one to make, or the name of one that exists."""

    network: NetworkPlan
    cluster: ClusterPlan | str
    filesystems: Mapping[str, LustrePlan]
    stores: Mapping[str, BucketPlan]
    daemons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsStackPlan(CloudStackPlan):
    """One stack on AWS."""

    cloud = "aws"
    version: EksVersion
    parts: AwsParts
    node_groups: tuple[EksNodeGroupPlan, ...]
