"""What Google refuses although every member and every name is right: things that do not go together.

Sources: VPC, RDMA network profiles, Cloud NGFW for RoCE, GKE multi-networking and DWS guides, as of 2026-11.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_network
from typing import Any

from tools.googleapi.forms import RefusalError
from tools.googleapi.store import Body
from tools.googleapi.turn import Turn
from tools.judge.google.references import named_in

_PROFILE = re.compile(r".*/networkProfiles/(.+)-vpc-(?:roce|roce-metal|falcon)")
_ROCE = "RDMA_ROCE_POLICY"


def check(turn: Turn) -> None:
    """Raise ``RefusalError`` for the first rule that the call breaks."""
    rule = _RULES.get(str(turn.call))
    for says in rule(turn) if rule else ():
        raise RefusalError(400, says)


def _subnetwork(turn: Turn) -> Iterator[str]:
    """In the region of its network's zone; no range twice in a network."""
    region, network = str(turn.call.members["region"]), _named(turn, "network")
    zone = _zone_of(turn, network)
    if zone and not zone.startswith(f"{region}-"):
        yield f"The network {network} belongs to {zone}: a subnetwork in {region} cannot be in it"
    wanted = list(_ranges(turn.body))
    others = [each for each in turn.ledger.below("projects/") if each.path.split("/")[-2] == "subnetworks"]
    for other in others:
        if str(other.body.get("network", "")).endswith(network):
            for mine, theirs in ((mine, theirs) for mine in wanted for theirs in _ranges(other.body)):
                if ip_network(mine).overlaps(ip_network(theirs)):
                    yield f"Invalid IPCidrRange: {mine} conflicts with {theirs} of {other.path}"


def _firewall(turn: Turn) -> Iterator[str]:
    """Networks of RDMA take no such rules (cluster-toolkit PR 3987)."""
    network = _named(turn, "network")
    if _zone_of(turn, network):
        yield f"Firewall rules are not supported in {network}, which has a network profile of RDMA"


def _association(turn: Turn) -> Iterator[str]:
    """Policies for RDMA and networks of RDMA belong together."""
    network = _named(turn, "attachmentTarget")
    policy = turn.ledger.find(turn.path.removesuffix("/addAssociation"))
    of_rdma = policy is not None and policy.body.get("policyType") == _ROCE
    if of_rdma is not bool(_zone_of(turn, network)):
        yield f"A policy of type {policy.body.get('policyType') if policy else ''} cannot be associated with {network}"


def _node_pool(turn: Turn) -> Iterator[str]:
    """Zones of the cluster's region; cards in the zone of their network; capacity that is not asked for in two ways."""
    pool, parent = turn.body["nodePool"], turn.ledger.find(str(turn.call.members["parent"]))
    location = str(turn.call.members["parent"]).split("/")[3]
    zones = pool.get("locations") or [location]
    for zone in zones:
        if not zone.startswith(location):
            yield f"Location {zone} is not in the cluster's location {location}"
    cards = pool.get("networkConfig", {}).get("additionalNodeNetworkConfigs", [])
    network_config = parent.body.get("networkConfig", {}) if parent else {}
    if cards and not network_config.get("enableMultiNetworking"):
        yield "Additional node networks need a cluster with multi-networking"
    for where, network in named_in(turn.call):
        zone = _zone_of(turn, network) if where.endswith(".network") else ""
        if zone and zones != [zone]:
            yield f"The network {network} belongs to {zone}, and the node pool is in {', '.join(zones)}"
    yield from _capacity(pool)


def _capacity(pool: Mapping[str, Any]) -> Iterator[str]:
    config = pool.get("config", {})
    affinity = config.get("reservationAffinity", {}).get("consumeReservationType", "")
    queued = pool.get("queuedProvisioning", {}).get("enabled")
    if (config.get("flexStart") or queued) and affinity != "NO_RESERVATION":
        yield "Nodes of Dynamic Workload Scheduler need the reservation affinity NO_RESERVATION"
    if config.get("spot") and affinity in ("SPECIFIC_RESERVATION", "ANY_RESERVATION"):
        yield "Spot nodes cannot use a reservation"
    if config.get("flexStart") and pool.get("management", {}).get("autoRepair"):
        yield "Auto-repair cannot be on for nodes with flex-start"


def _named(turn: Turn, member: str) -> str:
    """Path of what a member of the body names."""
    return next((path for where, path in named_in(turn.call) if where.endswith(f".{member}")), "")


def _zone_of(turn: Turn, network: str) -> str:
    """The zone of a network of RDMA; empty for other networks."""
    found = turn.ledger.find(network)
    profile = _PROFILE.fullmatch(str(found.body.get("networkProfile", ""))) if found else None
    return profile[1] if profile else ""


def _ranges(subnet: Body | Mapping[str, Any]) -> Iterator[str]:
    if "ipCidrRange" in subnet:
        yield subnet["ipCidrRange"]
    yield from (each["ipCidrRange"] for each in subnet.get("secondaryIpRanges", ()))


_RULES: Mapping[str, Callable[[Turn], Iterator[str]]] = {
    "compute firewalls.insert": _firewall,
    "compute regionNetworkFirewallPolicies.addAssociation": _association,
    "compute subnetworks.insert": _subnetwork,
    "container projects.locations.clusters.nodePools.create": _node_pool,
}
