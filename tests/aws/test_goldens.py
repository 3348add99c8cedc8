"""Golden plans of AWS: every resource that the stack program declares for each sample, at a fixed time."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpufabric.aws import clock
from tests.aws.cloud import COMPUTED
from tests.kubernetes.golden import same_as_golden
from tests.kubernetes.mocked import Recording
from tests.kubernetes.stack_plans import STACKS, declare, samples, text_of

SAMPLES = samples("aws")
every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=[path.name.split(".")[1] for path in SAMPLES])
BLOCK = STACKS / "Pulumi.aws-p5en-capacity-block.yaml"
# Of the block's window: 2026-12-07T11:30Z to 2026-12-14T11:30Z. EKS scales to zero 40 minutes before the end.
TIMES = {
    "before": datetime(2026, 12, 1, tzinfo=UTC),
    "during": datetime(2026, 12, 8, tzinfo=UTC),
    "after": datetime(2026, 12, 14, 10, 50, tzinfo=UTC),
}


def at(sample: Path, now: datetime, monkeypatch: pytest.MonkeyPatch) -> Recording:
    monkeypatch.setattr(clock, "now", lambda: now)
    return declare(sample, COMPUTED)


@every_sample
def test_the_plan_of_a_sample_is_the_golden_one(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = at(sample, TIMES["before"], monkeypatch)
    assert {each.type for each in recording.resources} >= {"gpufabric:index:AwsTrainingStack", "aws:eks/nodeGroup:NodeGroup"}
    assert recording.outputs.keys() == {"kubeconfig", "pod_profiles", "validation", "cost"}
    same_as_golden(f"{sample.name.split('.')[1]}.txt", text_of(recording))


@pytest.mark.parametrize("when", ["during", "after"])
def test_the_plan_of_a_block_at_other_times(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    same_as_golden(f"aws-p5en-capacity-block.{when}.txt", text_of(at(BLOCK, TIMES[when], monkeypatch)))


@pytest.mark.parametrize(
    ("when", "nodes", "scheduled", "waits"), [("before", 0, 1, False), ("during", 2, 0, True), ("after", 0, 0, False)]
)
def test_a_block_has_nodes_only_in_its_window(
    when: str, nodes: int, scheduled: int, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = at(BLOCK, TIMES[when], monkeypatch)
    group = recording.one("NodeGroup", "aws-p5en-capacity-block-train-nodes")
    assert group.inputs["scalingConfig"] == {"desiredSize": nodes, "maxSize": 2, "minSize": 0}
    assert group.options["ignoreChanges"] == ["scalingConfig.desiredSize"]
    assert [each.inputs["startTime"] for each in recording.of("Schedule")] == ["2026-12-07T11:30:00Z"] * scheduled
    plan = recording.one("ConfigMap", "aws-p5en-capacity-block-train-plan").inputs["data"]["gate.json"]
    assert f'"wait_for_nodes": {str(waits).lower()}' in plan
