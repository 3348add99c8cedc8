"""Capacity on Google Cloud: kinds, reservations and blocks, windows, what starts at zero, and what does not go together."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpufabric.hardware import gcp_machines
from gpufabric.plan.cloud_group import HOLD_TAINT
from gpufabric.plan.cloud_model import Phase
from gpufabric.plan.gcp import ReservationAffinity
from tests.plan.gcp.wishes import NOW, ULTRA, group_of, plan_of, says, says_of_group, with_group

RESERVED: dict[str, Any] = {"kind": "reservation", "id": "blocks-of-june"}
PATH = "projects/acme-training/reservations/blocks-of-june"
NONE = ReservationAffinity("NO_RESERVATION")
KEY = "compute.googleapis.com/reservation-name"


@pytest.mark.parametrize(
    ("kind", "affinity", "compact", "lacking"),
    [
        ({}, None, True, False),
        ({"kind": "on_demand"}, None, True, False),
        ({"kind": "spot"}, NONE, False, True),
        (RESERVED, ReservationAffinity("SPECIFIC_RESERVATION", KEY, (PATH,)), False, False),
        ({"kind": "flex_start"}, NONE, True, True),
        ({"kind": "queued"}, NONE, False, True),
    ],
)
def test_what_a_kind_means(kind: dict[str, Any], affinity: ReservationAffinity | None, compact: bool, lacking: bool) -> None:
    group = group_of(capacity=kind)
    found = group.capacity
    assert found.affinity == affinity
    assert (found.compact, found.placement_policy) == (compact, None)
    assert (found.spot, found.flex_start, found.queued) == tuple(
        found.kind == each for each in ("spot", "flex_start", "queued")
    )
    assert found.may_lack_nodes == lacking
    assert found.reserved == (found.kind == "reservation")


@pytest.mark.parametrize("kind", ["flex_start", "queued"])
def test_what_comes_with_a_job_starts_at_zero(kind: str) -> None:
    stack = plan_of(with_group(capacity={"kind": kind, "max_run_seconds": 3600}))
    (group,), (gate,) = stack.node_groups, stack.groups
    assert (group.capacity.from_zero, group.capacity.desired_nodes, group.nodes) == (True, 0, 4)
    assert group.capacity.max_run_s == 3600
    assert HOLD_TAINT not in group.taints, "a job is matched with a template, and the template would be closed for ever"
    assert (group.auto_repair, group.surge) == (False, None)
    assert group.auto_upgrade == (kind == "flex_start")
    assert (gate.gate.gate.hold, gate.gate.gate.wait_for_nodes) == ("label", False), "pending, not failed"
    assert gate.profile.admission.validated == "", "no node could have the label before the job"
    assert "gpufabric-preflight" in str(gate.profile.to_dict()["admission"])


def test_jobs_tolerate_what_gke_puts_on_queued_nodes() -> None:
    def tolerated(kind: str) -> set[str]:
        (gate,) = plan_of(with_group(capacity={"kind": kind})).groups
        return {each["key"] for each in gate.profile.fabric.tolerations}

    assert tolerated("queued") == {"nvidia.com/gpu", "cloud.google.com/gke-queued"}
    assert tolerated("flex_start") == tolerated("on_demand") == {"nvidia.com/gpu"}


@pytest.mark.parametrize("kind", ["on_demand", "spot", "reservation"])
def test_what_is_there_is_closed_until_it_passes(kind: str) -> None:
    capacity = RESERVED if kind == "reservation" else {"kind": kind}
    stack = plan_of(with_group(capacity=capacity))
    (group,), (gate,) = stack.node_groups, stack.groups
    assert HOLD_TAINT in group.taints
    assert gate.gate.gate.hold == "taint"
    assert gate.gate.gate.wait_for_nodes == (kind != "spot")
    assert (group.capacity.from_zero, group.capacity.desired_nodes) == (False, 4)
    assert group.surge == (0, 1), "a reservation has no room for one node more, nor has spot"
    assert (group.auto_repair, group.auto_upgrade) == (True, True)


def test_a_block_is_named_behind_its_reservation() -> None:
    found = group_of(capacity={**RESERVED, "block": "block-1"}).capacity
    assert found.affinity == ReservationAffinity("SPECIFIC_RESERVATION", KEY, (f"{PATH}/reservationBlocks/block-1",))
    assert found.reservation_id == PATH


def test_a_shared_reservation_is_named_by_its_path() -> None:
    shared = "projects/acme-capacity/reservations/blocks-of-june"
    found = group_of(capacity={**RESERVED, "id": shared}).capacity
    assert found.affinity == ReservationAffinity("SPECIFIC_RESERVATION", KEY, (shared,))


def test_a_reservation_keeps_the_policy_it_was_made_with() -> None:
    found = group_of(capacity={**RESERVED, "placement_policy": "near"}).capacity
    assert (found.compact, found.placement_policy) == (True, "near")


@pytest.mark.parametrize("machine", [name for name, row in gcp_machines().items() if row.fabric and not row.refusal])
def test_flex_start_is_compact_where_google_can(machine: str) -> None:
    """GKE refuses it for A3 High and A3 Mega."""
    found = group_of(machine_type=machine, capacity={"kind": "flex_start"}).capacity
    assert found.compact == (machine in {"a3-ultragpu-8g", "a4-highgpu-8g"})


def test_nothing_is_placed_without_need() -> None:
    assert not group_of(nodes=1).capacity.compact
    assert not group_of(network_tier="standard").capacity.compact


def test_a_reservation_may_have_a_window() -> None:
    starts = datetime(2026, 12, 7, 11, 30, tzinfo=UTC)
    calendar = {**RESERVED, "starts_at": "2026-12-07T11:30:00Z", "ends_at": "2026-12-14T11:30:00Z"}

    def at(now: datetime) -> tuple[Phase, int, bool]:
        found = group_of(capacity=calendar, now=now).capacity
        return found.phase, found.desired_nodes, found.may_lack_nodes

    assert at(NOW) == (Phase.BEFORE, 0, True)
    assert at(starts) == (Phase.OPEN, 4, False)
    assert at(starts + timedelta(days=7)) == (Phase.AFTER, 0, True)


def stray(key: str, kind: str, others: str = "kind: reservation") -> str:
    return f"capacity.{key}: does not apply to kind: {kind}; leave it out, or write {others}"


OF_RESERVATIONS = ("id", "block", "placement_policy", "starts_at", "ends_at")
WINDOW = {"starts_at": "2026-12-07T11:30:00Z", "ends_at": "2026-12-14T11:30:00Z"}
BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "spot and a reservation": ({"kind": "spot", "id": "r"}, [stray("id", "spot")]),
    "flex-start and a reservation": ({"kind": "flex_start", "id": "r"}, [stray("id", "flex_start")]),
    "queued and a placement policy": ({"kind": "queued", "placement_policy": "near"}, [stray("placement_policy", "queued")]),
    "on demand with all keys of a reservation": (
        {"kind": "on_demand", "id": "r", "block": "b", "placement_policy": "near", **WINDOW},
        [stray(key, "on_demand") for key in OF_RESERVATIONS],
    ),
    "how long a node lives, of one that stays": (
        {"kind": "spot", "max_run_seconds": 3600},
        [stray("max_run_seconds", "spot", "kind: flex_start or kind: queued")],
    ),
    "longer than seven days": (
        {"kind": "flex_start", "max_run_seconds": 604_801},
        ["capacity.max_run_seconds: 604801 is out of range; write a number up to 604800"],
    ),
    "a reservation without its name": (
        {"kind": "reservation"},
        ["capacity.id: missing: kind: reservation is one that exists; write its name, or projects/PROJECT/reservations/NAME"],
    ),
    "a block of another project's reservation": (
        {"kind": "reservation", "id": "projects/acme-capacity/reservations/r", "block": "b"},
        [
            (
                "capacity.block: projects/acme-capacity/reservations/r is shared by another project; "
                "leave it out (GKE takes blocks of the project's own reservations alone)"
            )
        ],
    ),
    "a block where the reservation belongs": (
        {"kind": "reservation", "id": "projects/p/reservations/r/reservationBlocks/b"},
        [
            (
                "capacity.id: 'projects/p/reservations/r/reservationBlocks/b' is not the name of a reservation, or its path "
                "where another project shares it; write for example training, or projects/acme-capacity/reservations/training"
            )
        ],
    ),
    "a window the wrong way round": (
        {**RESERVED, "starts_at": WINDOW["ends_at"], "ends_at": WINDOW["starts_at"]},
        [
            (
                "capacity.ends_at: the window ends (2026-12-07T11:30:00Z) before it begins (2026-12-14T11:30:00Z); "
                "write a later time"
            )
        ],
    ),
    "a kind of AWS": (
        {"kind": "capacity_block"},
        ["capacity.kind: 'capacity_block' is not a choice here; write on_demand, spot, reservation, flex_start or queued"],
    ),
    "a lookup, which only AWS has": ({**RESERVED, "lookup": True}, ["capacity.lookup: unknown key; did you mean block?"]),
}


@pytest.mark.parametrize("case", BAD)
def test_what_does_not_go_together_is_said(case: str) -> None:
    capacity, lines = BAD[case]
    found = says_of_group(capacity=capacity)
    if case == "a lookup, which only AWS has":
        assert [line.split(";")[0] for line in found] == ["capacity.lookup: unknown key"]
    else:
        assert found == lines


def test_flex_start_with_repair() -> None:
    for kind in ("flex_start", "queued"):
        (line,) = says_of_group(capacity={"kind": kind}, auto_repair=True)
        assert line == (
            f"auto_repair: GKE does not repair nodes of kind: {kind}, which live for one job; "
            "leave it out (GKE documentation, flex-start)"
        )
        assert not group_of(capacity={"kind": kind}, auto_repair=False).auto_repair
    assert not group_of(auto_repair=False).auto_repair


def test_a_preflight_is_for_nodes_that_come_with_a_job() -> None:
    (line,) = says_of_group(preflight={"image": "acme.example/cuda:12"})
    assert line == (
        "preflight: nodes of kind: on_demand are validated before any job; it is for those that come with one; leave it out"
    )
    ethernet: dict[str, Any] = {
        "machine_type": "g2-standard-96",
        "network_tier": "standard",
        "capacity": {"kind": "flex_start"},
    }
    (line,) = says_of_group(**ethernet)
    assert line.startswith("preflight.image: missing: no rank image is known for ethernet; ")
    assert group_of(**ethernet, preflight={"image": "acme.example/cuda:12"}).gate_keys == {
        "preflight": {"image": "acme.example/cuda:12"}
    }


def test_more_nodes_than_are_placed_together() -> None:
    """Wider than any sample: the block of pods has to be, too."""
    wide = {**with_group(nodes=1501), "network": {"cidr": "10.0.0.0/11"}}
    (line,) = says(wide)
    assert line.startswith(
        "node_groups[0].nodes: 1501 nodes; GKE places at most 1500 of a node pool close together; write at most 1500, and more"
    )


def test_groups_of_one_reservation_are_of_one_machine() -> None:
    groups = [
        {"name": name, "machine_type": machine, "nodes": 2, "capacity": RESERVED}
        for name, machine in (("a", "a3-ultragpu-8g"), ("b", "a4-highgpu-8g"))
    ]
    assert says({**ULTRA, "node_groups": groups}) == [
        (
            f"node_groups: a and b ask {PATH} for a3-ultragpu-8g and a4-highgpu-8g; a reservation holds one type of machine; "
            "give each group a reservation of its own"
        )
    ]
    (line,) = says({**ULTRA, "node_groups": [groups[0], {**groups[1], "capacity": {**RESERVED, "id": PATH}}]})
    assert line.startswith(f"node_groups: a and b ask {PATH} for "), "by its name and by its path it is the same one"


def test_a_gate_that_would_leave_the_taint() -> None:
    from tests.spec.specs import changed

    (line,) = says(changed(ULTRA, validation__hold="label"))
    assert line.startswith("validation.hold: nodes of GKE are made with the hold's taint, which only a gate with hold: taint")
    flex = with_group(capacity={"kind": "flex_start"})
    assert plan_of(changed(flex, validation__hold="label")).groups[0].gate.gate.hold == "label"
