"""Every machine with every kind of capacity, tier, attachment and disk: nothing is planned that Google refuses together."""

from itertools import product
from typing import Any

import pytest

from gpufabric.hardware import gcp_machines
from gpufabric.plan.cloud_group import HOLD_TAINT
from gpufabric.plan.gcp import GcpStackPlan
from gpufabric.spec import SpecError
from tests.plan.gcp.wishes import plan_of, with_group

KINDS: dict[str, dict[str, Any]] = {
    kind: {"kind": kind, **({"id": "june"} if kind == "reservation" else {})}
    for kind in ("on_demand", "spot", "reservation", "flex_start", "queued")
}
TIERS, ATTACHMENTS, DISKS = ("best", "standard"), ("networks", "dranet"), ("best", "network")


def planned(machine: str) -> list[tuple[str, str, str, str, GcpStackPlan]]:
    """All that is planned for a machine; what is refused is refused in words."""
    found = []
    for kind, tier, attachment, disk in product(KINDS, TIERS, ATTACHMENTS, DISKS):
        wish = {"network_tier": tier, "fabric_attachment": attachment, "disk_tier": disk, "capacity": KINDS[kind]}
        try:
            stack = plan_of(with_group(machine_type=machine, preflight=preflight(kind), nodes=2, **wish))
        except SpecError:
            continue
        found.append((kind, tier, attachment, disk, stack))
    return found


def preflight(kind: str) -> dict[str, str] | None:
    return {"image": "acme.example/cuda:12"} if kind in ("flex_start", "queued") else None


@pytest.mark.parametrize("machine", [name for name, row in gcp_machines().items() if not row.refusal])
def test_what_is_planned_goes_together(machine: str) -> None:
    row = gcp_machines()[machine]
    found = planned(machine)
    # Ethernet is had with every kind and disk; the fabric, too, and by dranet where a device class is known.
    ways = 1 + bool(row.fabric) + (row.fabric == "gib")
    assert len(found) == len(KINDS) * len(DISKS) * ways
    for kind, tier, attachment, disk, stack in found:
        (group,), (gate,) = stack.node_groups, stack.groups
        capacity = group.capacity
        consumes = capacity.affinity.consume_type if capacity.affinity else None
        assert [capacity.spot, capacity.flex_start, capacity.queued, capacity.reserved].count(True) == (kind != "on_demand")
        assert consumes == {"on_demand": None, "reservation": "SPECIFIC_RESERVATION"}.get(kind, "NO_RESERVATION")
        comes_later = kind in ("flex_start", "queued")
        assert capacity.from_zero == comes_later
        assert (HOLD_TAINT in group.taints, group.auto_repair, group.surge == (0, 1)) == (not comes_later,) * 3
        assert capacity.desired_nodes == (0 if comes_later else 2)
        assert bool(gate.profile.to_dict()["admission"].get("initContainers")) == comes_later
        assert not capacity.compact or (tier == "best" and kind in ("on_demand", "flex_start"))
        assert group.attachment == (attachment if tier == "best" else None)
        assert bool(stack.parts.network.vpcs) == (group.attachment == "networks")
        assert ("gpufabric.dev/fabric" in group.labels) == (tier == "best") == (gate.fabric.tier == "best")
        assert (group.local_disks is not None) == (disk == "best" or row.disks_are_bundled)
        assert group.boot_disk_type in row.boot_disk_types
