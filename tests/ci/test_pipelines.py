"""The pipelines of `examples/ci` are what the forges take: held against the schemas that GitHub and GitLab are described by.

`check-jsonschema` brings both and renews them with each release; nothing is asked of the network.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.folders import REPOSITORY

CI = REPOSITORY / "examples" / "ci"
PIPELINES = {"github.yml": "vendor.github-workflows", "gitlab-ci.yml": "vendor.gitlab-ci"}


def judged(pipeline: Path, schema: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(pipeline)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("name", "schema"), PIPELINES.items())
def test_a_pipeline_is_what_its_forge_takes(name: str, schema: str) -> None:
    done = judged(CI / name, schema)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "right", "wrong", "says"),
    [
        ("github.yml", "runs-on:", "run-on:", "'runs-on' is a required property"),
        ("github.yml", "pull-requests: write", "pull-requests: post", "'post' is not one of"),
        ("github.yml", "on: pull_request", "on: pull_requests", "'pull_requests' is not one of"),
        ("gitlab-ci.yml", "script:", "scripts:", "'scripts' was unexpected"),
        ("gitlab-ci.yml", "rules:\n", "rule:\n", "'rule' was unexpected"),
    ],
)
def test_a_mistake_in_a_pipeline_is_found(tmp_path: Path, name: str, right: str, wrong: str, says: str) -> None:
    text = (CI / name).read_text("utf-8")
    assert text.count(right) == 1
    (tmp_path / name).write_text(text.replace(right, wrong), encoding="utf-8")
    done = judged(tmp_path / name, PIPELINES[name])
    assert done.returncode == 1
    assert says in done.stdout


def test_every_pipeline_is_judged() -> None:
    assert {each.name for each in CI.glob("*.yml")} == PIPELINES.keys()
