"""Network interfaces of GPU nodes on AWS: layout, security groups, addresses."""

from collections.abc import Iterator
from functools import cache
from typing import Final

from gpufabric.hardware import AwsMachine, aws_machines
from gpufabric.plan.aws.nics import node_interfaces
from gpufabric.policy.groups import (
    ASG,
    EFA_TYPES,
    EKS_GROUP,
    GKE_POOL,
    TEMPLATE,
    fabric_interfaces,
    gpu_group,
    uses_fabric,
)
from gpufabric.policy.model import Resource, Settings, Stack, once, rule
from gpufabric.policy.tree import Node, NotCheckedError

SECURITY_GROUP: Final = "aws:ec2/securityGroup:SecurityGroup"
INGRESS_RULE: Final = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS_RULE: Final = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
OLD_RULE: Final = "aws:ec2/securityGroupRule:SecurityGroupRule"
TIER_TAG: Final = "gpufabric.dev/network-tier"
"""Label or tag by which a program asks for ordinary Ethernet: ``standard``."""

Place = tuple[int, int, str]


def _places(template: Resource) -> list[Place]:
    """Card, device and kind of each interface."""
    return sorted(
        (
            each["networkCardIndex"].whole(),
            each["deviceIndex"].whole(),
            each["interfaceType"].text() or "interface",
        )
        for each in template.props["networkInterfaces"].items()
    )


@cache
def _layout(machine: AwsMachine) -> tuple[Place, ...]:
    found = node_interfaces(machine, fabric=True)
    return tuple(sorted((each.card, each.device, each.kind) for each in found))


def _older(machine: AwsMachine, places: list[Place]) -> bool:
    """AWS's layout before efa-only: EFA on device 0 of card 0 and on device 1 of the others. Cards with two interfaces
    take it."""
    if machine.interfaces_per_card < 2 or not machine.efa_on_card_0:
        return False
    wanted = [(0, 0), *((card, 1) for card in machine.cards_with_efa)]
    return [each[:2] for each in places] == wanted and places[0][2] == "efa" and all(each[2] in EFA_TYPES for each in places)


def _fault(machine: AwsMachine, places: list[Place]) -> str:
    """What is wrong with a layout, by the first fault that says most."""
    with_efa = [each for each in places if each[2] in EFA_TYPES]
    if len(with_efa) != machine.fabric_devices:
        return f"{len(with_efa)} EFA interfaces; {machine.name} has {machine.fabric_devices}"
    if (0, 0, "efa-only") in places:
        return "the primary interface (card 0, device 0) is efa-only; it has the node's address and must be interface"
    if not machine.efa_on_card_0 and any(card == 0 for card, _, _ in with_efa):
        return f"EFA on card 0, which has none on {machine.name}"
    known = {*_layout(machine)}
    strange = [f"card {card} device {device} {kind}" for card, device, kind in places if (card, device, kind) not in known]
    return f"unexpected: {', '.join(strange[:3])}{' ...' if len(strange) > 3 else ''}"


