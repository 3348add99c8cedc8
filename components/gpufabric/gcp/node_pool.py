"""A group of GPU nodes on GKE: one node pool, and the pod profile of its jobs."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from pulumi import ComponentResource, CustomTimeouts, Input, Output, Resource, ResourceOptions
from pulumi_gcp import container

from gpufabric.gcp.network import plain_networks
from gpufabric.gcp.nodes import node_account, safe_node_config
from gpufabric.kubernetes import clock
from gpufabric.kubernetes.args import NodeGroupArgs, NodeNetworkArgs, PreflightArgs
from gpufabric.kubernetes.handles import given, wishes
from gpufabric.plan import PodProfile, decide_hardware, pod_profile
from gpufabric.plan.cloud_group import gate_group
from gpufabric.plan.gcp import plan_alone
from gpufabric.plan.gcp.cluster import account_id
from gpufabric.plan.gcp.model import DRANET, EPHEMERAL
from gpufabric.spec.gcp import GkeGpuNodesSpec
from gpufabric.spec.gcp.network import GkePoolNetworks

_HANDLES = frozenset({"cluster_name", "location", "additional_networks", "node_service_account"})
_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE", "PreferNoSchedule": "PREFER_NO_SCHEDULE"}
_TIMEOUT = "90m"  # GKE waits for all nodes, whose drivers take a quarter of an hour; the provider's own is half an hour


class GcpCapacityArgs(TypedDict):
    """How the machines are had: one flat dict with a ``kind``."""

    kind: NotRequired[str]
    """``on_demand`` (default), ``spot``, ``reservation``, ``flex_start`` (nodes come one by one, for seven days at most) or
    ``queued`` (all nodes of a job come at once, by Kueue's request, for seven days at most)."""
    id: NotRequired[str]
    """Name of the reservation, or ``projects/PROJECT/reservations/NAME`` of another project. Required with ``reservation``."""
    block: NotRequired[str]
    """Name of a block of the reservation, which must be the project's own. Default: any of its blocks."""
    placement_policy: NotRequired[str]
    """Name of the compact placement policy that the reservation was made with. Default: none; on demand GKE makes one."""
    max_run_seconds: NotRequired[int]
    """How long a node of ``flex_start`` or ``queued`` lives, 600 to 604,800 seconds. Default: seven days."""
    starts_at: NotRequired[str]
    """Begin of the reservation's window in UTC, such as ``2026-12-01T11:30:00Z``: no nodes before it. Default: it has begun."""
    ends_at: NotRequired[str]
    """End of the reservation's window in UTC: no nodes after it. Default: it has none."""


class GkeNodePoolArgs(TypedDict):
    """One group of a stack."""

    name: str
    """Name of the group, part of the names of what is created for it: 1 to 20 of ``a-z``, ``0-9``, ``-``."""
    accelerators: NotRequired[str]
    """``NAME:COUNT`` per node in SkyPilot's words, such as ``H100:8``. Default: what ``machine_type`` holds."""
    machine_type: NotRequired[str]
    """Machine type. Default: the only one that has ``accelerators``; several are listed in an error."""
    nodes: int
    """Number of nodes, exactly: 1 to 5,000. With ``flex_start`` and ``queued`` the most there can be."""
    network_tier: NotRequired[str]
    """``best`` (default): GPUDirect or RDMA at the machine's full rate, or an error. ``standard``: Ethernet, asked for."""
    disk_tier: NotRequired[str]
    """``best`` (default): the local SSDs, striped, hold containers and scratch. ``network``: the boot disk alone."""
    capacity: NotRequired[GcpCapacityArgs]
    """How the machines are had. Default: on demand."""
    fabric_attachment: NotRequired[str]
    """``networks`` (default): a network of GKE for each card. ``dranet``: GKE makes the networks, pods claim the cards."""
    driver_version: NotRequired[str]
    """NVIDIA's driver: GKE's ``default`` or ``latest``, or ``disabled``, where you install it. Default: the machine table's. A
    change replaces the node pool."""
    boot_disk_type: NotRequired[str]
    """Type of the boot disk, such as ``hyperdisk-balanced``. Default: the machine table's."""
    boot_disk_gib: NotRequired[int]
    """Size of the boot disk, 50 to 65,536 GiB. Default: 200."""
    auto_repair: NotRequired[bool]
    """Let GKE repair nodes that it finds broken. Default: true; false with ``flex_start`` and ``queued``, which refuse it."""
    preflight: NotRequired[PreflightArgs]
    """Of ``flex_start`` and ``queued``: in which image jobs look at their nodes, which nobody could validate before.
    Default: the fabric's; on Ethernet required."""


class GkeGpuNodePoolArgs(GkeNodePoolArgs):
    """Arguments of :class:`gpufabric.gcp.GkeGpuNodePool`."""

    project: str
    """Project of the cluster."""
    zone: str
    """Zone of the nodes, such as ``us-central1-a``."""
    cluster_name: Input[str]
    """Name of the GKE cluster, with Dataplane V2 and multi-networking."""
    location: Input[str]
    """Its region, or its zone if it is zonal."""
    additional_networks: NotRequired[list[NodeNetworkArgs]]
    """The networks of the machine's fabric in rail order (``cards`` of GcpNetwork). Required with ``networks``."""
    node_service_account: NotRequired[Input[str]]
    """Email of the nodes' service account. Default: one is made that may log, measure and pull images."""
    network_profile: NotRequired[str]
    """Profile of the RDMA network among ``additional_networks``, such as ``us-central1-a-vpc-roce``. Default: not checked."""
    kubernetes_version: NotRequired[str]
    """Version of the cluster, such as ``1.35``: each fabric works from one on. Default: the table's."""
    tags: NotRequired[dict[str, str]]
    """Labels of everything that is created, at most 54. Default: none."""


class GkeGpuNodePool(ComponentResource):
    """GPU nodes of a GKE cluster, closed to jobs until their gate passed.

    ``pod_profile.apply_to(job_spec)`` gives a job the fabric; ``gate_group`` is the ``node_group`` of the group's
    :class:`gpufabric.kubernetes.NcclValidation`, which takes the hold's taint away (``validation.hold: taint``).

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    node_pool_name: Output[str]
    """Name of the node pool."""
    profile: Output[Mapping[str, Any]]
    """The pod profile as plain data, for stack outputs and other languages."""

    def __init__(self, name: str, args: GkeGpuNodePoolArgs, opts: ResourceOptions | None = None) -> None:
        wish = GkeGpuNodesSpec.parse(wishes(args, _HANDLES), name)
        networks = GkePoolNetworks.parse({"additional_networks": plain_networks(args.get("additional_networks", []))}, name)
        handles = given(args, _HANDLES)
        plan = plan_alone(wish, now=clock.now(), path=name, handles=handles, networks=networks.additional_networks)
        member = gate_group(plan)
        self.pod_profile: PodProfile = pod_profile(member, *decide_hardware(member, name))
        self.gate_group: NodeGroupArgs = member.model_dump(exclude_none=True)  # type: ignore[assignment]  # plain keys of the spec
        super().__init__("gpufabric:index:GkeGpuNodePool", name, {}, opts)
        self._name, self._plan, self._args = name, plan, args
        self._child = ResourceOptions(parent=self)
        self.node_pool_name = self._pool().name
        self.profile = Output.from_input(self.pod_profile.to_dict())
        self.register_outputs({"node_pool_name": self.node_pool_name, "profile": self.profile})

    def _pool(self) -> container.NodePool:
        plan, capacity = self._plan, self._plan.capacity
        account, roles = self._account()
        return container.NodePool(
            self._name,
            project=plan.project,
            cluster=self._args["cluster_name"],
            location=self._args["location"],
            node_locations=[plan.zone],
            **self._size(),
            management={"auto_repair": plan.auto_repair, "auto_upgrade": plan.auto_upgrade},
            upgrade_settings=self._updates(),
            placement_policy=self._placement(),
            queued_provisioning={"enabled": True} if capacity.queued else None,
            network_config=self._network_config(),
            node_config=self._node_config(account),
            opts=ResourceOptions(
                parent=self,
                depends_on=roles,
                custom_timeouts=CustomTimeouts(create=_TIMEOUT, update=_TIMEOUT, delete=_TIMEOUT),
                # A full reservation has no room for a successor: made first, it would wait for ever.
                delete_before_replace=capacity.reserved or None,
            ),
        )

    def _size(self) -> dict[str, Any]:
        """Never ``initial_node_count``, whose change replaces the pool (pulumi-gcp issue 412)."""
        capacity = self._plan.capacity
        if not capacity.from_zero:
            return {"node_count": capacity.desired_nodes}
        scaling = {"total_min_node_count": 0, "total_max_node_count": self._plan.nodes, "location_policy": "ANY"}
        return {"autoscaling": scaling}

    def _placement(self) -> dict[str, str] | None:
        capacity = self._plan.capacity
        if not capacity.compact:
            return None
        named = {"policy_name": capacity.placement_policy} if capacity.placement_policy else {}
        return {"type": "COMPACT", **named}

    def _updates(self) -> dict[str, Any] | None:
        if self._plan.surge is None:
            return None
        more, fewer = self._plan.surge
        return {"strategy": "SURGE", "max_surge": more, "max_unavailable": fewer}

    def _network_config(self) -> dict[str, Any]:
        networks = [dict(each) for each in self._args.get("additional_networks", [])]
        return {
            "enable_private_nodes": True,
            **({"additional_node_network_configs": networks} if networks else {}),
            **({"accelerator_network_profile": "auto"} if self._plan.attachment == DRANET else {}),
        }

    def _node_config(self, account: Input[str]) -> dict[str, Any]:
        plan, capacity, disks = self._plan, self._plan.capacity, self._plan.local_disks
        gpu = {
            "type": plan.machine.accelerator_type,
            "count": plan.machine.accelerators,
            "gpu_driver_installation_config": {"gpu_driver_version": plan.driver_version},
        }
        of_disks = "ephemeral_storage_local_ssd_config" if disks and disks.use == EPHEMERAL else "local_nvme_ssd_block_config"
        return {
            **safe_node_config(account, secure_boot=plan.secure_boot),
            "machine_type": plan.machine.name,
            "image_type": plan.image_type,
            "guest_accelerators": [gpu],
            "gvnic": {"enabled": True},
            "disk_type": plan.boot_disk_type,
            "disk_size_gb": plan.boot_disk_gib,
            "labels": dict(plan.labels),
            "resource_labels": dict(plan.tags),
            # GKE adds the GPUs' taint itself; unsaid, it is a difference at every update (terraform-provider-google 7928).
            "taints": [{"key": each.key, "value": each.value, "effect": _EFFECTS[each.effect]} for each in plan.taints],
            **({of_disks: {"local_ssd_count": disks.count}} if disks else {}),
            **({"spot": True} if capacity.spot else {}),
            **({"flex_start": True} if capacity.flex_start else {}),
            **({"max_run_duration": f"{capacity.max_run_s}s"} if capacity.max_run_s else {}),
            **self._reservation(),
        }

    def _reservation(self) -> dict[str, Any]:
        affinity = self._plan.capacity.affinity
        if affinity is None:
            return {}
        named = {"key": affinity.key, "values": list(affinity.values)} if affinity.key else {}
        return {"reservation_affinity": {"consume_reservation_type": affinity.consume_type, **named}}

    def _account(self) -> tuple[Input[str], Sequence[Resource]]:
        """The account that was given, or one with what a node needs; and what must be there before a node starts."""
        if "node_service_account" in self._args:
            return self._args["node_service_account"], []
        name = f"{self._name}-nodes"
        account, roles = node_account(name, account_id(name), self._plan.project, self._child)
        return account.email, roles
