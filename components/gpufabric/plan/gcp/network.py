"""The networks of one training cluster: how a block is cut, which VPCs are made, and what each GPU machine is given."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network

from gpufabric.hardware import GcpMachine, UnknownHardwareError, gcp_machines
from gpufabric.hardware.fabric_pods import fabric_pods
from gpufabric.hardware.gke import GkeFabric, gke_fabrics
from gpufabric.plan.gcp.names import most_letters, name_problems
from gpufabric.plan.gcp.places import place_problems
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.gcp.network import ExistingGcpNetwork, GcpNetworkWish, NodeNetwork

PODS_PER_NODE = 64
"""Ours: GKE's own pods on a GPU node are about twenty, and jobs come with one for each GPU at most."""
ADDRESSES_PER_NODE = 128
"""GKE gives each node twice as many addresses as it may have pods (GKE, Configure maximum Pods per node)."""
PODS_RANGE, SERVICES_RANGE = "pods", "services"
UNKNOWN = "not-known-yet"
"""Stands for the name of a network that another resource yields later."""
DEFAULT_CIDR = "10.0.0.0/14"
_SYSTEM_NODES = 51  # the most that can be asked for, and one more in an update
_DEFAULT_MTU = 8896  # the largest of a VPC, which is Google's advice for Lustre (Managed Lustre, performance)
_RDMA = "rdma"
_PARTS = (
    32  # of the GPU quarter: eight for the rails of each kind in the table, and the last eight for further cards of the host
)
_MOST_RAILS = 8
_PSA_NARROWEST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SubnetPlan:
    """One subnet. ``key`` is unique in the network and part of the resource's name."""

    key: str
    cidr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VpcPlan:
    """A VPC of GPU or second host cards. ``profile``: of RDMA, by its full name; such a VPC takes no firewall rules."""

    key: str
    mtu: int
    subnets: tuple[SubnetPlan, ...]
    profile: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlan:
    """The VPC of the nodes: one subnet with two further ranges. ``services_peer``: range for Google's managed services."""

    mtu: int
    nodes: str
    pods: str
    services: str
    services_peer: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan:
    """The host's VPC is made (``host``) or exists. ``gpu``: key of a VPC and of its subnet in rail order, by machine type.

    A machine type of ``existing.gpu_networks`` is not in ``gpu``: it has networks that exist.
    """

    project: str
    region: str
    zone: str
    host: HostPlan | None
    existing: ExistingGcpNetwork | None
    vpcs: tuple[VpcPlan, ...]
    gpu: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)


def plan_network(spec: GcpNetworkWish, *, name: str = "", at: str = "") -> NetworkPlan:
    """The plan of all networks; raises :class:`SpecError`.

    ``name``: of the component, after which all is called. ``at``: path of the keys that stand under ``network``.
    """
    machines, unknown = _machines(spec)
    problems = [*place_problems(spec.region, spec.zone), *unknown]
    problems += [problem.below(at) for problem in (*_existing_problems(spec, machines), *_room(spec))]
    problems += name_problems(name, "a network", most_letters("-services-lustre")) if name else []
    if problems:
        raise SpecError(problems)
    given = spec.existing.gpu_networks if spec.existing else {}
    to_make = {name: row for name, row in machines.items() if name not in given}
    cut = _Cut(spec.cidr or DEFAULT_CIDR)
    return NetworkPlan(
        project=spec.project,
        region=spec.region,
        zone=spec.zone,
        host=None if spec.existing else _host(spec, machines, cut),
        existing=spec.existing,
        vpcs=tuple(_vpcs(spec, to_make, cut)),
        gpu={name: tuple(_cards(*row)) for name, row in to_make.items()},
    )


def network_count(machine: GcpMachine) -> int:
    """How many networks beside the cluster's own a node of this machine has, with its fabric."""
    return gke_fabrics()[machine.fabric].host_networks - 1 + machine.fabric_devices


