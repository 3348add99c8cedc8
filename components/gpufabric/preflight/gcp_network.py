"""Whether networks that exist are there and fit: the nodes' own, and those of the GPUs' cards."""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network

from gpufabric.hardware import GcpMachine
from gpufabric.hardware.gke import gke_fabrics
from gpufabric.plan.gcp import GcpStackPlan
from gpufabric.plan.gcp.network import ADDRESSES_PER_NODE
from gpufabric.preflight.gcp_client import Google, Json, last
from gpufabric.spec import Problem
from gpufabric.spec.gcp.network import ExistingGcpNetwork, NodeNetwork

_AT = "network.existing"
_TAKEN_BY_GOOGLE = 4  # addresses of every subnet (VPC, Subnets)


def network_path(project: str, name: str) -> str:
    """The path of a network that is given by its name, or by its path where another project owns it."""
    return name if "/" in name else f"projects/{project}/global/networks/{name}"


def host(google: Google, plan: GcpStackPlan, existing: ExistingGcpNetwork, *, in_use: bool) -> Iterator[Problem]:
    """The VPC of the nodes, its subnet and the subnet's ranges. ``in_use``: the nodes may have their addresses already."""
    wanted = network_path(google.project, existing.network)
    if google.find("compute.networks.get", wanted) is None:
        yield Problem(f"{_AT}.network", f"Google knows no network {wanted}", "check the name and the project")
    found = _subnet(google, plan, existing.subnetwork)
    if found is None:
        yield _no_subnet(existing.subnetwork, plan, f"{_AT}.subnetwork")
        return
    yield from _lies_in(found, wanted, f"{_AT}.subnetwork")
    if not found.get("privateIpGoogleAccess"):
        reason = f"Private Google Access is off in {existing.subnetwork}: nodes without public addresses reach no registry"
        yield Problem(f"{_AT}.subnetwork", reason, "switch it on", "GKE, private nodes")
    nodes = sum(group.nodes for group in plan.node_groups)
    yield from _room(found["ipCidrRange"], nodes, existing.subnetwork, f"{_AT}.subnetwork", in_use=in_use)
    ranges = {str(each["rangeName"]): str(each["ipCidrRange"]) for each in found.get("secondaryIpRanges", ())}
    for key, name in (("pods_range", existing.pods_range), ("services_range", existing.services_range)):
        if name not in ranges:
            fix = f"write one of {', '.join(sorted(ranges))}" if ranges else "add it to the subnet"
            yield Problem(f"{_AT}.{key}", f"{existing.subnetwork} has no range {name}", fix)
    if existing.pods_range in ranges and not in_use:
        room = IPv4Network(ranges[existing.pods_range]).num_addresses // ADDRESSES_PER_NODE
        if room < nodes:
            reason = f"{existing.pods_range} ({ranges[existing.pods_range]}) has room for the pods of {room} nodes of {nodes}"
            yield Problem(f"{_AT}.pods_range", reason, f"take a larger range: a node takes {ADDRESSES_PER_NODE}")


def gpu_networks(
    google: Google, plan: GcpStackPlan, machine: GcpMachine, networks: Sequence[NodeNetwork], *, in_use: bool
) -> Iterator[Problem]:
    """The networks of one machine's cards, in rail order: kind, MTU, room."""
    row = gke_fabrics()[machine.fabric]
    nodes = sum(group.nodes for group in plan.node_groups if group.machine == machine)
    for position, each in enumerate(networks):
        at = f"{_AT}.gpu_networks.{machine.name}[{position}]"
        wanted, of_gpu = network_path(google.project, each.network), position >= row.host_networks - 1
        found = google.find("compute.networks.get", wanted)
        if found is None:
            yield Problem(f"{at}.network", f"Google knows no network {wanted}", "check the name and the project")
        else:
            profile = f"{plan.zone}-{row.network_profile}" if of_gpu and row.network_profile else ""
            yield from _kind(found, profile, row.gpu_mtu_bytes if of_gpu else row.host_mtu_bytes, f"{at}.network")
        subnet = _subnet(google, plan, each.subnetwork)
        if subnet is None:
            yield _no_subnet(each.subnetwork, plan, f"{at}.subnetwork")
            continue
        yield from _lies_in(subnet, wanted, f"{at}.subnetwork")
        yield from _room(subnet["ipCidrRange"], nodes, each.subnetwork, f"{at}.subnetwork", in_use=in_use)


def _kind(found: Json, profile: str, mtu: int, at: str) -> Iterator[Problem]:
    name, has = found["name"], last(str(found.get("networkProfile", "")))
    if profile and has != profile:
        reason = f"{name} has {f'the profile {has}' if has else 'no network profile'}: it is not a network of RDMA in this zone"
        yield Problem(at, reason, f"name one with {profile}", "Google's VPC documentation, RDMA network profiles")
    elif has and not profile:
        yield Problem(at, f"{name} has the profile {has}, and takes no ordinary cards", "name an ordinary network")
    elif int(found.get("mtu", 0)) < mtu:
        reason = f"{name} has MTU {found.get('mtu')}; this fabric is measured with {mtu}"
        yield Problem(at, reason, f"raise it to {mtu}, and restart what is in it")


def _subnet(google: Google, plan: GcpStackPlan, name: str) -> Json | None:
    path = name if "/" in name else f"projects/{google.project}/regions/{plan.region}/subnetworks/{name}"
    return google.find("compute.subnetworks.get", path)


def _no_subnet(name: str, plan: GcpStackPlan, at: str) -> Problem:
    return Problem(at, f"Google knows no subnet {name} in {plan.region}", "check the name, the region and the project")


def _lies_in(subnet: Json, network: str, at: str) -> Iterator[Problem]:
    lies = "projects/" + str(subnet["network"]).partition("/projects/")[2]
    if lies != network:
        yield Problem(at, f"{subnet['name']} is in {last(lies)}, not in {last(network)}", "write a subnet of that network")


def _room(block: str, nodes: int, name: str, at: str, *, in_use: bool) -> Iterator[Problem]:
    room = IPv4Network(block).num_addresses - _TAKEN_BY_GOOGLE
    if room < nodes and not in_use:
        yield Problem(at, f"{name} ({block}) has {room} addresses for {nodes} nodes", "take a larger subnet")
