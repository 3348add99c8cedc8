"""The house rules about imports: rings point inward, the package root is light, the in-cluster programs stand alone."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "components" / "gpufabric"

# What each room may import of the others. `validation.contract` and `validation.api` are shared words and a client.
MAY_IMPORT = {
    "hardware": set(),
    "spec": set(),
    "plan": {
        "hardware",
        "spec",
        "validation.also_wish",
        "validation.contract",
        "validation.controller_contract",
        "validation.gate_json",
        "validation.health_wish",
        "validation.inside_wish",
        "mounts.contract",
        "local_nvme.contract",
    },
    "preflight": {"hardware", "spec", "plan", "validation.api", "validation.contract", "validation.permissions"},
    "kubernetes": {
        "spec",
        "plan",
        "validation.contract",
        "validation.controller_contract",
        "validation.permissions",
    },
    "aws": {"spec", "plan", "kubernetes", "validation.contract"},
    "gcp": {"spec", "plan", "kubernetes", "validation.contract"},
    "validation": set(),
    "mounts": {"validation.api", "validation.files", "validation.prometheus"},
    "local_nvme": {"validation.api"},
    "report": {"validation.contract"},
    "policy": {"", "hardware", "mounts.contract", "plan", "validation.contract"},
    "review": {"policy", "report"},
    "cli": {
        "",
        "spec",
        "plan",
        "policy",
        "preflight",
        "report",
        "review",
        "validation.contract",
        "validation.gate_json",
        "validation.judge",
    },
}
THIRD_PARTY = {
    "hardware": set(),
    "spec": {"pydantic", "pydantic_core", "yaml"},
    "plan": set(),
    "preflight": {"yaml", "boto3", "botocore", "google", "requests", "urllib3"},
    "kubernetes": {"pulumi", "pulumi_kubernetes"},
    "aws": {"pulumi", "pulumi_aws", "pulumi_kubernetes"},
    "gcp": {"pulumi", "pulumi_gcp", "pulumi_kubernetes"},
    "validation": {"mpi4py"},
    "mounts": set(),
    "local_nvme": set(),
    "report": set(),
    "policy": {"pulumi", "grpc", "google"},
    "review": set(),
    "cli": {"pulumi", "typer", "rich"},
}


def _imports(room: str) -> set[str]:
    found = set()
    for file in (PACKAGE / room).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{file}: relative import"
                names = [alias.name for alias in node.names]
                # `from gpufabric.validation import contract` imports the module contract
                module = node.module or ""
                deeper = [f"{module}.{n}" for n in names if (PACKAGE.parent / Path(*module.split("."), f"{n}.py")).exists()]
                found |= set(deeper) or {module}
    return found


def test_every_room_is_listed() -> None:
    rooms = {p.name for p in PACKAGE.iterdir() if p.is_dir() and any(p.glob("*.py"))}
    assert rooms == MAY_IMPORT.keys() == THIRD_PARTY.keys()


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_rings_point_inward(room: str) -> None:
    ours = {name.removeprefix("gpufabric").lstrip(".") for name in _imports(room) if name.split(".")[0] == "gpufabric"}
    elsewhere = {name for name in ours if name.split(".")[0] != room}
    allowed = MAY_IMPORT[room]
    assert {n for n in elsewhere if n not in allowed and n.split(".")[0] not in allowed} == set()


@pytest.mark.parametrize("room", THIRD_PARTY)
def test_third_parties_stay_where_they_belong(room: str) -> None:
    roots = {name.split(".")[0] for name in _imports(room)}
    assert roots - sys.stdlib_module_names - {"gpufabric"} - THIRD_PARTY[room] == set()


def _loaded_by(code: str) -> set[str]:
    out = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(out.stdout))


def test_the_package_root_loads_neither_pulumi_nor_a_cloud() -> None:
    loaded = _loaded_by("import gpufabric")
    assert not {name for name in loaded if name.split(".")[0].startswith("pulumi")}
    assert "pydantic" not in loaded


def test_checking_a_spec_needs_no_pulumi() -> None:
    loaded = _loaded_by("import gpufabric.cli.app, gpufabric.preflight")
    assert not {name for name in loaded if name.split(".")[0].startswith("pulumi")}


def test_the_rules_of_the_policy_pack_need_no_pulumi() -> None:
    loaded = _loaded_by("import gpufabric.policy")
    assert not {name for name in loaded if name.split(".")[0].startswith("pulumi")}


def _sdk_groups(code: str) -> set[str]:
    loaded = _loaded_by(code)
    assert {n.split(".")[0] for n in loaded if n.startswith("pulumi_")} == {"pulumi_kubernetes"}
    return {n.split(".")[1] for n in loaded if n.startswith("pulumi_kubernetes.") and n.count(".") == 2}


def test_the_kubernetes_ring_loads_one_sdk_and_only_the_groups_it_uses() -> None:
    groups = _sdk_groups("import gpufabric.kubernetes")
    assert {"batch", "core", "rbac", "networking"} <= groups
    assert not groups & {"admissionregistration", "apps", "apiextensions", "autoscaling", "helm", "storage", "resource"}


def test_the_aws_ring_loads_only_the_groups_it_uses() -> None:
    loaded = _loaded_by("import warnings; warnings.simplefilter('ignore'); import gpufabric.aws")
    sdks = {n.split(".")[0] for n in loaded if n.startswith("pulumi_")}
    assert sdks == {"pulumi_aws", "pulumi_kubernetes"}
    groups = {n.split(".")[1] for n in loaded if n.startswith("pulumi_aws.") and n.count(".") == 2}
    assert {"ec2", "eks"} <= groups
    assert not groups & {"s3", "fsx", "sagemaker", "rds", "lambda_"}


def test_the_gcp_ring_loads_only_the_groups_it_uses() -> None:
    loaded = _loaded_by("import warnings; warnings.simplefilter('ignore'); import gpufabric.gcp")
    sdks = {n.split(".")[0] for n in loaded if n.startswith("pulumi_")}
    assert sdks == {"pulumi_gcp", "pulumi_kubernetes"}
    groups = {n.split(".")[1] for n in loaded if n.startswith("pulumi_gcp.") and n.count(".") == 2}
    assert {"compute", "container"} <= groups
    assert not groups & {"storage", "lustre", "filestore", "sql", "vertex"}


def test_only_who_keeps_the_gate_loads_what_it_needs_more() -> None:
    assert {"admissionregistration", "apps"} <= _sdk_groups("from gpufabric.kubernetes import FabricGate")


def test_only_who_wants_a_queue_loads_what_it_needs_more() -> None:
    groups = _sdk_groups("from gpufabric.kubernetes import JobQueue")
    assert "apiextensions" in groups
    assert not groups & {"admissionregistration", "apps", "helm"}
