"""Ratios of the clouds' stacks, over a stand-in cloud: nothing is asked of a real one. ``CLOUD``: aws, gcp.

CLOUD import    of its components over pulumi, pydantic and the SDK modules they use                    (goal 1.1)
CLOUD preview   of a sample over a flat program that declares the same resources by hand             (goal 1.1)
CLOUD groups    the plan of 1,000 node groups over that of 100                                         (at most 10.5)
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gpufabric.plan.names import gate_names
from gpufabric.validation.contract import VERDICT_KEY
from tools.bench_timing import Measured, checked, paired
from tools.engine import Engine, make_project
from tools.folders import REPOSITORY
from tools.standin.standin import StandIn, running

# ``import pydantic`` alone loads nothing of it, as with the modules of an SDK.
LIBRARIES = "import pulumi, yaml; from pydantic import BaseModel"
IN_THE_CLUSTER = """
from pulumi_kubernetes import Provider
from pulumi_kubernetes.batch.v1 import Job
from pulumi_kubernetes.core.v1 import ConfigMap
from pulumi_kubernetes.networking.v1 import NetworkPolicy
from pulumi_kubernetes.rbac.v1 import Role
"""


@dataclass(frozen=True)
class Bench:
    """What is measured of one cloud.

    ``sdk``: the modules that a flat program loads too, which happens when something in them is named. ``wish``: of a stack
    whose groups are of ``machine``.
    """

    cloud: str
    stack: str
    sdk: str
    provider: str
    resolve: str
    spec: str
    machine: str
    wish: Mapping[str, Any]

    @property
    def sample(self) -> Path:
        return REPOSITORY / "stacks" / f"Pulumi.{self.stack}.yaml"


_ALIKE: Mapping[str, Any] = {"api_access": {"kind": "private"}, "validation": {"image": "registry.example/gate:1"}}
BENCHES = (
    Bench(
        cloud="aws",
        stack="aws-p5",
        sdk="""
from pulumi_aws import ec2, eks, iam
from pulumi_kubernetes.apps.v1 import DaemonSet
ec2.Vpc, eks.Cluster, iam.Role
""",
        provider='Provider("account", region="us-east-2")',
        resolve="gpufabric.plan.aws.resolve_aws",
        spec="gpufabric.spec.aws.AwsTrainingSpec",
        machine="p5.48xlarge",
        wish={
            **_ALIKE,
            "cloud": "aws",
            "region": "us-east-2",
            "zone": "us-east-2b",
            "network": {"existing": {"vpc": "vpc-00000000", "subnets": ["subnet-00000000", "subnet-00000001"]}},
        },
    ),
    Bench(
        cloud="gcp",
        stack="gcp-a3-ultra",
        sdk="""
