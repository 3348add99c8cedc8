"""Node health alone on real pods: an ``up`` that names sick nodes, and one that finds them fit."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpufabric.preflight import connect
from gpufabric.validation.api import path
from tests.local.conftest import LocalCluster
from tools.engine import Engine, make_project

pytestmark = pytest.mark.local

PROGRAM = """import json
from pathlib import Path

import pulumi

from gpufabric.kubernetes import NodeHealthCheck

check = NodeHealthCheck("nodes", json.loads(Path(__file__).with_name("args.json").read_text()))
pulumi.export("checked", check.checked)
"""


def wish(interface: str) -> dict[str, Any]:
    group = {"name": "train", "node_selector": {"gpufabric.dev/pool": "train"}, "accelerators": "cpu", "nodes": 2}
    group |= {"network_tier": "standard", "profile": {"interface": interface}}
    return {"node_group": group, "image": "localhost/gpufabric/gate:1", "start_minutes": 1}


@pytest.mark.soak
def test_sick_nodes_are_named_and_fit_ones_pass(cluster: LocalCluster, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.mkdir()
    (program / "__main__.py").write_text(PROGRAM)
    engine = Engine(tmp_path / "state", cluster.kubeconfig, make_project(tmp_path / "project", program))
    engine.select("health")
    api = connect(str(cluster.kubeconfig), None)
    before = {node["metadata"]["name"]: node["metadata"]["labels"] for node in api.list(path("nodes"))}
    try:
        (program / "args.json").write_text(json.dumps(wish("eth7")))
        failed = engine.run("up", "--yes", "--skip-preview", "--stack", "health", timeout_s=200)
        assert failed.returncode != 0
        for node in ("n0", "n1"):
            assert f"FAIL {node}: sick: interface: no eth7; the pod has eth0, lo" in failed.stdout, failed.stdout
        assert "Next: write the interface that ip link shows" in failed.stdout
        (program / "args.json").write_text(json.dumps(wish("eth0")))
        done = engine.run("up", "--yes", "--skip-preview", "--stack", "health", timeout_s=200)
        assert done.returncode == 0, done.stdout
        assert engine.outputs("health")["checked"].startswith("gpufabric-health-train-health/train-health-")
        assert {node["metadata"]["name"]: node["metadata"]["labels"] for node in api.list(path("nodes"))} == before
    finally:
        gone = engine.run("destroy", "--yes", "--skip-preview", "--stack", "health", timeout_s=200)
    assert gone.returncode == 0, gone.stdout
