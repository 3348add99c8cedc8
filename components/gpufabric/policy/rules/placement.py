"""Where GPU nodes stand and how they are had: zones, placement groups, reservations, capacity blocks."""

from collections.abc import Iterator
from typing import Final

from gpufabric.hardware import capacity_block_rules
from gpufabric.policy.groups import ASG, EKS_GROUP, GKE_POOL, SUBNET, TEMPLATE, gpu_group, joined, reservation, template_of
from gpufabric.policy.model import Resource, Settings, Stack, rule
from gpufabric.policy.tree import NotCheckedError

PLACEMENT_GROUP: Final = "aws:ec2/placementGroup:PlacementGroup"
RESERVATION: Final = "aws:ec2/capacityReservation:CapacityReservation"
BLOCK: Final = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"


def zones_of(group: Resource, stack: Stack) -> set[str]:
    """Zones in which a group's nodes may stand; raises where the program does not show them."""
    if group.kind == GKE_POOL:
        named = set(group.props["nodeLocations"].texts())
        location = group.props["location"].text()
        if named or location.count("-") == 2:
            return named or {location}
        raise NotCheckedError("nodeLocations is not given: the cluster decides")
    key = "subnetIds" if group.kind == EKS_GROUP else "vpcZoneIdentifiers"
    place = group.props[key]
    subnets = stack.linked(group, key, SUBNET)
    found = {each.props["availabilityZone"].text() for each in subnets} - {""}
    if len(found) > 1:
        return found
    if not place.unknown and len(place.items()) == 1:
        return found or {place.items()[0].value if isinstance(place.items()[0].value, str) else "one subnet"}
    if place.unknown and len(subnets) == 1 and found:
        return found
    if not place.unknown and len(subnets) == len(place.items()) and found:
        return found
    raise NotCheckedError("the zones of its subnets are not part of this program")


@rule(
    "fabric-groups-single-zone",
    kinds=(EKS_GROUP, ASG, GKE_POOL),
    severity="critical",
    dev="mandatory",
    needs_stack=True,
    why="Neither EFA nor a cluster placement group, nor a GPU network of Google, crosses a zone: nodes of two zones cannot "
    "talk.",
    fix="Give the group one subnet (AWS) or one zone (`nodeLocations`, Google): the zone of its reservation or placement.",
)
def fabric_groups_single_zone(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """All nodes of a group that uses a fabric stand in one zone."""
    group = gpu_group(resource, stack)
    if group is None or not joined(group):
        return
    zones = zones_of(resource, stack)
    if len(zones) > 1:
        yield f"nodes in {len(zones)} zones: {', '.join(sorted(zones))}"


@rule(
    "placement-vs-reservation",
    kinds=(TEMPLATE,),
    severity="critical",
    dev="mandatory",
    needs_stack=True,
    why="A reservation has capacity only in the placement group that it was made in: with another one a reservation of 16 gave "
    "11 nodes (eksctl issue 7949). A capacity block is placed together already and takes none.",
    fix="Leave `placement` out, or name the placement group that the reservation was made in.",
)
def placement_vs_reservation(template: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """Reserved capacity gets no placement group but the one it was made in."""
    placement = template.props["placement"]
    if not placement["groupName"].present and not placement["groupId"].present and not placement["groupArn"].present:
        return
    if template.props.at("instanceMarketOptions.marketType").text() == "capacity-block":
        yield "a placement group beside a capacity block"
        return
    if not reservation(template).present:
        return
    groups = stack.linked(template, "placement", PLACEMENT_GROUP)
    made = stack.linked(template, "capacityReservationSpecification", RESERVATION)
    if made:
        own = stack.linked(made[0], "placementGroupArn", PLACEMENT_GROUP)
        if groups and own and groups[0] is own[0]:
            return
        yield f"a placement group that the reservation {made[0].name} was not made in"
    elif groups:
        yield f"the placement group {groups[0].name} is made here and the reservation is not: it cannot have been made in it"
    else:
        raise NotCheckedError("whether the reservation was made in the placement group is not part of this program")


@rule(
    "capacity-block-market-type",
    kinds=(EKS_GROUP,),
    severity="critical",
    dev="mandatory",
    needs_stack=True,
    why="Without the market type, the reservation's id and one zone EC2 rejects the launch, and EKS does not check: the group "
    "stays empty while the block is paid (awsome-distributed-training issue 334).",
    fix="Launch template: `instanceMarketOptions.marketType: capacity-block`, the block's id and `instanceType`. Node group: "
    "`capacityType: CAPACITY_BLOCK`, one subnet, no `instanceTypes`.",
)
def capacity_block_market_type(group: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """A group on a capacity block says so in both places, and fits into it."""
    kind = group.props["capacityType"].text()
    linked = stack.linked(group, "launchTemplate", TEMPLATE)
    market = linked[0].props.at("instanceMarketOptions.marketType").text() if linked else ""
    if kind != "CAPACITY_BLOCK" and market != "capacity-block":
        return
    if kind != "CAPACITY_BLOCK":
        yield f"capacityType is {kind or 'not given'}; its launch template buys from a capacity block"
    if group.props["instanceTypes"].present:
        yield "instanceTypes is given; with a capacity block the launch template alone names the type"
    most = capacity_block_rules().most_nodes
    wanted = group.props.at("scalingConfig.maxSize").whole()
    if wanted > most:
        yield f"maxSize {wanted}; a capacity block holds at most {most} instances"
    subnets = group.props["subnetIds"]
    if not subnets.unknown and len(subnets.items()) > 1:
        yield f"{len(subnets.items())} subnets; a capacity block lies in one zone"
    template = template_of(group, stack)
    if template is None:
        yield "no launch template: a capacity block needs one of your own"
        return
    if market != "capacity-block":
        yield f"instanceMarketOptions.marketType of the launch template is {market or 'not given'}"
    if not reservation(template).present:
        yield "the launch template names no capacity reservation"
    if not template.props["instanceType"].present:
        yield "the launch template names no instance type"


@rule(
    "reserved-no-surge",
    kinds=(EKS_GROUP, GKE_POOL),
    severity="high",
    needs_stack=True,
    why="An update that starts new nodes before it stops old ones needs capacity that a reservation does not have, and hangs.",
    fix="EKS: `updateConfig.updateStrategy: MINIMAL`. GKE: `upgradeSettings: {maxSurge: 0, maxUnavailable: 1}`.",
)
def reserved_no_surge(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """Groups on reserved capacity are updated without extra nodes."""
    group = gpu_group(resource, stack)
    if group is None or group.way not in ("reservation", "capacity_block"):
        return
    if resource.kind == EKS_GROUP:
        strategy = resource.props.at("updateConfig.updateStrategy").text() or "DEFAULT"
        if strategy != "MINIMAL":
            yield f"updateStrategy is {strategy}, which starts new nodes first"
    else:
        surge = resource.props.at("upgradeSettings.maxSurge").whole(1)
        if surge > 0 or resource.props.at("upgradeSettings.strategy").text() == "BLUE_GREEN":
            yield f"maxSurge is {surge}; reserved capacity has no node to spare"


@rule(
    "capacity-block-protected",
    kinds=(BLOCK,),
    severity="critical",
    dev="mandatory",
    why="Making this resource buys the block, paid in advance; deleting it gives nothing back. A rename would buy a second "
    "one.",
    fix="Set `protect=True`, or buy the block by hand and give its id.",
)
def capacity_block_protected(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """A purchase of a capacity block is protected."""
    if not resource.protect:
        yield "the purchase is not protected"
