"""Capacity: kinds, windows at an injected time, placement groups, and what does not go together."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpufabric.plan.aws import ScaleUp
from gpufabric.plan.cloud_model import Phase
from tests.plan.aws.wishes import P5, RESERVATION, group_of, plan_of, says, says_of_group

STARTS, ENDS = datetime(2026, 12, 7, 11, 30, tzinfo=UTC), datetime(2026, 12, 14, 11, 30, tzinfo=UTC)
BLOCK: dict[str, Any] = {
    "kind": "capacity_block",
    "id": RESERVATION,
    "starts_at": "2026-12-07T11:30:00Z",
    "ends_at": "2026-12-14T11:30:00Z",
}
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("kind", "capacity_type", "market", "placed", "reserved"),
    [
        ({}, "ON_DEMAND", "", True, False),
        ({"kind": "on_demand"}, "ON_DEMAND", "", True, False),
        ({"kind": "spot"}, "SPOT", "", False, False),
        ({"kind": "reservation", "id": RESERVATION}, "ON_DEMAND", "", False, True),
        (BLOCK, "CAPACITY_BLOCK", "capacity-block", False, True),
    ],
)
def test_what_a_kind_means(kind: dict[str, Any], capacity_type: str, market: str, placed: bool, reserved: bool) -> None:
    group = group_of(capacity=kind, now=STARTS + DAY)
    found = group.capacity
    assert (found.capacity_type, found.market_type) == (capacity_type, market)
    assert (found.own_placement_group, found.placement_group) == (placed, None)
    assert found.reservation_id == kind.get("id")
    assert found.reserved == reserved
    assert group.update_strategy == ("MINIMAL" if reserved else "DEFAULT"), "a full reservation has no room for one more"


@pytest.mark.parametrize(
    ("now", "phase", "nodes"),
    [
        (STARTS - DAY, Phase.BEFORE, 0),
        (STARTS - 46 * MINUTE, Phase.BEFORE, 0),
        (STARTS - 45 * MINUTE, Phase.OPEN, 4),  # an `up` takes so long: its scheduled action would lie in the past
        (STARTS, Phase.OPEN, 4),
        (ENDS - 41 * MINUTE, Phase.OPEN, 4),
        (ENDS - 40 * MINUTE, Phase.AFTER, 0),  # EKS's own scale-down
        (ENDS + DAY, Phase.AFTER, 0),
    ],
)
def test_a_block_has_nodes_in_its_window(now: datetime, phase: Phase, nodes: int) -> None:
    found = group_of(capacity=BLOCK, now=now).capacity
    assert (found.phase, found.desired_nodes) == (phase, nodes)
    assert found.scale_up == (ScaleUp(STARTS, 4) if phase is Phase.BEFORE else None)
    assert found.may_lack_nodes == (phase is not Phase.OPEN)


def test_a_reservation_may_have_a_window_too() -> None:
    wish = {**BLOCK, "kind": "reservation"}
    assert group_of(capacity=wish, now=STARTS - DAY).capacity.scale_up == ScaleUp(STARTS, 4)
    assert group_of(capacity=wish, now=ENDS - MINUTE).capacity.phase is Phase.OPEN, "only blocks are ended early"
    assert group_of(capacity=wish, now=ENDS).capacity.phase is Phase.AFTER


def test_spot_nodes_may_lack() -> None:
    assert group_of(capacity={"kind": "spot"}).capacity.may_lack_nodes


def test_a_placement_group_is_made_only_where_it_is_right() -> None:
    assert not group_of(network_tier="standard").capacity.own_placement_group, "nothing gains from it"
    assert not group_of(nodes=1).capacity.own_placement_group
    of_reservation = group_of(capacity={"kind": "reservation", "id": RESERVATION, "placement_group": "near"}).capacity
    assert (of_reservation.own_placement_group, of_reservation.placement_group) == (False, "near")
    named = group_of(capacity={"placement_group": "near"}).capacity
    assert (named.own_placement_group, named.placement_group) == (False, "near"), "terraform-aws-eks 3730: the user's wins"


DOES_NOT_APPLY = "does not apply to kind: on_demand; leave it out, or write kind: reservation or kind: capacity_block"
BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a block with a placement group": (
        {**BLOCK, "placement_group": "near"},
        [
            (
                "capacity.placement_group: a capacity block takes no placement group: it is placed together already; "
                "leave it out (AWS EC2, 2026-07)"
            )
        ],
    ),
    "a block without all": (
        {"kind": "capacity_block"},
        [
            "capacity.id: missing: kind: capacity_block is one that exists; write its id, cr-...",
            (
                "capacity.starts_at: missing: a capacity block has a window; "
                "write the block's time in UTC, or lookup: true, which asks AWS at preview"
            ),
            (
                "capacity.ends_at: missing: a capacity block has a window; "
                "write the block's time in UTC, or lookup: true, which asks AWS at preview"
            ),
        ],
    ),
    "a reservation without id": (
        {"kind": "reservation"},
        ["capacity.id: missing: kind: reservation is one that exists; write its id, cr-..."],
    ),
    "a malformed id": (
        {"kind": "reservation", "id": "cr-123"},
        ["capacity.id: 'cr-123' is not the id of a capacity reservation; write for example cr-0123456789abcdef0"],
    ),
    "on demand with keys of a reservation": (
        {**BLOCK, "kind": "on_demand", "lookup": True},
        [f"capacity.{key}: {DOES_NOT_APPLY}" for key in ("id", "starts_at", "ends_at", "lookup")],
    ),
    "a window the wrong way round": (
        {**BLOCK, "starts_at": BLOCK["ends_at"], "ends_at": BLOCK["starts_at"]},
        [
            (
                "capacity.ends_at: the window ends (2026-12-07T11:30:00Z) before it begins (2026-12-14T11:30:00Z); "
                "write a later time"
            )
        ],
    ),
    "a time without zone": (
        {**BLOCK, "starts_at": "2026-12-07 11:30"},
        ["capacity.starts_at: '2026-12-07 11:30' is no time in UTC; write it in quotes, such as '2026-12-01T11:30:00Z'"],
    ),
    "a time of no calendar": (
        {**BLOCK, "starts_at": "2026-02-30T11:30Z"},
        ["capacity.starts_at: '2026-02-30T11:30Z' is not in any calendar; write it such as '2026-12-01T11:30:00Z'"],
    ),
    "a placement group without a name": (
        {"placement_group": ""},
        ["capacity.placement_group: '' is not the name of a placement group; write for example training"],
    ),
    "an unknown kind": (
        {"kind": "odcr"},
        ["capacity.kind: 'odcr' is not a choice here; write on_demand, spot, reservation or capacity_block"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_does_not_go_together_is_said(case: str) -> None:
    capacity, lines = BAD[case]
    assert says_of_group(capacity=capacity) == lines


def test_a_block_holds_at_most_64() -> None:
    (line,) = says_of_group(capacity=BLOCK, nodes=65)
    assert line.startswith(
        "nodes: 65 nodes; a capacity block holds at most 64; write at most 64 nodes, and a group for each block (vendor, "
    )
    assert group_of(capacity=BLOCK, nodes=64).nodes == 64


def test_with_a_lookup_the_window_may_be_left_out() -> None:
    found = group_of(capacity={"kind": "capacity_block", "id": RESERVATION, "lookup": True}).capacity
    assert (found.phase, found.desired_nodes) == (Phase.OPEN, 4)


def of_groups(*groups: dict[str, Any]) -> dict[str, Any]:
    named = [{"name": name, "machine_type": "p5.48xlarge", "nodes": 4} | each for name, each in zip("ab", groups, strict=True)]
    return {**P5, "node_groups": named}


def test_groups_may_share_a_reservation_of_their_machine() -> None:
    capacity = {"kind": "reservation", "id": RESERVATION}
    assert len(plan_of(of_groups({"capacity": capacity}, {"capacity": capacity})).node_groups) == 2
    assert says(of_groups({"capacity": capacity}, {"capacity": capacity, "machine_type": "p5en.48xlarge"})) == [
        (
            f"node_groups: a and b ask {RESERVATION} for p5.48xlarge and p5en.48xlarge; a reservation holds one type of "
            "machine; give each group a reservation of its own"
        )
    ]


def test_groups_of_one_block_hold_at_most_64_together() -> None:
    assert plan_of(of_groups({"capacity": BLOCK, "nodes": 32}, {"capacity": BLOCK, "nodes": 32})).node_groups
    (line,) = says(of_groups({"capacity": BLOCK, "nodes": 32}, {"capacity": BLOCK, "nodes": 33}))
    assert line.startswith(f"node_groups: a and b ask {RESERVATION} for 65 nodes; a capacity block holds at most 64; ")