from pulumi_gcp import compute, container, projects, serviceaccount, servicenetworking
compute.Network, container.Cluster, projects.IAMMember, serviceaccount.Account, servicenetworking.Connection
""",
        provider='Provider("account", project="acme-training")',
        resolve="gpufabric.plan.gcp.resolve_gcp",
        spec="gpufabric.spec.gcp.GcpTrainingSpec",
        machine="a3-megagpu-8g",
        wish={
            **_ALIKE,
            "cloud": "gcp",
            "project": "acme-training",
            "region": "us-central1",
            "zone": "us-central1-a",
            "network": {"cidr": "10.0.0.0/11"},
        },
    ),
)
FLAT = '''"""The same resources, declared by hand."""
import json, pulumi
from functools import partial
from importlib import import_module
from pathlib import Path
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_CLOUD import Provider
from pulumi_kubernetes import Provider as Kubernetes

def class_of(token):
    package, module, name = token.split(":")
    if package == "CLOUD":
        return getattr(import_module(f"pulumi_CLOUD.{module.partition('/')[0]}"), name)
    group, _, version = module.partition("/")
    if group == "networking.gke.io":  # GKE's own kinds have no classes
        return partial(CustomResource, api_version=module, kind=name)
    return getattr(import_module(f"pulumi_kubernetes.{group.partition('.')[0]}.{version}"), name)

providers = {"CLOUD": PROVIDER, "kubernetes": Kubernetes("inside", kubeconfig="{}")}
for token, name, inputs in json.loads((Path(__file__).parent / "resources.json").read_text()):
    options = pulumi.ResourceOptions(provider=providers[token.partition(":")[0]])
    class_of(token)(name, **inputs, opts=options)
'''
GROUPS = """
import json, sys, time
from datetime import UTC, datetime
from pydoc import locate
resolve, spec = map(locate, sys.argv[1:3])
wish = json.loads(sys.argv[3])
started = time.process_time()
resolve(spec.parse(wish), "bench", now=datetime.now(UTC))
print(time.process_time() - started)
"""


def measure(scratch: Path) -> list[Measured]:
    """All rows of all clouds."""
    return [row for bench in BENCHES for row in _rows(bench, scratch)]


def _rows(bench: Bench, scratch: Path) -> Iterator[Measured]:
    floor = f"{LIBRARIES}\n{bench.sdk}{IN_THE_CLUSTER}"
    imports = paired(_python(f"import gpufabric.{bench.cloud}"), _python(floor))
    yield (f"{bench.cloud} import", *imports, "pulumi + pydantic + yaml + the same SDK modules (goal 1.1)")
    yield (f"{bench.cloud} preview", *_previews(bench, scratch), "a flat program with the same resources (goal 1.1)")
    grown = _groups(bench, 1000), _groups(bench, 100)
    yield (f"{bench.cloud} groups", *grown, "1,000 node groups against 100, processor time (at most 10.5)")


def _python(code: str) -> Any:
    return lambda: checked(subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True))


def _groups(bench: Bench, number: int) -> float:
    groups = [{"name": f"g{each}", "machine_type": bench.machine, "nodes": 2} for each in range(number)]
    words = [bench.resolve, bench.spec, json.dumps({**bench.wish, "node_groups": groups})]
    command = [sys.executable, "-c", GROUPS, *words]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(3)]
    return statistics.median(map(float, runs))


def _previews(bench: Bench, scratch: Path) -> tuple[float, float]:
    """Previews of both in empty clouds; the flat program is made from what an ``up`` of ours has declared."""
    with _engine(bench, scratch / f"{bench.cloud}-ours", REPOSITORY / "stacks", bench.stack) as (ours, cloud):
        _configure(bench, ours, bench.stack)
        names = gate_names(bench.stack, "train", None)
        verdict = {VERDICT_KEY: json.dumps({"outcome": "pass", "reason": "", "nodes": []})}
        cloud.hold("kubernetes:core/v1:ConfigMap", f"{names.namespace}/{names.verdict}", data=verdict)
        checked(ours.run("up", "--yes", "--skip-preview", "--suppress-outputs", "--stack", bench.stack))
        program = _flat_program(bench, scratch / f"{bench.cloud}-flat-program", ours.resources(bench.stack))
        ours.select("empty")
        _configure(bench, ours, "empty")
        with _engine(bench, scratch / f"{bench.cloud}-flat", program, "flat") as (flat, _):
            return paired(_preview(ours, "empty"), _preview(flat, "flat"), rounds=3)


def _configure(bench: Bench, engine: Engine, stack: str) -> None:
    """Put the sample's config into the stack's file, beside what the engine keeps there."""
    file = engine.project / f"Pulumi.{stack}.yaml"
    config = yaml.safe_load(bench.sample.read_text("utf-8"))["config"]
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text("utf-8")), "config": config}), encoding="utf-8")


def _preview(engine: Engine, stack: str) -> Any:
    return lambda: checked(engine.run("preview", "--suppress-outputs", "--stack", stack))


@contextmanager
def _engine(bench: Bench, folder: Path, program: Path, stack: str) -> Iterator[tuple[Engine, StandIn]]:
    folder.mkdir()
    with running(folder / "cloud.sqlite", bench.cloud, "kubernetes") as cloud:
        engine = Engine(folder / "state", None, make_project(folder / "project", program), cloud.environment)
        engine.select(stack)
        yield engine, cloud


def _flat_program(bench: Bench, folder: Path, resources: list[dict[str, Any]]) -> Path:
    """A program that declares the same kinds with the same inputs."""
    folder.mkdir()
    found = []
    for each in resources:
        if each["type"].partition(":")[0] in (bench.cloud, "kubernetes") and not each.get("external"):
            said = {key: value for key, value in each["inputs"].items() if not key.startswith("__")}
            inputs = {_snake(key): value for key, value in said.items() if key not in ("apiVersion", "kind")}
            found.append((each["type"], each["urn"].rpartition("::")[2], inputs))
    (folder / "resources.json").write_text(json.dumps(found), encoding="utf-8")
    text = FLAT.replace("CLOUD", bench.cloud).replace("PROVIDER", bench.provider)
    (folder / "__main__.py").write_text(text, encoding="utf-8")
    return folder


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
