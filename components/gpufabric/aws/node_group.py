"""A group of GPU nodes on EKS: one launch template, one managed node group, and the pod profile of its jobs.

Not pulumi-eks: its EFA switch puts EFA on card 0 of every machine and forces a placement group, which newer types refuse.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from pulumi import ComponentResource, Input, Output, Resource, ResourceOptions
from pulumi_aws import autoscaling, ec2, eks

from gpufabric.aws.lookup import look_up
from gpufabric.aws.nodes import NODE_POLICIES, encrypted_root, managed_role
from gpufabric.kubernetes import clock
from gpufabric.kubernetes.args import NodeGroupArgs
from gpufabric.kubernetes.handles import given, wishes
from gpufabric.plan import PodProfile, decide_hardware, pod_profile
from gpufabric.plan.aws import plan_alone
from gpufabric.plan.aws.lookup import wants
from gpufabric.plan.aws.policies import trust
from gpufabric.plan.aws.regions import region_of
from gpufabric.plan.cloud_group import gate_group
from gpufabric.spec.aws import EksGpuNodesSpec

_HANDLES = frozenset({"cluster_name", "cluster_security_group_id", "efa_security_group_id", "subnet_id"})
_MAYBE_MADE = frozenset({"node_role_arn"})
_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE", "PreferNoSchedule": "PREFER_NO_SCHEDULE"}


class AwsCapacityArgs(TypedDict):
    """How the machines are had: one flat dict with a ``kind``."""

    kind: NotRequired[str]
    """``on_demand`` (default), ``spot``, ``reservation`` (On-Demand Capacity Reservation) or ``capacity_block``."""
    id: NotRequired[str]
    """Id of the reservation or block, ``cr-...``. Required with ``reservation`` and ``capacity_block``."""
    starts_at: NotRequired[str]
    """Begin of the window in UTC, such as ``2026-12-01T11:30:00Z``. Required with ``capacity_block`` unless ``lookup``."""
    ends_at: NotRequired[str]
    """End of the window in UTC. Required with ``capacity_block`` unless ``lookup``."""
    lookup: NotRequired[bool]
    """Ask AWS at preview whether zone, type, count and window fit. Default: false."""
    placement_group: NotRequired[str]
    """Name of the placement group that the reservation was made in. Default: none; on demand one of its own is made."""


class EksNodeGroupArgs(TypedDict):
    """One group of a stack."""

    name: str
    """Name of the group, part of the names of what is created for it: 1 to 20 of ``a-z``, ``0-9``, ``-``."""
    accelerators: NotRequired[str]
    """``NAME:COUNT`` per node in SkyPilot's words, such as ``H100:8``. Default: what ``machine_type`` holds."""
    machine_type: NotRequired[str]
    """Instance type. Default: the only one that has ``accelerators``; several are listed in an error."""
    nodes: int
    """Number of nodes, exactly: 1 to 5,000."""
    network_tier: NotRequired[str]
    """``best`` (default): EFA on every card, or an error. ``standard``: Ethernet, asked for by name."""
    disk_tier: NotRequired[str]
    """``best`` (default): the local NVMe disks, striped, hold containers and scratch. ``network``: the root volume alone."""
    capacity: NotRequired[AwsCapacityArgs]
    """How the machines are had. Default: on demand."""
    ami_type: NotRequired[str]
    """EKS's name of the image family. Default: AL2023 with NVIDIA's driver, for the machine's architecture."""
    ami_release: NotRequired[str]
    """Release of the image. Default: the table's for the cluster's Kubernetes version."""
    root_volume_gib: NotRequired[int]
    """Size of the root volume, 50 to 16,384 GiB. Default: 200."""
    public_ip: NotRequired[bool]
    """Give nodes public addresses. Default: false. AWS cannot with more than one network interface."""
    auto_repair: NotRequired[bool]
    """Let EKS replace or reboot nodes that its monitoring agent finds broken. Default: true."""
    imds_hop_limit: NotRequired[int]
    """How far instance metadata reaches, 1 to 2. Default: 1, the node itself; with 2 pods can take the node's credentials."""
    node_role_arn: NotRequired[str]
    """ARN of the nodes' IAM role. Default: one is made, for a cluster whose CNI has its permissions by pod identity."""


