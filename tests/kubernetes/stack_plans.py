"""Golden plans of sample stacks: run stacks/__main__.py without an engine, and write down every resource as text."""

import base64
import json
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from gpufabric.spec import CONFIG_KEY, read_stack_file
from tests.kubernetes.mocked import Computed, Recording, Registered, run, verdicts

STACKS = Path(__file__).parents[2] / "stacks"


def samples(cloud: str) -> list[Path]:
    """The tracked samples of a cloud; the copy of `make up` is none."""
    found = sorted(path for path in STACKS.glob("Pulumi.*.yaml") if path.name != "Pulumi.dev.yaml")
    return [path for path in found if _config(path)["cloud"] == cloud]


def _config(sample: Path) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(sample.read_text())["config"][CONFIG_KEY]
    return config


def declare(sample: Path, computed: Mapping[str, Computed] | None = None) -> Recording:
    """Run the program of all stacks on a sample. ``computed``: what a cloud adds to resources, by type."""
    return run(
        lambda: runpy.run_path(str(STACKS / "__main__.py"), run_name="__main__"),
        stack=read_stack_file(sample).stack,
        config={CONFIG_KEY: _config(sample)},
        cluster=Passed(),
        computed=computed or {},
    )


class Passed(dict[str, Any]):
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
    """Programs by name alone (their text has tests of its own), JSON in a text as the value it is, user data decoded."""
    data = resource.inputs.get("data", {})
    texts = {
        name: json.loads(text) if name.endswith(".json") else "(program)" if name.endswith((".py", ".sh")) else text
        for name, text in data.items()
    }
    user_data = base64.b64decode(resource.inputs.get("userData", "")).decode()
    return {**resource.inputs, **({"data": texts} if data else {}), **({"userData": user_data} if user_data else {})}


def indented(value: object, spaces: int = 2) -> str:
    text = yaml.safe_dump(value, sort_keys=True, width=140, allow_unicode=True)
    return "".join(" " * spaces + line for line in text.splitlines(keepends=True))