@rule(
    "nic-layout",
    kinds=(TEMPLATE,),
    severity="critical",
    dev="mandatory",
    why="A wrong card or device index keeps nodes from starting, or leaves EFA devices unused (terraform-aws-eks issue 2654).",
    fix="Give card 0 device 0 `interface`, card 0 device 1 `efa-only` where card 0 has EFA, and device 0 of every other EFA "
    "card `efa-only`; or use EksGpuNodeGroup.",
)
def nic_layout(template: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """A launch template with EFA lays out its interfaces as its machine's cards allow."""
    if not fabric_interfaces(template):
        return
    name = template.props["instanceType"].text()
    if not name:
        raise NotCheckedError("instanceType is not in the launch template")
    machine = aws_machines().get(name)
    if machine is None:
        raise NotCheckedError(f"machine {name} stands in no table")
    places = _places(template)
    ours = [each for each in places if each[2] in EFA_TYPES or each[:2] == (0, 0)]  # further plain interfaces carry IP
    if tuple(ours) != _layout(machine) and not _older(machine, ours):
        yield f"{name}: {_fault(machine, ours)}"


@rule(
    "nic-no-top-level-sg",
    kinds=(TEMPLATE,),
    severity="high",
    dev="mandatory",
    why="EC2 refuses a template that names groups beside its network interfaces (terraform-aws-eks issue 1880).",
    fix="Move the groups of `vpcSecurityGroupIds` to `securityGroups` of each network interface.",
)
def nic_no_top_level_sg(template: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """Security groups stand on the network interfaces or on the template, never on both."""
    if not template.props["networkInterfaces"].present:
        return
    for key in ("vpcSecurityGroupIds", "securityGroupNames"):
        if template.props[key].present:
            yield f"{key} beside networkInterfaces"


@once
def _open_to_itself(stack: Stack, group: Resource, direction: str) -> bool:
    """Is there a rule that lets all traffic from (or to) the group itself?"""
    inline, single = ("ingress", INGRESS_RULE) if direction == "in" else ("egress", EGRESS_RULE)
    for each in group.props[inline].items():
        if each["protocol"].text() in ("-1", "all") and each["self"].flag():
            return True
    for prop, holder in stack.referring(group, single, OLD_RULE):
        if prop != "securityGroupId":
            continue
        if holder.kind == OLD_RULE:
            kind = {"in": "ingress", "out": "egress"}[direction]
            itself = holder.props["self"].flag() or group in stack.linked(holder, "sourceSecurityGroupId")
            if holder.props["type"].text() == kind and holder.props["protocol"].text() in ("-1", "all") and itself:
                return True
        elif holder.props["ipProtocol"].text() == "-1" and group in stack.linked(holder, "referencedSecurityGroupId"):
            return True
    return False


@rule(
    "efa-sg-self",
    kinds=(TEMPLATE,),
    severity="critical",
    needs_stack=True,
    why="EFA needs all traffic between members of one group, in and out; a CIDR rule is not the same, and NCCL hangs "
    "without it.",
    fix="Add an ingress and an egress rule with protocol -1 whose source and destination is the security group itself.",
)
def efa_sg_self(template: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """A security group of the EFA interfaces lets all traffic pass from and to itself."""
    if not fabric_interfaces(template):
        return
    groups = stack.linked(template, "networkInterfaces", SECURITY_GROUP)
    missing = {}
    for each in groups:
        lacking = [direction for direction in ("in", "out") if not _open_to_itself(stack, each, direction)]
        if not lacking:
            return
        missing[each.name] = " and ".join({"in": "from", "out": "to"}[each] for each in lacking)
    if not groups:
        raise NotCheckedError("its security groups are not part of this program")
    said = "; ".join(f"{name} lacks all traffic {lacks} itself" for name, lacks in missing.items())
    yield f"no group of the EFA interfaces is open to itself: {said}"


def asked_for_standard(group: Resource, template: Resource | None) -> bool:
    """Does the program ask for ordinary Ethernet by name?"""
    places: list[Node] = [group.props["labels"], group.props["tags"], group.props.at("nodeConfig.labels")]
    places += [template.props["tags"]] if template else []
    return any(key == TIER_TAG and value.text() == "standard" for place in places for key, value in place.entries())


@rule(
    "fabric-tier-honest",
    kinds=(EKS_GROUP, ASG, GKE_POOL),
    severity="critical",
    needs_stack=True,
    why="Without its fabric such a machine talks over TCP, ten times slower, and nothing says so: jobs run and NCCL uses "
    "sockets.",
    fix="Add the machine's EFA interfaces (AWS) or additional networks (Google), or ask for Ethernet by name: label or tag "
    f"{TIER_TAG}=standard.",
)
def fabric_tier_honest(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """A group of several nodes whose machine has a fabric uses it, or says by name that it does without."""
    group = gpu_group(resource, stack)
    if group is None or not group.wants_fabric or stack.below(resource, "gpufabric:index:*"):
        return
    if not uses_fabric(group) and not asked_for_standard(resource, group.template):
        unused = f"{group.machine.fabric_devices} devices of {group.machine.fabric} are left unused"
        yield f"{group.nodes} x {group.machine.name} without their fabric: {unused}"
