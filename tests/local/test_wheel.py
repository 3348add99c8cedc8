"""The wheel works alone: in an empty environment, as part of somebody else's stack, with the repository out of sight."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gpufabric.preflight import connect
from gpufabric.validation.api import path
from tests.local.conftest import LocalCluster
from tools.engine import Engine
from tools.folders import REPOSITORY, cache_folder

pytestmark = pytest.mark.local


def _uv() -> str:
    cached = sorted(cache_folder().glob("uv-*/bin/uv"))
    found = shutil.which("uv") or (str(cached[-1]) if cached else None)
    assert found, "make setup brings uv"
    return found


def _run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that holds the wheel, its `kubernetes` extra and nothing else of ours."""
    folder = tmp_path_factory.mktemp("wheel")
    _run(_uv(), "build", "--quiet", "--wheel", "--out-dir", folder / "dist", ".")
    (wheel,) = (folder / "dist").glob("*.whl")
    pins = folder / "pins.txt"  # versions as locked, so that a new release elsewhere cannot break this test
    lines = (REPOSITORY / "requirements.lock").read_text("utf-8").splitlines()
    pins.write_text(
        "\n".join(line.split(" ")[0] for line in lines if "==" in line and not line.startswith(" ")), encoding="utf-8"
    )
    _run(_uv(), "venv", "--quiet", "--python", sys.executable, folder / "venv")
    _run(
        *(_uv(), "pip", "install", "--quiet", "--constraint", pins, f"{wheel}[kubernetes]"),
        VIRTUAL_ENV=str(folder / "venv"),
    )
    return folder / "venv"


def test_the_command_line_works_alone(environment: Path, tmp_path: Path) -> None:
    sample = tmp_path / "Pulumi.local.yaml"
    shutil.copy(REPOSITORY / "stacks" / "Pulumi.local.yaml", sample)
    said = _run(environment / "bin" / "gpufabric", "check", sample)
    assert "ok (train: 2 x cpu on ethernet)" in said
    where = _run(environment / "bin" / "python", "-c", "import gpufabric; print(gpufabric.__path__[0])")
    assert Path(where.strip()).is_relative_to(environment)


def test_a_foreign_stack_validates_and_then_trains(environment: Path, cluster: LocalCluster, tmp_path: Path) -> None:
    project = tmp_path / "own-stack"
    shutil.copytree(REPOSITORY / "examples" / "own-stack", project)
    settings = yaml.safe_load((project / "Pulumi.yaml").read_text("utf-8"))
    settings["runtime"]["options"]["virtualenv"] = str(environment)
    (project / "Pulumi.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    engine = Engine(tmp_path / "state", cluster.kubeconfig, project)
    engine.select("foreign")
    try:
        done = engine.run("up", "--yes", "--skip-preview", "--suppress-outputs", "--stack", "foreign", timeout_s=200)
        assert done.returncode == 0, done.stdout
        outputs = engine.outputs("foreign")
        assert outputs["verdict"]["outcome"] == "pass"
        assert outputs["finetune"] == 1
        api = connect(str(cluster.kubeconfig), None)
        (pod,) = api.list(path("pods", namespace="team"), labels="batch.kubernetes.io/job-name=finetune")
        assert pod["spec"]["nodeName"] in {"n0", "n1"}
        assert "trained where it is fast" in api.log("team", pod["metadata"]["name"], "trainer", tail_lines=5)
    finally:
        gone = engine.run("destroy", "--yes", "--skip-preview", "--stack", "foreign", timeout_s=200)
    assert gone.returncode == 0, gone.stdout
