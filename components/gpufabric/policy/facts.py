"""What a stack's GPU groups are, as plain data: for the pull request's report, before and after."""

from typing import Any

from gpufabric.policy.groups import GROUPS, GpuGroup, gpu_group, uses_fabric
from gpufabric.policy.model import Stack
from gpufabric.policy.rules.cost import cost_of
from gpufabric.policy.rules.placement import zones_of
from gpufabric.policy.tree import NotCheckedError


def facts_of(stack: Stack) -> dict[str, Any]:
    """``groups``: one mapping each; ``unread``: by URN, why a group could not be read."""
    groups, unread = [], {}
    for resource in stack.of(*GROUPS):
        try:
            group = gpu_group(resource, stack)
        except NotCheckedError as reason:
            unread[resource.urn] = str(reason)
            continue
        if group is not None:
            groups.append(_group(group, stack))
    return {"groups": groups, "unread": unread}


def _group(group: GpuGroup, stack: Stack) -> dict[str, Any]:
    cost = cost_of(group)
    return {
        "urn": group.resource.urn,
        "name": group.resource.name,
        "machine": group.machine.name,
        "accelerator": group.machine.accelerator,
        "gpus": group.gpus,
        "nodes": group.nodes,
        "least_nodes": group.least_nodes,
        "way": group.way,
        "region": group.region,
        "zones": _zones(group, stack),
        "fabric": _fabric(group),
        "usd_per_hour": cost.usd_per_hour,
        "cost": cost.parts[0].partition(": ")[2],
    }


def _zones(group: GpuGroup, stack: Stack) -> list[str]:
    try:
        return sorted(zones_of(group.resource, stack))
    except NotCheckedError:
        return []


def _fabric(group: GpuGroup) -> str:
    """Which fabric the nodes get, in words."""
    machine = group.machine
    if not machine.fabric_devices:
        return f"none: {machine.name} has no GPU fabric"
    try:
        used = uses_fabric(group)
    except NotCheckedError as reason:
        return f"not known: {reason}"
    if not used:
        return f"none: ordinary Ethernet; {machine.fabric_devices} x {machine.fabric} unused"
    return f"{machine.fabric_devices} x {machine.fabric}, {machine.network_gbits_per_s} Gbit/s"
