"""Golden plans of AWS: every resource that the stack program declares for each sample, at a fixed time."""

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from gpufabric.kubernetes import clock
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


@cache
def recorded(sample: Path, when: str = "before") -> Recording:
    """What the program declares at one of the times; each is run once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "now", lambda: TIMES[when])
        return declare(sample, COMPUTED)


@every_sample
def test_the_plan_of_a_sample_is_the_golden_one(sample: Path) -> None:
    recording = recorded(sample)
    assert {each.type for each in recording.resources} >= {"gpufabric:index:AwsTrainingStack", "aws:eks/nodeGroup:NodeGroup"}
    assert recording.outputs.keys() == {"kubeconfig", "pod_profiles", "validation", "cost"}
    same_as_golden(f"{sample.name.split('.')[1]}.txt", text_of(recording))


@pytest.mark.parametrize("when", ["during", "after"])
def test_the_plan_of_a_block_at_other_times(when: str) -> None:
    same_as_golden(f"aws-p5en-capacity-block.{when}.txt", text_of(recorded(BLOCK, when)))


@pytest.mark.parametrize(
    ("when", "nodes", "scheduled", "waits"), [("before", 0, 1, False), ("during", 2, 0, True), ("after", 0, 0, False)]
)
def test_a_block_has_nodes_only_in_its_window(when: str, nodes: int, scheduled: int, waits: bool) -> None:
    recording = recorded(BLOCK, when)
    group = recording.one("NodeGroup", "aws-p5en-capacity-block-train-nodes")
    assert group.inputs["scalingConfig"] == {"desiredSize": nodes, "maxSize": 2, "minSize": 0}
    assert group.options["ignoreChanges"] == ["scalingConfig.desiredSize"]
    assert [each.inputs["startTime"] for each in recording.of("Schedule")] == ["2026-12-07T11:30:00Z"] * scheduled
    plan = recording.one("ConfigMap", "aws-p5en-capacity-block-train-plan").inputs["data"]["gate.json"]
    assert f'"wait_for_nodes": {str(waits).lower()}' in plan


@every_sample
def test_each_resource_has_its_provider_and_the_right_parent(sample: Path) -> None:
    recording = recorded(sample)
    stack = sample.name.split(".")[1]
    for each in recording.resources:
        if each.type.startswith("aws:"):
            assert each.provider == "pulumi:providers:aws account", each.label
        if each.type.startswith("kubernetes:"):
            assert each.provider == f"pulumi:providers:kubernetes {stack}-kubernetes", each.label
        assert each.name.startswith(stack) or each.label == "pulumi:providers:aws account", each.label
        assert each.parent or each.type in ("pulumi:providers:aws", "gpufabric:index:AwsTrainingStack"), each.label


@every_sample
def test_what_is_inside_goes_with_the_cluster_and_waits_for_it(sample: Path) -> None:
    recording = recorded(sample)
    stack = sample.name.split(".")[1]
    inside = [
        each for each in recording.resources if each.type.split(":")[-1] in ("FabricDaemons", "NcclValidation", "FabricGate")
    ]
    assert len(inside) >= 2
    for each in inside:
        assert each.options["deletedWith"].endswith(f"EksCluster::{stack}"), "its children inherit it from the engine"
    gate = recording.one("NcclValidation").options["dependencies"]
    group = recording.one("NodeGroup", f"{stack}-{recording.one('NcclValidation').name.removeprefix(stack + '-')}-nodes")
    assert group.label in gate, "nodes first"
    assert f"kubernetes:apps/v1:DaemonSet {stack}-daemons-nvidia-device-plugin" in gate, "and their devices"
    assert f"aws:eks/addon:Addon {stack}-vpc-cni" in recording.one("EksGpuNodeGroup").options["dependencies"]


def test_the_kubeconfig_is_secret_and_holds_no_credential() -> None:
    found = recorded(STACKS / "Pulumi.aws-p5.yaml").outputs["kubeconfig"]
    assert found["4dabf18193072939515e22adb298388d"] == "1b47061264138c4ac30d75fd1eb44270", "the SDK's mark of a secret"
    assert '"command": "aws"' in found["value"]
    (user,) = json.loads(found["value"])["users"]
    assert user["user"].keys() == {"exec"}


def test_the_cost_is_a_figure_or_not_there() -> None:
    assert recorded(STACKS / "Pulumi.aws-p5.yaml").outputs["cost"]["usd_per_hour"] == 220.16
    block = recorded(BLOCK).outputs["cost"]
    assert block.keys() == {"parts"}, "a block is paid in advance"
    assert block["parts"][0] == "train: 2 x p5en.48xlarge capacity block in us-west-2: no price is known"
