"""Google Kubernetes Engine: the networks of GPU pools, how they are had, their disks."""

from collections.abc import Iterator
from typing import Final

from gpufabric.hardware import GcpMachine, gcp_machines, gke_fabrics
from gpufabric.plan.gcp.network import network_count
from gpufabric.policy.groups import GKE_POOL, gpu_groups, uses_fabric
from gpufabric.policy.model import Resource, Settings, Stack, rule
from gpufabric.policy.rules.access import GKE_CLUSTER
from gpufabric.policy.tree import Node

NETWORK: Final = "gcp:compute/network:Network"
FIREWALL: Final = "gcp:compute/firewall:Firewall"
_DATAPLANE: Final = "ADVANCED_DATAPATH"


def _machine(pool: Resource) -> GcpMachine | None:
    return gcp_machines().get(pool.props.at("nodeConfig.machineType").text())


@rule(
    "gke-fabric-networks",
    kinds=(GKE_POOL,),
    severity="critical",
    dev="mandatory",
    why="A pool with a network too few leaves GPUs without a rail; on A3 Mega one too many takes a card's PCI slot, and a GPU "
    "is lost (container-engine-accelerators issue 580).",
    fix="List the machine's networks in rail order: A3 High four, A3 Mega exactly eight, A3 Ultra and A4 the second gVNIC's and"
    " then eight of RDMA; or `acceleratorNetworkProfile: auto` and none.",
)
def gke_fabric_networks(pool: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """A GPU pool has as many additional networks as its machine has cards, each once; with DRANET it has none."""
    machine = _machine(pool)
    config = pool.props["networkConfig"]
    networks = config["additionalNodeNetworkConfigs"].items()
    if machine is None or not networks:
        return
    if config["acceleratorNetworkProfile"].present:
        yield "additional networks beside acceleratorNetworkProfile, with which GKE makes them itself"
        return
    if not machine.fabric:
        yield f"{len(networks)} additional networks; {machine.name} has no GPU network"
        return
    row, wanted = gke_fabrics()[machine.fabric], network_count(machine)
    if len(networks) != wanted and not (row.more_networks and len(networks) > wanted):
        yield f"{len(networks)} additional networks; {machine.name} needs {'at least ' * row.more_networks}{wanted}"
        return
    names = [(each["network"].text(), each["subnetwork"].text()) for each in networks]
    if len(set(names)) != len(names):
        yield "an additional network is listed twice"
    if row.vpc_per_nic and len({network for network, _ in names}) != len(names):
        yield f"{machine.name} needs a VPC for each card"


@rule(
    "gke-multi-networking",
    kinds=(GKE_CLUSTER, GKE_POOL),
    severity="critical",
    dev="mandatory",
    needs_stack=True,
    why="Additional networks need multi-networking, that needs Dataplane V2, and both can only be set when the cluster is "
    "made.",
    fix="Cluster: `enableMultiNetworking: true`, `datapathProvider: ADVANCED_DATAPATH`, no `networkPolicy`.",
)
def gke_multi_networking(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """A cluster whose pools have additional networks has multi-networking and Dataplane V2."""
    if resource.kind == GKE_POOL:
        config = resource.props["networkConfig"]
        wants = config["additionalNodeNetworkConfigs"].present or config["acceleratorNetworkProfile"].present
        clusters = stack.linked(resource, "cluster", GKE_CLUSTER) if wants else []
        for each in clusters:
            if not each.props["enableMultiNetworking"].flag():
                yield f"additional networks, and enableMultiNetworking of the cluster {each.name} is not true"
        return
    props = resource.props
    if not props["enableMultiNetworking"].flag():
        return
    if props["datapathProvider"].text() != _DATAPLANE:
        yield f"enableMultiNetworking with datapathProvider {props['datapathProvider'].text() or '(not given)'}"
    if props.at("networkPolicy.enabled").flag():
        yield "enableMultiNetworking with networkPolicy (Calico)"


@rule(
    "gke-capacity",
    kinds=(GKE_POOL,),
    severity="high",
    dev="mandatory",
    why="GKE refuses these pairs when the pool is made, some of them after minutes and with a pool in ERROR "
    "(terraform-provider-google issue 18341, xpk issue 434).",
    fix="Choose one way to have nodes: spot, a reservation, flex-start or queued; flex-start and queued pools start at zero, "
    "with `NO_RESERVATION` and without auto-repair.",
)
def gke_capacity(pool: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """What a pool asks of its capacity goes together."""
    config, props = pool.props["nodeConfig"], pool.props
    spot, flex = config["spot"].flag(), config["flexStart"].flag()
    queued = props.at("queuedProvisioning.enabled").flag()
    affinity = config["reservationAffinity"]
    reserved = affinity["consumeReservationType"].text() == "SPECIFIC_RESERVATION"
    compact = props.at("placementPolicy.type").text() == "COMPACT"
    if spot and (reserved or flex or queued):
        yield f"spot beside {'a reservation' if reserved else 'flex-start' if flex else 'queued provisioning'}"
    if flex or queued:
        way = "queued provisioning" if queued else "flex-start"
        if affinity["consumeReservationType"].text() != "NO_RESERVATION":
            yield f"{way} without reservationAffinity NO_RESERVATION"
        if props.at("management.autoRepair").flag():
            yield f"{way} with autoRepair"
        if props["nodeCount"].whole():
            yield f"{way} with a fixed nodeCount"
    if queued and props.at("management.autoUpgrade").flag():
        yield "queued provisioning with autoUpgrade"
    if queued and compact:
        yield "queued provisioning with a COMPACT placement"
    if compact and len(props["nodeLocations"].items()) > 1:
        yield "a COMPACT placement over several zones"
    if compact and props.at("upgradeSettings.strategy").text() == "BLUE_GREEN":
        yield "a COMPACT placement with blue-green upgrades"


@rule(
    "gke-disks",
    kinds=(GKE_POOL,),
    severity="high",
    dev="mandatory",
    why="Machines that only boot from Hyperdisk refuse others, and a count of local SSDs other than the bundled one fails or "
    "replaces nodes at every update (terraform-provider-google issue 19648).",
    fix="Write one of the machine's boot disks and the number of local SSDs of the message, or leave both out.",
)
def gke_disks(pool: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """A GPU pool's boot disk and local SSDs are those that its machine has."""
    machine = _machine(pool)
    if machine is None:
        return
    config = pool.props["nodeConfig"]
    disk = config["diskType"].text() or config.at("bootDisk.diskType").text()
    if disk and disk not in machine.boot_disk_types:
        yield f"{machine.name} does not boot from {disk}; it does from {' or '.join(machine.boot_disk_types)}"
    for key in ("ephemeralStorageLocalSsdConfig", "localNvmeSsdBlockConfig"):
        count = config[key]["localSsdCount"].whole()
        if count and machine.disks_are_bundled and count != machine.local_disks:
            yield f"{key}: {count} local SSDs; {machine.name} comes with {machine.local_disks}"
        elif count > machine.local_disks:
            yield f"{key}: {count} local SSDs; {machine.name} takes {machine.local_disks}"


@rule(
    "rdma-network",
    kinds=(NETWORK, FIREWALL),
    severity="high",
    dev="mandatory",
    needs_stack=True,
    why="A network with a RoCE profile belongs to one zone and takes no firewall rules; a small MTU costs a tenth of the "
    "bandwidth.",
    fix="Name the profile of the nodes' zone (`ZONE-vpc-roce`), give the MTU of the message, and for firewalls use a "
    "RegionNetworkFirewallPolicy of the type RDMA_ROCE_POLICY.",
)
def rdma_network(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """GPU networks have the profile of their nodes' zone, the fabric's MTU, and no classic firewall rules where RoCE
    takes none."""
    if resource.kind == FIREWALL:
        for each in stack.linked(resource, "network", NETWORK):
            if each.props["networkProfile"].present:
                yield f"a firewall rule on {each.name}, whose network profile takes none"
        return
    profile = resource.props["networkProfile"]
    if profile.present and resource.props["autoCreateSubnetworks"].value is True:
        yield "a network profile with autoCreateSubnetworks"
    pools = [each for _, each in stack.referring(resource, GKE_POOL)]
    for group in gpu_groups(stack):
        if group.resource not in pools or not group.machine.fabric or not uses_fabric(group):
            continue
        row = gke_fabrics()[group.machine.fabric]
        if profile.present:
            yield from _profile(profile, row.network_profile, group.resource)
        mtu = resource.props["mtu"].whole()
        if mtu and mtu != row.gpu_mtu_bytes and (profile.present or row.vpc_per_nic):
            yield f"mtu {mtu}; {group.machine.name} wants {row.gpu_mtu_bytes}"


def _profile(profile: Node, wanted: str, pool: Resource) -> Iterator[str]:
    zones = pool.props["nodeLocations"].texts() or [pool.props["location"].text()]
    name = profile.text().rpartition("/")[2]
    if wanted and not any(name == f"{zone}-{wanted}" for zone in zones):
        yield f"network profile {name}; the nodes of {pool.name} are in {', '.join(zones)}"
