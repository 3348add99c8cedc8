"""``gpufabric report``: from a file or from a stack's outputs to a page, or one clear line."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from gpufabric.cli.app import app
from tests.report.dom import Element, parse
from tests.report.verdicts import FAIL, PASS, changed
from tests.spec.specs import H100
from tests.spec.specs import changed as respecified


def call(*args: str | Path, stdin: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["report", *map(str, args)], input=stdin, catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for what a fake pulumi says (`stdout`), how it ends (`code`), and what it was asked (`asked`)."""
    folder = tmp_path / "fake"
    folder.mkdir()
    program = folder / "pulumi"
    program.write_text(
        f'#!/bin/sh\necho "$*" >{folder}/asked\ncat {folder}/stdout\ncat {folder}/stderr >&2\nexit $(cat {folder}/code)\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    for name, text in {"stdout": "", "stderr": "", "code": "0"}.items():
        (folder / name).write_text(text)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def project(folder: Path, spec: dict[str, Any]) -> Path:
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: p\nruntime: python\nstackConfigDir: config\n")
    (folder / "config").mkdir()
    (folder / "config" / "Pulumi.prod.yaml").write_text(yaml.safe_dump({"config": {"gpufabric:stack": spec}}))
    return folder


def of(file: Path) -> Element:
    return parse(file.read_text("utf-8"))


def test_a_file_becomes_a_page(tmp_path: Path) -> None:
    (tmp_path / "verdict.json").write_text(json.dumps(FAIL))
    page = tmp_path / "report.html"
    assert call(tmp_path / "verdict.json", "-o", page) == (0, f"{page}: slow fail\n", "")
    assert of(page).one("data", data_of="busbw_gbytes_per_s").attributes["value"] == "0.0078"


def test_stdin_becomes_a_page(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    code, out, _ = call("-", "--output", page, stdin=json.dumps({"data": {"verdict.json": json.dumps(FAIL)}}))
    assert (code, out) == (0, f"{page}: slow fail\n")


def test_a_stacks_outputs_become_a_page(tmp_path: Path, pulumi: Path) -> None:
    (pulumi / "stdout").write_text(json.dumps({"pod_profiles": {}, "validation": {"train": PASS, "slow": FAIL}}))
    page = tmp_path / "report.html"
    assert call("--stack", "acme/p/prod", "--cwd", tmp_path, "-o", page) == (0, f"{page}: train pass, slow fail\n", "")
    asked = (pulumi / "asked").read_text().strip()
    assert asked == f"--non-interactive --cwd {tmp_path} stack output --json --stack acme/p/prod"
    assert "of the last `pulumi up` that succeeded" in of(page).text


def test_the_healthy_range_comes_from_the_stack_file(tmp_path: Path, pulumi: Path) -> None:
    verdict = {key: value for key, value in PASS.items() if key != "healthy_busbw_gbytes_per_s"}
    (pulumi / "stdout").write_text(json.dumps({"validation": {"train": verdict}}))
    page, folder = tmp_path / "report.html", project(tmp_path / "p", H100)
    assert call("--stack", "prod", "--cwd", folder, "-o", page)[0] == 0
    assert "healthy: 387 to 469 GB/s" in of(page).text
    (tmp_path / "verdict.json").write_text(json.dumps(verdict))
    assert call(tmp_path / "verdict.json", "--spec", folder / "config" / "Pulumi.prod.yaml", "-o", page)[0] == 0
    assert "healthy: 387 to 469 GB/s" in of(page).text


@pytest.mark.parametrize("other", [{"ranks": 8}, {"size_bytes": 1 << 30}, {"group": "another"}, {"backend": "mpi"}], ids=str)
def test_another_measurement_than_the_files_is_held_to_nothing(tmp_path: Path, other: dict[str, Any]) -> None:
    verdict = {key: value for key, value in changed(PASS, **other).items() if key != "healthy_busbw_gbytes_per_s"}
    (tmp_path / "verdict.json").write_text(json.dumps(verdict))
    spec = project(tmp_path / "p", H100) / "config" / "Pulumi.prod.yaml"
    page = tmp_path / "report.html"
    assert call(tmp_path / "verdict.json", "--spec", spec, "-o", page)[0] == 0
    assert "healthy" not in of(page).one("main").text


def test_a_stack_file_with_problems_costs_only_the_range(tmp_path: Path, pulumi: Path) -> None:
    (pulumi / "stdout").write_text(json.dumps({"validation": {"slow": FAIL}}))
    folder = project(tmp_path / "p", respecified(H100, group__nodes=0))
    assert call("--stack", "prod", "--cwd", folder, "-o", tmp_path / "r.html")[0] == 0


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "give either a file or --stack"),
        (["v.json", "--stack", "s"], "give either a file or --stack"),
        (["nowhere.json"], "nowhere.json: No such file or directory"),
        (["empty.json"], "empty.json: no verdict in it; "),
        (["text.json"], "text.json: not JSON"),
        (["v.json", "-o", "no/folder/r.html"], "no/folder/r.html: No such file or directory"),
        (["v.json", "--spec", "Pulumi.no.yaml"], "Pulumi.no.yaml: no such file; "),
    ],
)
def test_what_cannot_be_reported_is_one_line_and_exit_2(
    args: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.json").write_text(json.dumps(PASS))
    Path("empty.json").write_text("{}")
    Path("text.json").write_text("PASS")
    code, out, err = call(*args)
    assert (code, out) == (2, "")
    assert err.startswith(says)
    assert err.count("\n") == 1
    assert not Path("report.html").exists()


def test_what_pulumi_says_when_it_fails_is_passed_on(tmp_path: Path, pulumi: Path) -> None:
    (pulumi / "stderr").write_text("error: no stack named 'prod' found")
    (pulumi / "code").write_text("255")
    code, _, err = call("--stack", "prod", "--cwd", tmp_path)
    assert (code, err) == (2, "prod: pulumi stack output: error: no stack named 'prod' found\n")


def test_without_pulumi_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert call("--stack", "prod", "--cwd", tmp_path)[::2] == (2, "prod: no program `pulumi` on PATH\n")
