"""``gpufabric validate``: one number in the stack's file, then the user's own pulumi, whose words and exit code it has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpufabric.spec import read_stack_file
from tools.folders import REPOSITORY

SAMPLE = (REPOSITORY / "stacks" / "Pulumi.local.yaml").read_text("utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project as ours: its stack files in a folder of their own, and a pulumi that says what it was asked."""
    folder = tmp_path / "project"
    (folder / "stacks").mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text("name: p\nruntime: python\nstackConfigDir: stacks\n")
    (folder / "stacks" / "Pulumi.dev.yaml").write_text(f"encryptionsalt: v1:abc\n{SAMPLE}")
    fake(tmp_path / "bin", 0)
    return folder


def fake(folder: Path, code: int) -> None:
    folder.mkdir(exist_ok=True)
    program = folder / "pulumi"
    program.write_text(
        f'#!/bin/sh\necho "asked: $*"\ngrep -n "run:" "$2"/stacks/Pulumi.dev.yaml\necho "and this" >&2\nexit {code}\n'
    )
    program.chmod(0o755)


def call(project: Path, *args: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    search = f"{project.parent / 'bin'}{os.pathsep}{os.environ['PATH']}" if path is None else path
    return subprocess.run(
        [sys.executable, "-c", "from gpufabric.cli import main; main()", "validate", *args],
        env={**os.environ, "PATH": search, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_counter_is_raised_before_pulumi_runs(project: Path) -> None:
    file = project / "stacks" / "Pulumi.dev.yaml"
    for run in (2, 3):
        done = call(project, "--stack", "dev", "--cwd", str(project))
        assert done.returncode == 0, done.stderr
        told, asked, seen = done.stdout.splitlines()
        assert told == f"{file}: validation.run is {run}, was {run - 1}"
        assert asked == f"asked: --cwd {project} up --yes --stack dev"
        assert seen.endswith(f"      run: {run}")
        assert done.stderr == "and this\n"
        assert read_stack_file(file).spec.validation.run == run
    without = [line for line in file.read_text("utf-8").splitlines(keepends=True) if "run:" not in line]
    assert "".join(without) == f"encryptionsalt: v1:abc\n{SAMPLE}"


def test_from_inside_the_project_and_with_a_full_stack_name(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from gpufabric.cli import main; main()", "validate", "--stack", "acme/p/dev"],
        cwd=project,
        env={
            **os.environ,
            "PATH": f"{project.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "asked: --cwd . up --yes --stack acme/p/dev\n" in done.stdout


@pytest.mark.parametrize("code", [1, 255])
def test_the_exit_code_is_pulumis(project: Path, code: int) -> None:
    fake(project.parent / "bin", code)
    assert call(project, "--stack", "dev", "--cwd", str(project)).returncode == code


def refused(project: Path, done: subprocess.CompletedProcess[str], text: str) -> str:
    """What was said, of a call that must not have changed the file nor asked pulumi."""
    assert "asked" not in done.stdout
    assert (project / "stacks" / "Pulumi.dev.yaml").read_text("utf-8") == text
    assert "Traceback" not in done.stderr
    return done.stderr


def test_nothing_changes_without_pulumi(project: Path, tmp_path: Path) -> None:
    before = (project / "stacks" / "Pulumi.dev.yaml").read_text("utf-8")
    done = call(project, "--stack", "dev", "--cwd", str(project), path=str(tmp_path))
    assert done.returncode == 2
    assert refused(project, done, before) == "no program `pulumi` on PATH; nothing was changed\n"


def test_nothing_changes_in_a_file_with_problems(project: Path) -> None:
    file = project / "stacks" / "Pulumi.dev.yaml"
    bad = SAMPLE.replace("nodes: 2", "nodes: 0")
    file.write_text(bad)
    done = call(project, "--stack", "dev", "--cwd", str(project))
    assert done.returncode == 1
    assert refused(project, done, bad).startswith(f"{file}: gpufabric:stack.node_groups[0].nodes: 0 is out of range")


def test_a_counter_that_others_use_is_left_to_the_user(project: Path) -> None:
    file = project / "stacks" / "Pulumi.dev.yaml"
    shared = SAMPLE.replace("        nodes: 2\n", "        nodes: &two 2\n").replace(
        "    validation:\n", "    validation:\n      run: *two\n"
    )
    file.write_text(shared)
    done = call(project, "--stack", "dev", "--cwd", str(project))
    assert done.returncode == 1
    said = refused(project, done, shared)
    assert said.startswith(f"{file}: gpufabric:stack.validation.run: the value stands where other keys use it, too")


def test_another_stack_is_not_there(project: Path) -> None:
    before = (project / "stacks" / "Pulumi.dev.yaml").read_text("utf-8")
    done = call(project, "--stack", "prod", "--cwd", str(project))
    assert done.returncode == 1
    assert f"no Pulumi.prod.yaml in {project / 'stacks'}" in refused(project, done, before)
