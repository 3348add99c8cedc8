"""Golden plans: every resource that the stack program declares for each sample, as text."""

import json
import runpy
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

import gpufabric.preflight
from gpufabric.plan import StackPlan
from gpufabric.spec import CONFIG_KEY, read_stack_file
from tests.kubernetes.golden import FOLDER, same_as_golden
from tests.kubernetes.mocked import Recording, Registered, run, verdicts

STACKS = Path(__file__).parents[2] / "stacks"
SAMPLES = sorted(path for path in STACKS.glob("Pulumi.*.yaml") if path.name != "Pulumi.dev.yaml")  # the copy of `make up`
every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=[path.name.split(".")[1] for path in SAMPLES])


def declare(sample: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Recording, list[StackPlan]]:
    """Run stacks/__main__.py on a sample, without a cluster to look at."""
    looked_at: list[StackPlan] = []
    monkeypatch.setattr(gpufabric.preflight, "preflight_kubernetes", looked_at.append)
    config = yaml.safe_load(sample.read_text())["config"]
    stack = read_stack_file(sample).stack
    recording = run(
        lambda: runpy.run_path(str(STACKS / "__main__.py"), run_name="__main__"),
        stack=stack,
        config={CONFIG_KEY: config[CONFIG_KEY]},
        cluster=_Any(),
    )
    return recording, looked_at


class _Any(dict[str, Any]):
    """A cluster in which every gate has passed."""

    def __missing__(self, key: str) -> Any:
        return verdicts(key)[key]


def text_of(recording: Recording) -> str:
    """All resources, parents before children, one block each; then the stack's outputs."""
    blocks = [block(each) for each in sorted(recording.resources, key=lambda each: (depth(recording, each), each.label))]
    return "\n".join([*blocks, "outputs\n" + indented(recording.outputs)])


def depth(recording: Recording, resource: Registered) -> int:
    parents = {each.label: each for each in recording.resources}
    return 0 if not resource.parent else 1 + depth(recording, parents[resource.parent])


def block(resource: Registered) -> str:
    lines = [("read " if resource.read else "") + resource.label]
    for key, value in (("parent", resource.parent), ("provider", resource.provider), ("id", resource.read)):
        lines += [f"  {key}: {value}"] if value else []
    if resource.options:
        lines.append("  options:\n" + indented(resource.options, 4).rstrip("\n"))
    if resource.inputs:
        lines.append("  inputs:\n" + indented(readable(resource), 4).rstrip("\n"))
    if resource.outputs is not None:
        lines.append(f"  outputs: {', '.join(sorted(resource.outputs))}")
    return "\n".join(lines) + "\n"


def readable(resource: Registered) -> dict[str, Any]:
    """Programs by name alone (their text has tests of its own), JSON in a text as the value it is."""
    data = resource.inputs.get("data", {})
    texts = {
        name: json.loads(text) if name.endswith(".json") else "(program)" if name.endswith((".py", ".sh")) else text
        for name, text in data.items()
    }
    return {**resource.inputs, **({"data": texts} if data else {})}


def indented(value: object, spaces: int = 2) -> str:
    text = yaml.safe_dump(value, sort_keys=True, width=140, allow_unicode=True)
    return "".join(" " * spaces + line for line in text.splitlines(keepends=True))


@every_sample
def test_the_plan_of_a_sample_is_the_golden_one(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording, looked_at = declare(sample, monkeypatch)
    (plan,) = looked_at
    assert {each.type for each in recording.resources} >= {"gpufabric:index:KubernetesTrainingStack", "kubernetes:batch/v1:Job"}
    assert recording.outputs.keys() == {"pod_profiles", "validation"}
    assert recording.outputs["validation"].keys() == {group.name for group in plan.groups}
    same_as_golden(f"{plan.stack}.txt", text_of(recording))


def test_no_golden_plan_is_left_over() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {path.name.split(".")[1] for path in SAMPLES}
    assert len(SAMPLES) >= 2


@every_sample
def test_every_child_uses_the_clusters_provider(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording, _ = declare(sample, monkeypatch)
    of_kubernetes = [each for each in recording.resources if each.type.startswith("kubernetes:")]
    assert len(of_kubernetes) >= 12
    assert {each.provider for each in of_kubernetes} == {"pulumi:providers:kubernetes cluster"}
    assert recording.one("kubernetes", "cluster").inputs == {
        key: value for key, value in {"context": "onprem"}.items() if "onprem" in sample.name
    }


KEYS = "node_groups, validation, cloud, orchestrator, cluster"


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({}, "gpufabric:stack.cloud: missing; write kubernetes or aws"),
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
