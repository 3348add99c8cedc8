"""The plan: everything that will be built for one stack, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpufabric.plan.deadlines import Deadlines
from gpufabric.plan.fabric import GroupAccelerators, GroupFabric
from gpufabric.plan.names import GateNames
from gpufabric.plan.profile import PodClaim, PodProfile
from gpufabric.plan.queue import QueuePlan
from gpufabric.spec import ExistingCluster
from gpufabric.spec.local_nvme import LocalNvmeSpec
from gpufabric.validation.gate_json import Gate

if TYPE_CHECKING:
    from gpufabric.plan.storage.model import RolePlan  # which stacks without roles need not load


@dataclass(frozen=True, slots=True)
class Floor:
    """Least bus bandwidth, GB/s, and where the number comes from.

    ``healthy_busbw_gbytes_per_s``: lowest and highest of healthy clusters of this hardware at this size; None is not known.
    """

    busbw_gbytes_per_s: float
    source: str
    healthy_busbw_gbytes_per_s: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePlan:
    """The gate of one node group: its contract for the programs in the cluster, and the objects that hold them.

    ``trigger`` is a hash of all that is validated plus the user's run counter: another value runs the gate again.
    ``claim``: the ranks' devices, whose template has to be in the gate's namespace.
    """

    names: GateNames
    deadlines: Deadlines
    gate: Gate
    coordinator_job_spec: Mapping[str, Any]
    pod_security: str
    trigger: str
    claim: PodClaim | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """One node group: decided fabric, pod profile, floor and gate; and the queue of its jobs, where there is one.

    ``keep``: the gate goes on between deployments.
    """

    name: str
    nodes: int
    node_selector: Mapping[str, str]
    accelerators: GroupAccelerators
    fabric: GroupFabric
    profile: PodProfile
    floor: Floor
    gate: GatePlan
    keep: bool = False
    queue: QueuePlan | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsPlan:
    """What the plans of all clouds share: the stack's name, its groups with profile and gate, and its roles of storage."""

    stack: str
    groups: tuple[GroupPlan, ...]
    storage: "tuple[RolePlan, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StackPlan(GroupsPlan):
    """One stack on a cluster of one's own. ``local_nvme``: what becomes of the nodes' local disks, by group."""

    cluster: ExistingCluster
    local_nvme: Mapping[str, LocalNvmeSpec] = field(default_factory=dict)
