"""One sticky comment below a request, on forges that speak GitHub's and GitLab's API."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gpufabric.review import markdown, read_review
from tests.ci.forge import TOKEN, Forge, running
from tests.review.events import BUCKET, facts, step
from tools.folders import REPOSITORY

CI = REPOSITORY / "examples" / "ci"
every_forge = pytest.mark.parametrize("kind", ["github", "gitlab"])


@pytest.fixture
def forge() -> Iterator[Forge]:
    with running() as found:
        yield found


def environment(forge: Forge, kind: str, tmp_path: Path) -> dict[str, str]:
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"number": 7}))
    asked = forge.github() | {"GITHUB_EVENT_PATH": str(event)} if kind == "github" else forge.gitlab()
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "CI_"))}
    return clean | asked | {"POST_REVIEW_WAIT_S": "0"}


def report(tmp_path: Path, stack: str = "dev", buckets: int = 1) -> Path:
    events = [step("create", BUCKET, f"b{number}") for number in range(buckets)]
    file = tmp_path / f"{stack}.md"
    file.write_text(markdown(read_review(stack, events, facts(), facts())), encoding="utf-8")
    return file


def post(file: Path, env: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CI / "post_review.py"), str(file), *options]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@every_forge
def test_one_comment_for_a_stack_is_made_and_then_changed(forge: Forge, kind: str, tmp_path: Path) -> None:
    env = environment(forge, kind, tmp_path)
    forge.add("somebody's words")
    done = post(report(tmp_path), env)
    assert (done.returncode, done.stdout) == (0, "comment made\n"), done.stderr
    again = report(tmp_path, buckets=2)
    assert post(again, env).stdout == "comment changed\n"
    assert post(report(tmp_path, "prod"), env).stdout == "comment made\n"
    assert forge.bodies() == ["somebody's words", again.read_text("utf-8"), (tmp_path / "prod.md").read_text("utf-8")]


@every_forge
def test_the_comment_is_found_on_a_later_page(forge: Forge, kind: str, tmp_path: Path) -> None:
    env = environment(forge, kind, tmp_path)
    for number in range(230):
        forge.add(f"word {number}")
    post(report(tmp_path), env)
    assert post(report(tmp_path, buckets=3), env).stdout == "comment changed\n"
    assert len(forge.bodies()) == 231


@every_forge
def test_trouble_of_the_forge_is_waited_out_and_a_limit_is_kept(forge: Forge, kind: str, tmp_path: Path) -> None:
    env = environment(forge, kind, tmp_path)
    forge.troubles = [502, 429]
    assert post(report(tmp_path), env).returncode == 0
    assert len(forge.bodies()) == 1
    forge.troubles = [503] * 9
    done = post(report(tmp_path), env)
    assert done.returncode == 1
    assert "503" in done.stderr
    assert len(forge.troubles) == 5


@every_forge
def test_somebody_elses_comment_stays(forge: Forge, kind: str, tmp_path: Path) -> None:
    env = environment(forge, kind, tmp_path)
    file = report(tmp_path)
    forge.add(file.read_text("utf-8"), other=True)
    assert post(file, env).stdout == "comment made, since the old one is not ours to change\n"
    assert len(forge.bodies()) == 2


@every_forge
def test_a_refusal_is_one_line_without_the_token(forge: Forge, kind: str, tmp_path: Path) -> None:
    env = environment(forge, kind, tmp_path)
    wrong = {key: "wrong" if value == TOKEN else value for key, value in env.items()}
    for asked, options, word in ((wrong, [], "is the token right?"), (env, ["--number", "9"], "is there such a request?")):
        done = post(report(tmp_path), asked, *options)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert word in done.stderr
        assert TOKEN not in done.stderr
    assert forge.bodies() == []


def test_what_is_missing_is_said(forge: Forge, tmp_path: Path) -> None:
    file = tmp_path / "other.md"
    file.write_text("# hello\n")
    env = environment(forge, "github", tmp_path)
    assert "is no report of gpufabric review" in post(file, env).stderr
    del env["GITHUB_TOKEN"]
    assert post(report(tmp_path), env).stderr == "post_review: GITHUB_TOKEN is not set\n"
    del env["GITHUB_REPOSITORY"]
    assert "neither GITHUB_REPOSITORY nor CI_PROJECT_ID is set" in post(report(tmp_path), env).stderr


@pytest.mark.parametrize(
    ("of_review", "writes", "refused", "code"),
    [(0, 1, 0, 0), (1, 1, 0, 1), (2, 0, 0, 2), (0, 0, 0, 2), (0, 1, 1, 2), (1, 1, 1, 1)],
)
def test_the_shell_script_posts_in_every_case_and_keeps_the_exit_code(
    forge: Forge, tmp_path: Path, *, of_review: int, writes: int, refused: int, code: int
) -> None:
    """A stand-in for `gpufabric` writes the report and ends as it is told."""
    report(tmp_path)
    fake = tmp_path / "bin" / "gpufabric"
    fake.parent.mkdir()
    fake.write_text(
        '#!/bin/sh\n[ "$*" = "review --stack dev --format markdown -o $7 --fail-on lost" ] || exit 99\n'
        f'[ {writes} = 0 ] || cp {tmp_path}/dev.md "$7"\nexit {of_review}\n'
    )
    fake.chmod(0o755)
    env = environment(forge, "github", tmp_path)
    env["PATH"] = f"{fake.parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    forge.troubles = [401] * refused
    done = subprocess.run(
        [str(CI / "review.sh"), "dev", "--fail-on", "lost"], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert len(forge.bodies()) == (writes and not refused)


def test_the_pipelines_call_the_script_that_is_tested() -> None:
    github = yaml.safe_load((CI / "github.yml").read_text("utf-8"))
    (job,) = github["jobs"].values()
    assert github["permissions"]["pull-requests"] == "write"
    (step_,) = (each for each in job["steps"] if "review.sh" in each.get("run", ""))
    assert step_["env"]["GITHUB_TOKEN"] == "${{ github.token }}"
    gitlab = yaml.safe_load((CI / "gitlab-ci.yml").read_text("utf-8"))
    assert any(line.startswith("examples/ci/review.sh ") for line in gitlab["review"]["script"])
    assert (REPOSITORY / "examples" / "ci" / "review.sh").exists()
