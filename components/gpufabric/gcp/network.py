"""The networks of a training cluster: a VPC for nodes and pods, and those of the GPUs' cards; or some that exist."""

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network
from typing import Any, NotRequired, TypedDict

from pulumi import ComponentResource, Input, Output, ResourceOptions
from pulumi_gcp import compute, servicenetworking

from gpufabric.kubernetes.args import NodeNetworkArgs
from gpufabric.kubernetes.handles import known
from gpufabric.plan.gcp.filesystem import LUSTRE_PORT
from gpufabric.plan.gcp.network import PODS_RANGE, SERVICES_RANGE, UNKNOWN, HostPlan, VpcPlan, plan_network
from gpufabric.spec import SpecError
from gpufabric.spec.gcp.network import GcpNetworkWish

_MIN_PORTS, _MAX_PORTS = 128, 8192  # of NAT for one node: images are pulled over many connections at once
_ANYONE = "0.0.0.0/0"  # the one source range that a policy of RoCE takes; nothing but this VPC's cards can reach it


class ExistingGcpNetworkArgs(TypedDict):
    """A VPC that exists. Nothing in it is changed."""

    network: Input[str]
    """Name of the VPC of the nodes and the control plane."""
    subnetwork: Input[str]
    """Name of its subnet, with Private Google Access and a way out (Cloud NAT)."""
    pods_range: Input[str]
    """Name of the subnet's secondary range for pods."""
    services_range: Input[str]
    """Name of the subnet's secondary range for services."""
    gpu_networks: NotRequired[dict[str, list[NodeNetworkArgs]]]
    """The GPU networks in rail order, by machine type. Default: they are made out of ``cidr``."""


class GcpNetworkArgs(TypedDict):
    """Arguments of :class:`gpufabric.gcp.GcpNetwork`."""

    project: str
    """Project that owns what is made."""
    region: str
    """Region of the subnets, such as ``us-central1``."""
    zone: str
    """Zone of the GPU nodes, such as ``us-central1-a``: a network of RDMA belongs to one."""
    machine_types: NotRequired[list[str]]
    """GPU machines that get the networks of their fabric. Default: none, and the nodes' own VPC alone is made."""
    gpu_nodes: NotRequired[int]
    """How many GPU nodes the network has to hold, 0 to 5,000. Default: 0, which checks nothing."""
    cidr: NotRequired[str]
    """Private block out of which all subnets are cut, /11 to /16. Default: ``10.0.0.0/14``."""
    mtu: NotRequired[int]
    """MTU of the nodes' own VPC, 1,300 to 8,896 bytes. Default: Google's for the machines. Not that of GPU networks."""
    existing: NotRequired[ExistingGcpNetworkArgs]
    """A VPC that exists, instead of ``mtu``. Default: one is made."""
    private_services: NotRequired[bool]
    """Peer the VPC with Google's managed services: Managed Lustre and Filestore need it. Default: false."""


