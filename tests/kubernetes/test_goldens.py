"""Golden plans: every resource that the stack program declares for each sample, as text."""

import runpy
from pathlib import Path

import pulumi
import pytest

import gpufabric.preflight
from gpufabric.plan import StackPlan
from gpufabric.spec import CONFIG_KEY
from tests.kubernetes.golden import FOLDER, same_as_golden
from tests.kubernetes.mocked import Recording, run
from tests.kubernetes.stack_plans import STACKS, declare, samples, text_of

SAMPLES = samples("kubernetes")
every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=[path.name.split(".")[1] for path in SAMPLES])


def declared(sample: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Recording, list[StackPlan]]:
    """Run stacks/__main__.py on a sample, without a cluster to look at."""
    looked_at: list[StackPlan] = []
    monkeypatch.setattr(gpufabric.preflight, "preflight_kubernetes", looked_at.append)
    return declare(sample), looked_at


@every_sample
def test_the_plan_of_a_sample_is_the_golden_one(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording, looked_at = declared(sample, monkeypatch)
    (plan,) = looked_at
    assert {each.type for each in recording.resources} >= {"gpufabric:index:KubernetesTrainingStack", "kubernetes:batch/v1:Job"}
    assert recording.outputs.keys() == {"pod_profiles", "validation"}
    assert recording.outputs["validation"].keys() == {group.name for group in plan.groups}
    same_as_golden(f"{plan.stack}.txt", text_of(recording))


def test_no_golden_plan_is_left_over() -> None:
    of_all = {path.name.split(".")[1] for path in STACKS.glob("Pulumi.*.yaml")} - {"dev"}
    assert {path.name.split(".")[0] for path in FOLDER.glob("*.txt")} == of_all
    assert len(SAMPLES) >= 2


@every_sample
def test_every_child_uses_the_clusters_provider(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording, _ = declared(sample, monkeypatch)
    of_kubernetes = [each for each in recording.resources if each.type.startswith("kubernetes:")]
    assert len(of_kubernetes) >= 12
    assert {each.provider for each in of_kubernetes} == {"pulumi:providers:kubernetes cluster"}
    assert recording.one("kubernetes", "cluster").inputs == {
        key: value for key, value in {"context": "onprem"}.items() if "onprem" in sample.name
    }


KEYS = "node_groups, validation, scheduler, stores, filesystems, storage, local_nvme, cloud, orchestrator, cluster"


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({}, "gpufabric:stack.cloud: missing; write kubernetes, aws or gcp"),
        ("aws", f"gpufabric:stack: expected a mapping, found 'aws'; known keys: {KEYS}"),
        ({"cloud": "kubernetes", "node_groups": []}, "gpufabric:stack.node_groups: no node group; write at least one"),
    ],
)
def test_a_wrong_wish_ends_before_anything_is_registered(wish: object, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpufabric.preflight, "preflight_kubernetes", lambda _: pytest.fail("looked at the cluster"))
    recording = Recording()

    def program() -> None:
        runpy.run_path(str(STACKS / "__main__.py"), run_name="__main__")

    with pytest.raises(pulumi.RunError) as caught:
        run(program, config={CONFIG_KEY: wish}, recording=recording)
    assert str(caught.value).startswith("nothing was changed; to fix:\n")
    assert says in str(caught.value).split("\n")
    assert recording.resources == []
