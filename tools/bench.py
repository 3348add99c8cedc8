"""``make bench``: ratios measured in one run against a floor or a peer. Prints; asserts nothing about time.

no-op up      of our stack over a flat program that declares the same resources by hand   (goal 1.1)
import        of gpufabric.kubernetes over pulumi, pydantic and the SDK modules it uses    (goal 1.1)
gate          the whole gate over the bare mpirun of the same sweep in pods that stand ready
pods          start and end of the same pods with nothing to do in them, over the same mpirun
aws ..., gcp ...   see bench_clouds
policy ...    see bench_policy
gate - pods   the gate without its pods' start and end over the same mpirun                (goal 1.1)

Then the rounds that localisation takes on simulated groups.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from gpufabric.preflight import connect
from gpufabric.validation import contract
from gpufabric.validation.api import Api, path
from tools import bench_clouds, bench_policy, bench_rounds
from tools.bench_timing import Measured, checked, paired
from tools.engine import Engine, make_project
from tools.errors import run_reporting
from tools.folders import REPOSITORY
from tools.localcluster import lifecycle
from tools.localcluster.cluster import kubeconfig_of
from tools.localcluster.processes import all_pids, command_line
from tools.localcluster.waits import wait_until
from tools.up import write_copy

CLUSTER = "bench"
GATES = 3
HOLD = "sleep 123"
IMPORT_OURS = "import gpufabric.kubernetes"
IMPORT_FLOOR = f"""{bench_clouds.LIBRARIES}
from pulumi_kubernetes.batch.v1 import Job
from pulumi_kubernetes.core.v1 import ConfigMap
from pulumi_kubernetes.networking.v1 import NetworkPolicy
from pulumi_kubernetes.rbac.v1 import Role
"""
FLAT = '''"""The same resources, declared by hand: what the component costs is what this program does not do."""
import json, pulumi
from pathlib import Path
from pulumi_kubernetes import Provider
from pulumi_kubernetes.batch.v1 import Job
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, Service, ServiceAccount
from pulumi_kubernetes.networking.v1 import NetworkPolicy
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding
CLASSES = (Job, ConfigMap, Namespace, Service, ServiceAccount)
CLASSES += (NetworkPolicy, ClusterRole, ClusterRoleBinding, Role, RoleBinding)
KINDS = {c.__name__: c for c in CLASSES}
cluster = Provider("cluster")
made = []
for kind, name, inputs in json.loads((Path(__file__).parent / "resources.json").read_text()):
    extra = dict(replace_on_changes=["*"], delete_before_replace=True) if kind == "Job" else {}
    made.append(KINDS[kind](name, **inputs, opts=pulumi.ResourceOptions(provider=cluster, depends_on=list(made), **extra)))
verdict = ConfigMap.get("verdict", made[-1].id.apply(lambda _: "VERDICT"), opts=pulumi.ResourceOptions(provider=cluster))
pulumi.export("verdict", verdict.data.apply(lambda d: json.loads(d["verdict.json"])))
'''


def main() -> int:
    """Measure everything and print one table."""
    lifecycle.up(CLUSTER, None, None)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            rows = [_import(Path(scratch)), *_up_and_gate(Path(scratch)), *bench_clouds.measure(Path(scratch))]
            rows += bench_policy.measure(Path(scratch))
    finally:
        lifecycle.down(CLUSTER)
    print(f"\n{'what':<11} {'ours':>9} {'against':>9} {'ratio':>6}   against what")
    for what, ours, against, label in rows:
        print(f"{what:<11} {ours:>7.2f} s {against:>7.2f} s {ours / against:>6.2f}   {label}")
    print("\nlocalisation, simulated:")
    for nodes, share in bench_rounds.GROUPS:
        print(bench_rounds.simulate(nodes, share), flush=True)
    return 0


def _import(scratch: Path) -> Measured:
    """With bytecode on both sides, as on a user's machine: some environments forbid Python to write it."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(scratch / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(code: str) -> Callable[[], None]:
        command = [sys.executable, "-c", code]
        return lambda: checked(subprocess.run(command, env=environment, check=False, capture_output=True, text=True))

    ours, floor = paired(run(IMPORT_OURS), run(IMPORT_FLOOR))
    return ("import", ours, floor, "pulumi + pydantic + yaml + the same SDK modules (goal 1.1)")


def _up_and_gate(scratch: Path) -> list[Measured]:
    ours = _our_engine(scratch)
    gate = statistics.median(_gate(ours, run) for run in range(1, GATES + 1))
    flat = _flat_engine(scratch, ours.resources(CLUSTER))
    checked(flat.run("up", "--yes", "--skip-preview", "--suppress-outputs", "--stack", "flat"))

    def again(engine: Engine, stack: str) -> Callable[[], None]:
        return lambda: checked(engine.run("up", "--yes", "--skip-preview", "--suppress-outputs", "--stack", stack))

    noop = paired(again(ours, CLUSTER), again(flat, "flat"))
    mpirun, pods = _bare_mpirun(), statistics.median(_bare_pods() for _ in range(GATES))
    same = "the bare mpirun of the same sweep in pods that stand ready"
    return [
        ("no-op up", *noop, "a flat program with the same resources (goal 1.1)"),
        ("gate", gate, mpirun, same),
        ("pods", pods, mpirun, f"{same}: start and end of pods that do nothing"),
        ("gate - pods", gate - pods, mpirun, f"{same} (goal 1.1)"),
    ]