def network_problems(machine: GcpMachine, networks: Sequence[NodeNetwork], path: str) -> Iterator[Problem]:
    """What is wrong with the networks of one machine, given in rail order."""
    row, wanted = gke_fabrics()[machine.fabric], network_count(machine)
    if len(networks) != wanted and not (row.more_networks and len(networks) > wanted):
        reason = f"{len(networks)} networks; {machine.name} needs {'at least ' * row.more_networks}{wanted}"
        more = ": one more takes the place of a card" if len(networks) > wanted else ""
        second = "the one of the host's second card, then " if row.host_networks > 1 else ""
        fix = f"list {second}those of its {machine.fabric_devices} GPU cards"
        yield Problem(path, reason + more, fix, str(row.provenance))
        return
    if any(UNKNOWN in (each.network, each.subnetwork) for each in networks):
        return
    if len(set(networks)) != len(networks):
        yield Problem(path, "a network is listed twice", "each card has one of its own, in rail order")
    names = [each.network for each in networks]
    if row.vpc_per_nic and len(set(names)) != len(names):
        yield Problem(path, f"{machine.name} needs a VPC for each card", "list a VPC once", str(row.provenance))
    rdma = set(names[row.host_networks - 1 :])
    if not row.vpc_per_nic and len(rdma) != 1:
        reason = f"the GPU cards of {machine.name} are all in one VPC; {len(rdma)} are listed"
        yield Problem(path, reason, "list subnets of one VPC", str(row.provenance))
    elif not row.vpc_per_nic and rdma & set(names[: row.host_networks - 1]):
        reason = "the host's second card cannot be in the VPC of RDMA"
        yield Problem(path, reason, "list a subnet of an ordinary VPC first", str(row.provenance))


def profile_problems(profile: str, machine: GcpMachine, zone: str, path: str) -> list[Problem]:
    """A network profile of another zone, or for other cards: Google would say it when the nodes are made."""
    row = gke_fabrics().get(machine.fabric)
    if row is None or not row.network_profile:
        return [Problem(path, f"{machine.name} has no RDMA: its networks have no profile", "leave it out")]
    needed = f"{zone}-{row.network_profile}"
    if profile == needed:
        return []
    reason = f"{profile} is not the profile of {machine.name} in {zone}: RDMA does not cross zones"
    return [Problem(path, reason, f"write {needed}", str(row.provenance))]


class _Cut:
    """A block cut into places that never move, whatever is made in them.

    The upper half is for pods. Of the lower half, the first half is the host's (nodes, services, managed services), the second
    is for cards beside it. VPCs that are apart could have the same blocks; interfaces of one node cannot.
    """

    def __init__(self, cidr: str) -> None:
        lower, self.pods = IPv4Network(cidr).subnets()
        host, gpu = lower.subnets()
        self.nodes, rest = host.subnets()
        services, peer = rest.subnets()
        # More than 4,096 services or a wider range for managed services help nobody, and GKE takes no /15.
        self.services = next(services.subnets(new_prefix=max(_PSA_NARROWEST, services.prefixlen)))
        self.peer = next(peer.subnets(new_prefix=max(_PSA_NARROWEST, peer.prefixlen)))
        self.parts = list(gpu.subnets(new_prefix=gpu.prefixlen + _PARTS.bit_length() - 1))

    def rail(self, networks: str, rail: int) -> str:
        names = list(dict.fromkeys(pod.network_name for pod in fabric_pods().values()))
        return str(self.parts[names.index(networks) * _MOST_RAILS + rail])

    def beside(self, position: int) -> str:
        return str(self.parts[_PARTS - _MOST_RAILS + position])


_Machines = Mapping[str, tuple[GcpMachine, GkeFabric]]


def _machines(spec: GcpNetworkWish) -> tuple[dict[str, tuple[GcpMachine, GkeFabric]], list[Problem]]:
    found: dict[str, tuple[GcpMachine, GkeFabric]] = {}
    problems = []
    for position, name in enumerate(spec.machine_types):
        machine = gcp_machines().get(name)
        if machine is None:
            unknown = UnknownHardwareError("machine of Google Cloud", name, gcp_machines())
            problems.append(Problem(f"machine_types[{position}]", str(unknown), "write one of these"))
        elif machine.refusal:
            problems.append(Problem(f"machine_types[{position}]", f"{name} is not built: {machine.refusal}", "leave it out"))
        elif machine.fabric:
            found[name] = (machine, gke_fabrics()[machine.fabric])
    return found, problems