class EksGpuNodeGroupArgs(EksNodeGroupArgs):
    """Arguments of :class:`gpufabric.aws.EksGpuNodeGroup`."""

    cluster_name: Input[str]
    """Name of the EKS cluster."""
    cluster_security_group_id: Input[str]
    """The cluster's own security group: with a launch template that names any group, EKS no longer adds it."""
    efa_security_group_id: NotRequired[Input[str]]
    """Security group that allows all traffic to itself, in and out. Required with ``network_tier: best``."""
    subnet_id: Input[str]
    """The private subnet of the nodes: one, since EFA does not cross zones."""
    node_role_arn: NotRequired[Input[str]]  # type: ignore[misc]  # an id here, a word of the stack file in a stack
    """ARN of the nodes' IAM role. Default: one is made, for a cluster whose CNI has its permissions by pod identity."""
    zone: str
    """Availability zone of ``subnet_id``, such as ``us-east-2b``."""
    kubernetes_version: NotRequired[str]
    """Kubernetes version of the cluster, such as ``1.35``: the image release is pinned for it. Default: the table's."""
    tags: NotRequired[dict[str, str]]
    """Tags of everything that is created. Default: none."""


class EksGpuNodeGroup(ComponentResource):
    """GPU nodes of an EKS cluster, closed to jobs until their gate passed.

    ``pod_profile.apply_to(job_spec)`` gives a job the fabric; ``gate_group`` is the ``node_group`` of the group's
    :class:`gpufabric.kubernetes.NcclValidation`, which takes the hold's taint away (``validation.hold: taint``).

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    node_group_name: Output[str]
    """Name of the managed node group."""
    autoscaling_group_name: Output[str]
    """Name of the Auto Scaling group that EKS made for it."""
    launch_template_id: Output[str]
    """Id of the launch template."""
    profile: Output[Mapping[str, Any]]
    """The pod profile as plain data, for stack outputs and other languages."""

    def __init__(self, name: str, args: EksGpuNodeGroupArgs, opts: ResourceOptions | None = None) -> None:
        # A role that exists is a word to be read; of one that the program makes nothing is known yet.
        to_come = given(args, _MAYBE_MADE) and isinstance(args["node_role_arn"], Output)
        wish = EksGpuNodesSpec.parse(wishes(args, _HANDLES | (_MAYBE_MADE if to_come else set())), name)
        found = None
        if wants(wish.capacity):
            found = look_up(str(wish.capacity.id), region_of(wish.zone), opts, f"{name}.capacity.id")
        plan = plan_alone(wish, now=clock.now(), path=name, handles=given(args, _HANDLES), found=found)
        member = gate_group(plan)
        self.pod_profile: PodProfile = pod_profile(member, *decide_hardware(member, name))
        self.gate_group: NodeGroupArgs = member.model_dump(exclude_none=True)  # type: ignore[assignment]  # plain keys of the spec
        super().__init__("gpufabric:index:EksGpuNodeGroup", name, {}, opts)
        self._name, self._plan, self._args = name, plan, args
        self._child = ResourceOptions(parent=self)
        template = self._launch_template(self._placement_group())
        group = self._node_group(template)
        self.node_group_name = group.node_group_name
        self.launch_template_id = template.id
        self.autoscaling_group_name = group.resources.apply(lambda made: made[0].autoscaling_groups[0].name)
        if plan.capacity.scale_up:
            self._scale_up()
        self.profile = Output.from_input(self.pod_profile.to_dict())
        self.register_outputs(
            {
                "node_group_name": self.node_group_name,
                "autoscaling_group_name": self.autoscaling_group_name,
                "launch_template_id": self.launch_template_id,
                "profile": self.profile,
            }
        )

    def _placement_group(self) -> Input[str] | None:
        """On demand, EFA nodes stand near each other. Never with a block or a reservation: no capacity is found then."""
        if not self._plan.capacity.own_placement_group:
            return self._plan.capacity.placement_group
        made = ec2.PlacementGroup(f"{self._name}-placement", strategy="cluster", tags=self._tags, opts=self._child)
        name: Output[str] = made.name
        return name

    @property
    def _tags(self) -> dict[str, str] | None:
        return dict(self._plan.tags) or None

    def _launch_template(self, placement_group: Input[str] | None) -> ec2.LaunchTemplate:
        """The machine type stands here and not in the node group: EKS refuses it in both."""
        plan, capacity = self._plan, self._plan.capacity
        market: dict[str, Any] = {"market_type": capacity.market_type} if capacity.market_type else {}
        target: dict[str, Any] = {"capacity_reservation_target": {"capacity_reservation_id": capacity.reservation_id}}
        tags = {"Name": self._name, **plan.tags}
        return ec2.LaunchTemplate(
            f"{self._name}-template",
            instance_type=plan.machine.name,
            update_default_version=True,
            network_interfaces=self._network_interfaces(),
            metadata_options={"http_tokens": "required", "http_put_response_hop_limit": plan.imds_hop_limit},
            block_device_mappings=encrypted_root(plan.root_volume_gib),
            user_data=base64.b64encode(plan.user_data.encode()).decode() if plan.user_data else None,
            placement={"group_name": placement_group} if placement_group is not None else None,
            instance_market_options=market or None,
            capacity_reservation_specification=target if capacity.reservation_id else None,
            tag_specifications=[{"resource_type": kind, "tags": tags} for kind in ("instance", "volume", "network-interface")],
            tags=self._tags,
            opts=self._child,
        )

    def _network_interfaces(self) -> list[dict[str, Any]]:
        """Groups stand on each interface. Subnets do not: the node group has the one subnet, and EKS refuses a second word."""
        groups = [self._args["cluster_security_group_id"]]
        if "efa_security_group_id" in self._args:
            groups.append(self._args["efa_security_group_id"])
        return [
            {
                "network_card_index": each.card,
                "device_index": each.device,
                "interface_type": each.kind,
                "security_groups": groups,
                "delete_on_termination": "true",
                **({"associate_public_ip_address": "true"} if self._plan.public_ip else {}),
            }
            for each in self._plan.interfaces
        ]

    def _node_group(self, template: ec2.LaunchTemplate) -> eks.NodeGroup:
        plan = self._plan
        role, policies = self._role()
        return eks.NodeGroup(
            f"{self._name}-nodes",
            cluster_name=self._args["cluster_name"],
            node_role_arn=role,
            subnet_ids=[self._args["subnet_id"]],
            scaling_config={"desired_size": plan.capacity.desired_nodes, "max_size": plan.nodes, "min_size": 0},
            ami_type=plan.ami_type,
            release_version=plan.release_version,
            capacity_type=plan.capacity.capacity_type,
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            labels=dict(plan.labels),
            taints=[
                {"key": each.key, "effect": _EFFECTS[each.effect], **({"value": each.value} if each.value else {})}
                for each in plan.taints
            ],
            node_repair_config={"enabled": plan.auto_repair},
            update_config={"max_unavailable": 1, "update_strategy": plan.update_strategy},
            tags=self._tags,
            opts=ResourceOptions(
                parent=self,
                depends_on=policies,
                # EKS scales a block to zero before its end and the scheduled action scales up at its begin; a person may scale
                # by hand. The next `up` must not undo either (pulumi-eks issues 321, 1770).
                ignore_changes=["scalingConfig.desiredSize"],
            ),
        )

    def _role(self) -> tuple[Input[str], Sequence[Resource]]:
        """The role that was given, or one with what a node needs; and what must be there before a node starts."""
        if "node_role_arn" in self._args:
            return self._args["node_role_arn"], []
        region = region_of(self._plan.zone)
        role, policies = managed_role(
            f"{self._name}-role", trust("ec2", region), NODE_POLICIES, region=region, tags=self._tags, opts=self._child
        )
        return role.arn, policies

    def _scale_up(self) -> None:
        """Nodes at the begin of the window; it is no part of the plan once that has come, and AWS removes it then."""
        scale_up = self._plan.capacity.scale_up
        if scale_up is None:
            return
        autoscaling.Schedule(
            f"{self._name}-scale-up",
            autoscaling_group_name=self.autoscaling_group_name,
            scheduled_action_name=f"{self._name}-begin",
            start_time=f"{scale_up.at:%Y-%m-%dT%H:%M:%SZ}",
            desired_capacity=scale_up.nodes,
            min_size=0,
            max_size=scale_up.nodes,
            opts=self._child,
        )