class GcpNetwork(ComponentResource):
    """The VPC of a training cluster with one way out, and for each GPU machine the networks that its fabric needs.

    ``cards`` are ``gpu_networks`` as plain lists of Outputs: what GkeGpuNodePool and FabricNetworks are given.
    Nodes have no public address. Networks of RDMA have the zone's own profile and Google's own kind of firewall.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    network_name: Output[str]
    """Name of the VPC of nodes and control plane, or its path where another project owns it."""
    network_id: Output[str]
    """Its path, ``projects/PROJECT/global/networks/NAME``."""
    subnetwork_name: Output[str]
    """Name of its subnet."""
    pods_range: Output[str]
    """Name of the range for pods."""
    services_range: Output[str]
    """Name of the range for services."""
    gpu_networks: Output[Mapping[str, Sequence[Mapping[str, str]]]]
    """By machine type ``network`` and ``subnetwork`` of each card beside the first, in the order of a node pool."""

    def __init__(self, name: str, args: GcpNetworkArgs, opts: ResourceOptions | None = None) -> None:
        wish = GcpNetworkWish.parse(_plain(args), name)
        try:
            plan = plan_network(wish, name=name)
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:GcpNetwork", name, {}, opts)
        self._name, self._plan, self._child = name, plan, ResourceOptions(parent=self)
        found: dict[str, list[NodeNetworkArgs]] = {}
        if plan.host:
            self._make_host(plan.host)
        else:
            found = self._find(args["existing"])
        made = {each.key: self._vpc(each) for each in plan.vpcs}
        for machine, rails in plan.gpu.items():
            found[machine] = [{"network": made[vpc][0].name, "subnetwork": made[vpc][1][key].name} for vpc, key in rails]
        self.cards: Mapping[str, list[NodeNetworkArgs]] = found
        plain: Any = found
        self.gpu_networks = Output.from_input(plain)
        self.register_outputs(
            {
                "network_name": self.network_name,
                "network_id": self.network_id,
                "subnetwork_name": self.subnetwork_name,
                "pods_range": self.pods_range,
                "services_range": self.services_range,
                "gpu_networks": self.gpu_networks,
            }
        )

    def _find(self, existing: ExistingGcpNetworkArgs) -> dict[str, list[NodeNetworkArgs]]:
        """Names of what exists are taken as they are: that they fit each other is the preflight's to see."""
        project = self._plan.project
        self.network_name = Output.from_input(existing["network"])
        self.network_id = self.network_name.apply(
            lambda found: found if "/" in found else f"projects/{project}/global/networks/{found}"
        )
        self.subnetwork_name = Output.from_input(existing["subnetwork"])
        self.pods_range = Output.from_input(existing["pods_range"])
        self.services_range = Output.from_input(existing["services_range"])
        return dict(existing.get("gpu_networks", {}))

    def _make_host(self, host: HostPlan) -> None:
        """One subnet that reaches Google without a detour and the internet through NAT. GKE makes its firewall rules itself."""
        plan = self._plan
        vpc = self._network("vpc", host.mtu)
        self.network_name, self.network_id = vpc.name, vpc.id
        subnet = compute.Subnetwork(
            f"{self._name}-nodes",
            project=plan.project,
            region=plan.region,
            network=vpc.id,
            ip_cidr_range=host.nodes,
            private_ip_google_access=True,
            secondary_ip_ranges=[
                {"range_name": PODS_RANGE, "ip_cidr_range": host.pods},
                {"range_name": SERVICES_RANGE, "ip_cidr_range": host.services},
            ],
            opts=self._child,
        )
        self.subnetwork_name = subnet.name
        # From the subnet, so that the ranges are there before whoever is given their names.
        self.pods_range = subnet.secondary_ip_ranges.apply(lambda ranges: str(ranges[0].range_name))
        self.services_range = subnet.secondary_ip_ranges.apply(lambda ranges: str(ranges[1].range_name))
        router = compute.Router(
            f"{self._name}-router", project=plan.project, region=plan.region, network=vpc.id, opts=self._child
        )
        compute.RouterNat(
            f"{self._name}-nat",
            project=plan.project,
            region=plan.region,
            router=router.name,
            nat_ip_allocate_option="AUTO_ONLY",
            source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
            enable_dynamic_port_allocation=True,
            enable_endpoint_independent_mapping=False,  # Google refuses it beside dynamic ports
            min_ports_per_vm=_MIN_PORTS,
            max_ports_per_vm=_MAX_PORTS,
            log_config={"enable": True, "filter": "ERRORS_ONLY"},
            opts=self._child,
        )
        if host.services_peer:
            self._peer(vpc, IPv4Network(host.services_peer))

    def _peer(self, vpc: compute.Network, block: IPv4Network) -> None:
        """A block of the VPC for Google's managed services, and Lustre's way back to its clients."""
        project = self._plan.project
        address = compute.GlobalAddress(
            f"{self._name}-services",
            project=project,
            network=vpc.id,
            purpose="VPC_PEERING",
            address_type="INTERNAL",
            address=str(block.network_address),
            prefix_length=block.prefixlen,
            opts=self._child,
        )
        peering = servicenetworking.Connection(
            f"{self._name}-services",
            network=vpc.id,
            service="servicenetworking.googleapis.com",
            reserved_peering_ranges=[address.name],
            opts=self._child,
        )
        self._allow("services-lustre", vpc, str(block), [{"protocol": "tcp", "ports": [str(LUSTRE_PORT)]}])
        # Whoever is given the VPC for a managed service waits for the peering, which the id alone would not make it do.
        self.network_id = Output.all(vpc.id, peering.id).apply(lambda ids: str(ids[0]))

    def _vpc(self, plan: VpcPlan) -> tuple[compute.Network, dict[str, compute.Subnetwork]]:
        """A VPC of GPU cards. All of its members may talk: over TCP and UDP by a rule, over RDMA by the region's own kind."""
        vpc = self._network(plan.key, plan.mtu, plan.profile)
        subnets = {
            each.key: compute.Subnetwork(
                f"{self._name}-{each.key}",
                project=self._plan.project,
                region=self._plan.region,
                network=vpc.id,
                ip_cidr_range=each.cidr,
                opts=self._child,
            )
            for each in plan.subnets
        }
        if plan.profile:
            self._roce_policy(plan.key, vpc)
        else:
            for each in plan.subnets:
                protocols = [{"protocol": protocol} for protocol in ("tcp", "udp", "icmp")]
                self._allow(each.key, vpc, each.cidr, protocols)
        return vpc, subnets

    def _network(self, part: str, mtu: int, profile: str = "") -> compute.Network:
        return compute.Network(
            f"{self._name}-{part}",
            project=self._plan.project,
            auto_create_subnetworks=False,
            routing_mode="REGIONAL",
            mtu=mtu,
            network_profile=profile or None,
            opts=self._child,
        )

    def _allow(self, part: str, vpc: compute.Network, source: str, allows: list[dict[str, Any]]) -> None:
        compute.Firewall(
            f"{self._name}-{part}",
            project=self._plan.project,
            network=vpc.name,
            direction="INGRESS",
            source_ranges=[source],
            allows=allows,
            opts=self._child,
        )

    def _roce_policy(self, part: str, vpc: compute.Network) -> None:
        """Such a VPC takes no other rules; unsaid, it lets everything through, which nobody who reviews it would see."""
        where: dict[str, Any] = {"project": self._plan.project, "region": self._plan.region, "opts": self._child}
        name = f"{self._name}-{part}"
        policy = compute.RegionNetworkFirewallPolicy(
            name, policy_type="RDMA_ROCE_POLICY", description="GPU cards of one cluster, among themselves", **where
        )
        compute.RegionNetworkFirewallPolicyRule(
            name,
            firewall_policy=policy.name,
            priority=1000,
            direction="INGRESS",
            action="allow",
            match={"src_ip_ranges": [_ANYONE], "layer4_configs": [{"ip_protocol": "all"}]},
            **where,
        )
        compute.RegionNetworkFirewallPolicyAssociation(name, firewall_policy=policy.name, attachment_target=vpc.id, **where)


def _plain(args: Any) -> Any:
    """The args as the spec reads them: names that are not known yet are stood in for."""
    existing = args.get("existing") if isinstance(args, Mapping) else None
    if not isinstance(existing, Mapping):
        return args
    found: dict[str, Any] = {key: known(each, UNKNOWN) for key, each in existing.items()}
    if isinstance(found.get("gpu_networks"), Mapping):
        found["gpu_networks"] = {machine: plain_networks(each) for machine, each in found["gpu_networks"].items()}
    return {**args, "existing": found}


def plain_networks(networks: Any) -> Any:
    """A list of networks as the spec reads them."""
    if not isinstance(networks, list):
        return networks
    return [
        {key: known(value, UNKNOWN) for key, value in each.items()} if isinstance(each, Mapping) else each for each in networks
    ]
