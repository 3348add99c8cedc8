"""The plan of a stack on Google Cloud: everything that will be built, as values."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpufabric.hardware import GcpMachine
from gpufabric.plan.cloud_model import CapacityPlan, CloudGroupPlan, CloudStackPlan
from gpufabric.plan.gcp.bucket import GcsBucketPlan
from gpufabric.plan.gcp.cluster import ExistingGkePlan, GkeClusterPlan
from gpufabric.plan.gcp.filesystem import FilesystemPlan
from gpufabric.plan.gcp.network import NetworkPlan

NETWORKS, DRANET = "networks", "dranet"
DRIVER_DISABLED = "INSTALLATION_DISABLED"
EPHEMERAL, BLOCK = "ephemeral", "block"


@dataclass(frozen=True, slots=True)
class ReservationAffinity:
    """Which reservations a node pool takes from, in GKE's words. ``key`` and ``values`` only with SPECIFIC_RESERVATION."""

    consume_type: str
    key: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GkeCapacityPlan(CapacityPlan):
    """How the machines of a node pool are had.

    ``affinity`` None: GKE's default, any reservation that fits. ``from_zero``: nodes come when a job asks for them, ``nodes``
    at most, and none is there to be validated before. ``max_run_s``: how long a node lives; None for GKE's default.
    ``compact``: nodes stand near each other, by ``placement_policy`` or, where that is None, by a policy that GKE makes.
    """

    spot: bool
    flex_start: bool
    queued: bool
    from_zero: bool
    max_run_s: int | None
    affinity: ReservationAffinity | None
    compact: bool
    placement_policy: str | None


@dataclass(frozen=True, slots=True)
class LocalDisks:
    """Local SSD of a node. ``use``: ``ephemeral`` (striped, for containers and scratch) or ``block`` (raw, unused by us)."""

    count: int
    use: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GkeNodePoolPlan(CloudGroupPlan):
    """One node pool.

    ``attachment``: ``networks`` or ``dranet``; None on Ethernet. ``driver_version`` in GKE's words. ``surge``: most nodes more,
    and most nodes fewer, during an update; None where GKE lets nodes live out their time.
    """

    machine: GcpMachine
    capacity: GkeCapacityPlan
    project: str
    attachment: str | None
    image_type: str
    driver_version: str
    boot_disk_type: str
    boot_disk_gib: int
    local_disks: LocalDisks | None
    auto_repair: bool
    auto_upgrade: bool
    surge: tuple[int, int] | None

    @property
    def secure_boot(self) -> bool:
        """Only signed modules are loaded: GKE's drivers are, one that is installed otherwise may not be."""
        return self.driver_version != DRIVER_DISABLED


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpParts:
    """Everything of a stack that is no node pool. ``networked``: machine types whose networks the cluster has to know."""

    network: NetworkPlan
    cluster: GkeClusterPlan | ExistingGkePlan
    filesystems: Mapping[str, FilesystemPlan]
    stores: Mapping[str, GcsBucketPlan]
    daemons: tuple[str, ...]
    networked: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpStackPlan(CloudStackPlan):
    """One stack on Google Cloud. ``version``: of GKE, as it was asked for or of the table."""

    cloud = "gcp"
    project: str
    version: str
    parts: GcpParts
    node_groups: tuple[GkeNodePoolPlan, ...]
