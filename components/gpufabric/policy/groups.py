"""Groups of GPU nodes as any program declares them: which machine, how many, how they are had, where."""

from dataclasses import dataclass
from typing import Final, Literal

from gpufabric.hardware import Machine
from gpufabric.hardware.machines import machines
from gpufabric.policy.model import Resource, Stack, once
from gpufabric.policy.tree import Node, NotCheckedError

TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
EKS_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
ASG: Final = "aws:autoscaling/group:Group"
GKE_POOL: Final = "gcp:container/nodePool:NodePool"
GROUPS: Final = (EKS_GROUP, ASG, GKE_POOL)
SUBNET: Final = "aws:ec2/subnet:Subnet"
EFA_TYPES: Final = frozenset({"efa", "efa-only"})

Way = Literal["on_demand", "spot", "reservation", "capacity_block", "flex_start"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GpuGroup:
    """A group whose machine stands in the hardware tables."""

    resource: Resource
    template: Resource | None
    """Its launch template, where the program declares it."""
    machine: Machine
    cloud: str
    region: str
    """"" where nothing says it."""
    nodes: int
    """At its largest."""
    least_nodes: int
    way: Way

    @property
    def gpus(self) -> int:
        """GPUs of the group at its largest."""
        return self.nodes * self.machine.accelerators

    @property
    def wants_fabric(self) -> bool:
        """More than one node of a machine that has a fabric."""
        return self.nodes > 1 and self.machine.fabric_devices > 0


def template_of(group: Resource, stack: Stack) -> Resource | None:
    """The launch template of an AWS group; raises where it is one that the program does not declare."""
    found = stack.linked(group, "launchTemplate", TEMPLATE)
    if found:
        return found[0]
    if group.props["launchTemplate"].present:
        raise NotCheckedError("its launch template is not part of this program")
    return None


def machine_name(group: Resource, template: Resource | None) -> str:
    """The instance type, wherever the program wrote it; "" where it wrote none."""
    if group.kind == GKE_POOL:
        return group.props.at("nodeConfig.machineType").text()
    own = group.props["instanceTypes"].texts()
    return own[0] if own else template.props["instanceType"].text() if template else ""


def gpu_group(resource: Resource, stack: Stack) -> GpuGroup | None:
    """The group of GPU nodes that a resource is, or None: CPU nodes. Raises NotCheckedError where that cannot be told."""
    if resource.kind == GKE_POOL:
        return _gke(resource)
    if resource.kind not in (EKS_GROUP, ASG):
        return None
    template = template_of(resource, stack)
    name = machine_name(resource, template)
    machine = machines().get(name)
    if machine is None:
        if "NVIDIA" in resource.props["amiType"].text():
            raise NotCheckedError(f"machine {name or '(not given)'} stands in no table")
        return None
    scaling = resource.props["scalingConfig"] if resource.kind == EKS_GROUP else resource.props
    return GpuGroup(
        resource=resource,
        template=template,
        machine=machine,
        cloud="aws",
        region=resource.props["region"].text() or resource.provider["region"].text(),
        nodes=scaling["maxSize"].whole(1),
        least_nodes=scaling["minSize"].whole(),
        way=_aws_way(resource, template),
    )


def _aws_way(group: Resource, template: Resource | None) -> Way:
    kind = group.props["capacityType"].text()
    market = template.props.at("instanceMarketOptions.marketType").text() if template else ""
    if kind == "CAPACITY_BLOCK" or market == "capacity-block":
        return "capacity_block"
    if kind == "SPOT" or market == "spot":
        return "spot"
    return "reservation" if template is not None and reservation(template).present else "on_demand"


def reservation(template: Resource) -> Node:
    """Where a launch template names its capacity reservation."""
    return template.props.at("capacityReservationSpecification.capacityReservationTarget.capacityReservationId")


def _gke(pool: Resource) -> GpuGroup | None:
    config = pool.props["nodeConfig"]
    name = config["machineType"].text()
    machine = machines().get(name)
    if machine is None:
        if config["guestAccelerators"].present:
            raise NotCheckedError(f"machine {name or '(not given)'} stands in no table")
        return None
    scaling = pool.props["autoscaling"]
    fixed = pool.props["nodeCount"]
    most = scaling["totalMaxNodeCount"].whole() or scaling["maxNodeCount"].whole() or fixed.whole(1)
    least = scaling["totalMinNodeCount"].whole() or scaling["minNodeCount"].whole() if scaling.present else fixed.whole(1)
    location = pool.props["location"].text()
    return GpuGroup(
        resource=pool,
        template=None,
        machine=machine,
        cloud="gcp",
        region=location.rsplit("-", 1)[0] if location.count("-") == 2 else location,
        nodes=most,
        least_nodes=least,
        way=_gke_way(config, pool),
    )


def _gke_way(config: Node, pool: Resource) -> Way:
    if config["flexStart"].flag() or pool.props.at("queuedProvisioning.enabled").flag():
        return "flex_start"
    if config["spot"].flag() or config["preemptible"].flag():
        return "spot"
    return "reservation" if config.at("reservationAffinity.values").present else "on_demand"


@once
def gpu_groups(stack: Stack) -> tuple[GpuGroup, ...]:
    """All groups of GPU nodes that can be read; those that cannot are left out."""
    groups = []
    for each in stack.of(*GROUPS):
        try:
            found = gpu_group(each, stack)
        except NotCheckedError:
            continue
        if found is not None:
            groups.append(found)
    return tuple(groups)


def fabric_interfaces(template: Resource) -> list[Node]:
    """The network interfaces of a launch template that are EFA."""
    return [each for each in template.props["networkInterfaces"].items() if each["interfaceType"].text() in EFA_TYPES]


def uses_fabric(group: GpuGroup) -> bool:
    """Do its nodes have the interfaces of their fabric?"""
    if group.cloud == "aws":
        return group.template is not None and bool(fabric_interfaces(group.template))
    network = group.resource.props["networkConfig"]
    return network["additionalNodeNetworkConfigs"].present or network["acceleratorNetworkProfile"].present


def joined(group: GpuGroup) -> bool:
    """Several nodes that use their fabric."""
    return group.wants_fabric and uses_fabric(group)


@once
def fabric_groups(stack: Stack) -> tuple[GpuGroup, ...]:
    """Groups of several nodes that use their fabric, as far as they can be read."""
    groups = []
    for group in gpu_groups(stack):
        try:
            if joined(group):
                groups.append(group)
        except NotCheckedError:
            continue
    return tuple(groups)