def _gate(engine: Engine, run: int) -> float:
    """Seconds of one gate, from its coordinator's first to its last word."""
    write_copy(REPOSITORY / "stacks" / "Pulumi.local.yaml", engine.project / f"Pulumi.{CLUSTER}.yaml", run=run)
    checked(engine.run("up", "--yes", "--skip-preview", "--suppress-outputs", "--stack", CLUSTER))
    verdict = engine.outputs(CLUSTER)["validation"]["train"]
    return (datetime.fromisoformat(verdict["finished_at"]) - datetime.fromisoformat(verdict["started_at"])).total_seconds()


def _planned() -> tuple[Api, str, dict[str, Any]]:
    """The API, the gate's namespace, and its plan."""
    api, namespace = connect(str(kubeconfig_of(CLUSTER)), None), f"gpufabric-{CLUSTER}-train"
    plan = json.loads(api.get(path("configmaps", "train-plan", namespace=namespace))["data"]["gate.json"])
    return api, namespace, plan


def _bare_pods() -> float:
    """Seconds from the creation of the gate's rank Job to its end, where its containers do nothing: what Kubernetes takes."""
    api, namespace, plan = _planned()
    job = plan["rank_job"]
    for container in job["spec"]["template"]["spec"]["containers"]:
        container["command"] = ["true"]
    job["spec"].pop("successPolicy")  # all of them have to end
    jobs = path("jobs", namespace=namespace, group="batch")
    at = f"{jobs}/{plan['names']['rank_job']}"

    def ended() -> bool:
        return bool(api.get(at).get("status", {}).get("completionTime"))

    started = time.perf_counter()
    api.create(jobs, job)
    try:
        wait_until("pods that do nothing to end", ended, 60)
        return time.perf_counter() - started
    finally:
        api.delete(at)
        wait_until("the Job to be gone", lambda: api.find(at) is None and not _pods(api, namespace), 60)


def _pods(api: Api, namespace: str) -> list[dict[str, Any]]:
    return api.list(path("pods", namespace=namespace), labels="app.kubernetes.io/component=ranks")


def _bare_mpirun() -> float:
    """Seconds of mpirun alone. Pods of the gate's own rank Job hold a sleeping benchmark; the sweep is run beside it."""
    api, namespace, plan = _planned()
    job, expected = plan["rank_job"], plan["expectation"]
    (rank,) = (c for c in job["spec"]["template"]["spec"]["containers"] if c["name"] == contract.CONTAINER_RANK)
    rank["env"].append({"name": contract.ENV_BENCHMARK, "value": HOLD})
    jobs = path("jobs", namespace=namespace, group="batch")
    api.create(jobs, job)
    try:
        wait_until("the rank pods stand ready", lambda: bool(_holding()), 60)
        ((pid, command),) = _holding()
        sizes = ["-b", str(expected["min_bytes"]), "-e", str(expected["max_bytes"]), "-f", str(expected["factor"])]
        sweep = [*command[: -len(HOLD.split())], "python3", "-m", "gpufabric.validation.mpi_allreduce", *sizes]
        variables = [v for v in Path(f"/proc/{pid}/environ").read_text("utf-8").split("\0") if "=" in v]
        inside = ["nsenter", "--target", str(pid), "--mount", "--net", "--pid", "--uts", "--ipc", "--", "env", "-i", *variables]
        times = []
        for _ in range(3):
            started = time.perf_counter()
            checked(subprocess.run([*inside, *sweep], check=False, capture_output=True, text=True))
            times.append(time.perf_counter() - started)
        return statistics.median(times)
    finally:
        at = f"{jobs}/{plan['names']['rank_job']}"
        api.delete(at)
        wait_until("the Job to be gone", lambda: api.find(at) is None and not _pods(api, namespace), 60)


def _holding() -> list[tuple[int, list[str]]]:
    """Process id and command line of the mpirun that holds the pods, once it runs."""
    commands = ((pid, command_line(pid)) for pid in all_pids())
    held = HOLD.split()
    return [(pid, line) for pid, line in commands if line and line[0].endswith("mpirun") and line[-len(held) :] == held]


def _our_engine(scratch: Path) -> Engine:
    project = make_project(scratch / "ours", REPOSITORY / "stacks")
    write_copy(REPOSITORY / "stacks" / "Pulumi.local.yaml", project / f"Pulumi.{CLUSTER}.yaml")
    engine = Engine(scratch / "state-ours", Path(kubeconfig_of(CLUSTER)), project)
    engine.select(CLUSTER)
    return engine


def _flat_engine(scratch: Path, resources: list[dict[str, Any]]) -> Engine:
    """A program made from the state of ours: same kinds, same inputs, another namespace."""
    program = scratch / "flat-program"
    program.mkdir()
    mine, theirs = f"gpufabric-{CLUSTER}-train", "gpufabric-flat-train"
    found = []
    for each in resources:
        kind = each["type"].rpartition(":")[2]
        if each["type"].startswith("kubernetes:") and not each.get("external"):
            inputs = {k: v for k, v in each["inputs"].items() if not k.startswith("__") and k not in ("apiVersion", "kind")}
            found.append((kind, each["urn"].rpartition("::")[2], {_snake(k): v for k, v in inputs.items()}))
    found.sort(key=lambda entry: (entry[0] != "Namespace", entry[0] == "Job"))
    (program / "resources.json").write_text(json.dumps(found).replace(mine, theirs), encoding="utf-8")
    (program / "__main__.py").write_text(FLAT.replace("VERDICT", f"{theirs}/train-verdict"), encoding="utf-8")
    engine = Engine(scratch / "state-flat", Path(kubeconfig_of(CLUSTER)), make_project(scratch / "flat", program))
    engine.select("flat")
    return engine


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


if __name__ == "__main__":
    sys.exit(run_reporting(main))
