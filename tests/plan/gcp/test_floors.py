"""What the gate of each family is held to without a floor of the user's: figures of exactly this hardware, or a question."""

from typing import Any

import pytest

from gpufabric.hardware import GcpMachine, find_baseline, gcp_machines, machine_fabrics
from tests.plan.gcp.wishes import plan_of, says, with_group
from tests.spec.specs import GONE, changed

FAMILIES = [row for row in gcp_machines().values() if row.fabric and not row.refusal]
every_family = pytest.mark.parametrize("machine", FAMILIES, ids=lambda row: row.name)
# Least of all_reduce and all_gather between two nodes, and inside one, GB/s.
FLOORS = {
    "a3-highgpu-8g": (54, 60, 324),
    "a3-megagpu-8g": (300, 169, 324),
    "a3-ultragpu-8g": (293, 293, 324),
    "a4-highgpu-8g": (250, 250, 613),
}


def without_floor(**group: Any) -> dict[str, Any]:
    return changed(with_group(**group), validation__floor_gbytes_per_s=GONE)


@every_family
def test_two_nodes_have_floors_for_both_collectives(machine: GcpMachine) -> None:
    (group,) = plan_of(without_floor(machine_type=machine.name, nodes=2)).groups
    expected, inside = group.gate.gate.expectation, group.gate.gate.inside
    assert expected.also is not None
    assert inside is not None
    assert expected.also.collective == "all_gather"
    found = [each.floor_busbw_gbytes_per_s for each in (expected, expected.also, inside)]
    assert found == list(FLOORS[machine.name])
    assert expected.max_bytes == 8 << 30
    assert "derived" in expected.floor_source


@every_family
def test_no_floor_is_above_what_the_cards_carry(machine: GcpMachine) -> None:
    """An all_gather has the wire's rate at most; an all_reduce may have more: switches inside the nodes sum for it."""
    line_rate_gbytes_per_s = machine.network_gbits_per_s / 8
    assert FLOORS[machine.name][1] < line_rate_gbytes_per_s


@pytest.mark.parametrize(("machine", "lost"), [("a3-highgpu-8g", 1), ("a3-megagpu-8g", 1), ("a3-ultragpu-8g", 1)])
def test_a_lost_card_shows_in_the_all_gather(machine: str, lost: int) -> None:
    """The best that was ever measured of the hardware, less the share of a card, is below the floor."""
    row = gcp_machines()[machine]
    best = {"a3-highgpu-8g": 71.4, "a3-megagpu-8g": 188.7, "a3-ultragpu-8g": 329}[machine]
    assert best * (row.fabric_devices - lost) / row.fabric_devices < FLOORS[machine][1]


@every_family
def test_for_more_nodes_the_user_is_asked(machine: GcpMachine) -> None:
    (line,) = says(without_floor(machine_type=machine.name, nodes=4))
    assert line.startswith("validation.floor_gbytes_per_s: no baseline is known for 4 nodes of ")
    assert "only for up to 2" in line


@every_family
def test_the_second_measurement_is_for_every_fabric(machine: GcpMachine) -> None:
    """TCPX and TCPXO are no RDMA, but lose cards as silently."""
    (group,) = plan_of(with_group(machine_type=machine.name, nodes=2)).groups
    assert group.gate.gate.expectation.also is not None
    (ethernet,) = plan_of(with_group(machine_type=machine.name, nodes=2, network_tier="standard")).groups
    assert ethernet.gate.gate.expectation.also is None


def test_fabrics_of_google_are_held_to_no_other_clouds_figures() -> None:
    for fabric in {row.fabric for row in FAMILIES}:
        for accelerator in ("A100", "L4", "B300"):
            assert find_baseline(fabric=fabric, accelerator=accelerator, per_node=8, nodes=2, collective="all_reduce") is None
    assert {row.fabric for row in FAMILIES} <= machine_fabrics().keys()


@every_family
def test_gibs_settings_are_on_its_own_machines_alone(machine: GcpMachine) -> None:
    """Elsewhere NCCL ends with "network gIB not found" (llm-d's advice, and a note of A3 High)."""

    def environment(**group: Any) -> dict[str, str]:
        return dict(plan_of(with_group(machine_type=machine.name, nodes=2, **group)).groups[0].profile.fabric.environment)

    assert (environment().get("NCCL_NET") == "gIB") == (machine.fabric == "gib")
    assert "NCCL_NET" not in environment(network_tier="standard")
