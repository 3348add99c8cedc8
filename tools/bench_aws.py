"""Ratios of AWS's stack, over a stand-in cloud: nothing is asked of AWS.

aws import    of gpufabric.aws over pulumi, pydantic and the SDK modules it uses                       (goal 1.1)
aws preview   of the p5 sample over a flat program that declares the same resources by hand           (goal 1.1)
aws groups    the plan of 1,000 node groups over that of 100                                           (at most 10.5)
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from gpufabric.plan.names import gate_names
from gpufabric.validation.contract import VERDICT_KEY
from tools.bench_timing import Measured, checked, paired
from tools.engine import Engine, make_project
from tools.folders import REPOSITORY
from tools.standin.standin import StandIn, running

SAMPLE = REPOSITORY / "stacks" / "Pulumi.aws-p5.yaml"
STACK = "aws-p5"
IMPORT_OURS = "import gpufabric.aws"
IMPORT_FLOOR = """
import pulumi, pydantic, yaml
from pulumi_aws import ec2, eks, iam
from pulumi_kubernetes import Provider
from pulumi_kubernetes.apps.v1 import DaemonSet
from pulumi_kubernetes.batch.v1 import Job
from pulumi_kubernetes.core.v1 import ConfigMap
from pulumi_kubernetes.networking.v1 import NetworkPolicy
from pulumi_kubernetes.rbac.v1 import Role
ec2.Vpc, eks.Cluster, iam.Role  # the SDK's modules are loaded when something in them is named
"""
FLAT = '''"""The same resources, declared by hand."""
import json, pulumi
from importlib import import_module
from pathlib import Path
from pulumi_aws import Provider
from pulumi_kubernetes import Provider as Kubernetes

def class_of(token):
    package, module, name = token.split(":")
    if package == "aws":
        return getattr(import_module(f"pulumi_aws.{module.partition('/')[0]}"), name)
    group, _, version = module.partition("/")
    return getattr(import_module(f"pulumi_kubernetes.{group.partition('.')[0]}.{version}"), name)

providers = {"aws": Provider("account", region="us-east-2"), "kubernetes": Kubernetes("inside", kubeconfig="{}")}
for token, name, inputs in json.loads((Path(__file__).parent / "resources.json").read_text()):
    options = pulumi.ResourceOptions(provider=providers[token.partition(":")[0]])
    class_of(token)(name, **inputs, opts=options)
'''
GROUPS = """
import time
from datetime import UTC, datetime
from gpufabric.plan.aws import resolve_aws
from gpufabric.spec.aws import AwsTrainingSpec
groups = [{"name": f"g{each}", "machine_type": "p5.48xlarge", "nodes": 2} for each in range(NUMBER)]
wish = {"cloud": "aws", "region": "us-east-2", "zone": "us-east-2b", "api_access": {"kind": "private"}, "node_groups": groups}
network = {"vpc": "vpc-00000000", "subnets": ["subnet-00000000", "subnet-00000001"]}
wish |= {"network": {"existing": network}, "validation": {"image": "registry.example/gate:1"}}
started = time.process_time()
resolve_aws(AwsTrainingSpec.parse(wish), "bench", now=datetime.now(UTC))
print(time.process_time() - started)
"""


def measure(scratch: Path) -> list[Measured]:
    """All rows."""
    ours, floor = paired(_python(IMPORT_OURS), _python(IMPORT_FLOOR))
    preview = _previews(scratch)
    return [
        ("aws import", ours, floor, "pulumi + pydantic + yaml + the same SDK modules (goal 1.1)"),
        ("aws preview", *preview, "a flat program with the same resources (goal 1.1)"),
        ("aws groups", _groups(1000), _groups(100), "1,000 node groups against 100, processor time (at most 10.5)"),
    ]


def _python(code: str) -> Any:
    return lambda: checked(subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True))


def _groups(number: int) -> float:
    code = GROUPS.replace("NUMBER", str(number))
    runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout for _ in range(3)]
    return statistics.median(map(float, runs))


def _previews(scratch: Path) -> tuple[float, float]:
    """Previews of both in empty clouds; the flat program is made from what an ``up`` of ours has declared."""
    with _engine(scratch / "aws-ours", REPOSITORY / "stacks", STACK) as (ours, cloud):
        _configure(ours, STACK)
        names = gate_names(STACK, "train", None)
        verdict = {VERDICT_KEY: json.dumps({"outcome": "pass", "reason": "", "nodes": []})}
        cloud.hold("kubernetes:core/v1:ConfigMap", f"{names.namespace}/{names.verdict}", data=verdict)
        checked(ours.run("up", "--yes", "--skip-preview", "--suppress-outputs", "--stack", STACK))
        program = _flat_program(scratch / "aws-flat-program", ours.resources(STACK))
        ours.select("empty")
        _configure(ours, "empty")
        with _engine(scratch / "aws-flat", program, "flat") as (flat, _):
            return paired(_preview(ours, "empty"), _preview(flat, "flat"), rounds=3)


def _configure(engine: Engine, stack: str) -> None:
    """Put the sample's config into the stack's file, beside what the engine keeps there."""
    file = engine.project / f"Pulumi.{stack}.yaml"
    config = yaml.safe_load(SAMPLE.read_text("utf-8"))["config"]
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text("utf-8")), "config": config}), encoding="utf-8")


def _preview(engine: Engine, stack: str) -> Any:
    return lambda: checked(engine.run("preview", "--suppress-outputs", "--stack", stack))


@contextmanager
def _engine(folder: Path, program: Path, stack: str) -> Iterator[tuple[Engine, StandIn]]:
    folder.mkdir()
    with running(folder / "cloud.sqlite", "aws", "kubernetes") as cloud:
        engine = Engine(folder / "state", None, make_project(folder / "project", program), cloud.environment)
        engine.select(stack)
        yield engine, cloud


def _flat_program(folder: Path, resources: list[dict[str, Any]]) -> Path:
    """A program that declares the same kinds with the same inputs."""
    folder.mkdir()
    found = []
    for each in resources:
        if each["type"].partition(":")[0] in ("aws", "kubernetes") and not each.get("external"):
            said = {key: value for key, value in each["inputs"].items() if not key.startswith("__")}
            inputs = {_snake(key): value for key, value in said.items() if key not in ("apiVersion", "kind")}
            found.append((each["type"], each["urn"].rpartition("::")[2], inputs))
    (folder / "resources.json").write_text(json.dumps(found), encoding="utf-8")
    (folder / "__main__.py").write_text(FLAT, encoding="utf-8")
    return folder


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
