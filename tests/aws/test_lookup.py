"""``capacity.lookup``: AWS is asked at preview, and what it says is the window, or an error of the spec."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from pulumi import ResourceOptions
from pulumi_aws import Provider

from gpufabric.aws import AwsTrainingStack, EksGpuNodeGroup
from gpufabric.kubernetes import clock
from gpufabric.spec import SpecError
from tests.aws.cloud import COMPUTED
from tests.aws.test_node_group import ARGS
from tests.kubernetes.mocked import Recording, run, verdicts
from tests.plan.aws.wishes import P5

CALL = "aws:ec2/getCapacityBlockReservation:getCapacityBlockReservation"
ID = "cr-0123456789abcdef0"
BLOCK = {
    "state": "scheduled",
    "reservationType": "capacity-block",
    "instanceType": "p5.48xlarge",
    "availabilityZone": "us-east-2b",
    "instanceCount": 4,
    "availableInstanceCount": 0,
    "startDate": "2026-12-07T11:30:00Z",
    "endDate": "2026-12-14T11:30:00Z",
    "placementGroupArn": "",
}
LOOKUP: dict[str, Any] = {"kind": "capacity_block", "id": ID, "lookup": True}


@pytest.fixture(autouse=True)
def a_week_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 12, 1, tzinfo=UTC))


def asked(block: Mapping[str, Any], recording: Recording | None = None, **capacity: Any) -> Recording:
    args: Any = {**ARGS, "capacity": {**LOOKUP, **capacity}}

    def program() -> None:
        account = Provider("account", region="us-east-2")
        EksGpuNodeGroup("gpu", args, ResourceOptions(providers=[account]))

    return run(program, computed={**COMPUTED, CALL: block}, recording=recording)


def test_the_window_is_the_blocks_own() -> None:
    recording = asked(BLOCK)
    assert recording.invoked == [(CALL, {"id": ID, "region": "us-east-2"}, "pulumi:providers:aws account")]
    assert recording.one("NodeGroup").inputs["scalingConfig"]["desiredSize"] == 0
    assert recording.one("Schedule").inputs["startTime"] == "2026-12-07T11:30:00Z"


def test_nothing_is_asked_without_lookup() -> None:
    recording = asked({}, lookup=False, starts_at=BLOCK["startDate"], ends_at=BLOCK["endDate"])
    assert recording.invoked == []


BAD: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "another window": (
        {},
        {"starts_at": "2026-12-08T11:30:00Z"},
        "gpu.capacity.starts_at: cr-0123456789abcdef0 begins at 2026-12-07T11:30:00Z, not at 2026-12-08T11:30:00Z; ",
    ),
    "another zone": ({"availabilityZone": "us-east-2c"}, {}, "gpu.zone: cr-0123456789abcdef0 is in us-east-2c, "),
    "another machine": ({"instanceType": "p5en.48xlarge"}, {}, "gpu.machine_type: cr-0123456789abcdef0 holds p5en.48xlarge, "),
    "fewer machines": ({"instanceCount": 2}, {}, "gpu.nodes: cr-0123456789abcdef0 holds 2 instances, "),
    "one that is over": ({"state": "expired"}, {}, "gpu.capacity.id: cr-0123456789abcdef0 is expired; "),
    "no block": ({"reservationType": "default"}, {}, "gpu.capacity.kind: cr-0123456789abcdef0 is a reservation "),
}


@pytest.mark.parametrize("case", BAD)
def test_what_does_not_fit_is_an_error_of_the_spec_and_makes_nothing(case: str) -> None:
    changes, capacity, says = BAD[case]
    recording = Recording()
    with pytest.raises(SpecError) as caught:
        asked({**BLOCK, **changes}, recording, **capacity)
    assert any(line.startswith(says) for line in str(caught.value).split("\n")), str(caught.value)
    assert [each.label for each in recording.resources] == ["pulumi:providers:aws account"]


def test_what_aws_does_not_know_is_said_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise Exception("invoke failed:\n  no matching EC2 Capacity Reservation found")  # noqa: TRY002 - as the SDK does

    monkeypatch.setattr("pulumi_aws.ec2.get_capacity_block_reservation", refuse)
    with pytest.raises(SpecError) as caught:
        asked(BLOCK)
    said = "invoke failed: no matching EC2 Capacity Reservation found"
    assert str(caught.value) == f"gpu.capacity.id: AWS does not describe {ID}: {said}; check id, region and account"


def test_a_reservation_cannot_be_looked_up() -> None:
    with pytest.raises(
        SpecError, match=r"^gpu.capacity.lookup: Pulumi's AWS SDK describes capacity blocks alone; leave it out"
    ):
        asked(BLOCK, kind="reservation")


def test_a_stack_asks_once_and_its_group_has_the_window() -> None:
    wish: Any = {key: value for key, value in P5.items() if key != "cloud"}
    wish["node_groups"] = [{**P5["node_groups"][0], "capacity": LOOKUP}]

    def program() -> None:
        account = Provider("account", region="us-east-2")
        AwsTrainingStack("prod", wish, ResourceOptions(providers=[account]))

    recording = run(program, computed={**COMPUTED, CALL: BLOCK}, cluster=verdicts("gpufabric-dev-train/train-verdict"))
    assert len(recording.invoked) == 1
    assert recording.one("Schedule").inputs["startTime"] == "2026-12-07T11:30:00Z"
    plan = recording.one("ConfigMap", "prod-train-plan").inputs["data"]["gate.json"]
    assert '"wait_for_nodes": false' in plan