def _existing_problems(spec: GcpNetworkWish, machines: _Machines) -> Iterator[Problem]:
    if spec.existing is None:
        return
    given = spec.existing.gpu_networks
    if spec.mtu is not None:
        yield Problem("mtu", "the network exists, and has its own", "leave it out")
    lacking = [name for name in machines if name not in given]
    if lacking and spec.cidr is None:
        reason = f"missing: the GPU networks of {' and '.join(lacking)} are made beside the network that exists"
        fix = "write a private block that overlaps nothing of yours, or list them in existing.gpu_networks"
        yield Problem("cidr", reason, fix)
    if spec.cidr is not None and not lacking:
        yield Problem("cidr", "all networks exist, with their blocks", "leave it out")
    for name, networks in given.items():
        path = f"existing.gpu_networks.{name}"
        if name not in machines:
            yield Problem(path, "no group of such machines has its fabric by networks", "leave it out")
        else:
            yield from network_problems(machines[name][0], networks, path)
            if spec.existing.network in {each.network for each in networks} - {UNKNOWN}:
                reason = f"{spec.existing.network} is the network of the nodes themselves"
                yield Problem(path, reason, "list VPCs that are only for these cards")


def _room(spec: GcpNetworkWish) -> Iterator[Problem]:
    if spec.existing:
        return
    pods = _Cut(spec.cidr or DEFAULT_CIDR).pods
    most = pods.num_addresses // ADDRESSES_PER_NODE - _SYSTEM_NODES
    if spec.gpu_nodes <= most:
        return
    wide = pods.prefixlen - 1
    while (1 << (31 - wide)) // ADDRESSES_PER_NODE - _SYSTEM_NODES < spec.gpu_nodes:
        wide -= 1
    room = f"{pods} has room for the pods of {most} GPU nodes ({ADDRESSES_PER_NODE} addresses each)"
    reason = f"{room}, {spec.gpu_nodes} are asked for"
    yield Problem("cidr", reason, f"write a /{wide}, such as 10.0.0.0/{wide}")


def _host(spec: GcpNetworkWish, machines: _Machines, cut: _Cut) -> HostPlan:
    return HostPlan(
        # The smallest that any of the machines has in Google's examples: a VPC has one MTU.
        mtu=spec.mtu or min((row.host_mtu_bytes for _, row in machines.values()), default=_DEFAULT_MTU),
        nodes=str(cut.nodes),
        pods=str(cut.pods),
        services=str(cut.services),
        services_peer=str(cut.peer) if spec.private_services else None,
    )


def _vpcs(spec: GcpNetworkWish, machines: _Machines, cut: _Cut) -> Iterator[VpcPlan]:
    """Machines whose networks have one name share the VPCs: a cluster takes a VPC under one name."""
    made: dict[str, VpcPlan] = {}
    for machine, row in machines.values():
        pod = fabric_pods()[row.fabric]
        for position, key in enumerate(pod.host_networks):
            second = SubnetPlan(key=key, cidr=cut.beside(position))
            made[key] = VpcPlan(key=key, mtu=row.host_mtu_bytes, subnets=(second,))
        rails = enumerate(pod.rail_networks(machine.fabric_devices))
        subnets = [SubnetPlan(key=key, cidr=cut.rail(pod.network_name, rail)) for rail, key in rails]
        if row.vpc_per_nic:
            made |= {each.key: VpcPlan(key=each.key, mtu=row.gpu_mtu_bytes, subnets=(each,)) for each in subnets}
        else:
            profile = f"projects/{spec.project}/global/networkProfiles/{spec.zone}-{row.network_profile}"
            made[_RDMA] = VpcPlan(key=_RDMA, mtu=row.gpu_mtu_bytes, subnets=tuple(subnets), profile=profile)
    yield from made.values()


def _cards(machine: GcpMachine, row: GkeFabric) -> Iterator[tuple[str, str]]:
    """VPC and subnet of every card beside the first, in the order of a node pool."""
    pod = fabric_pods()[row.fabric]
    yield from ((key, key) for key in pod.host_networks)
    yield from ((key if row.vpc_per_nic else _RDMA, key) for key in pod.rail_networks(machine.fabric_devices))
