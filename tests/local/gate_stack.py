"""A stack of ours on the tests' cluster: a project in a temporary folder, the repository's program, the real engine."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gpufabric.preflight import connect
from gpufabric.validation.api import Api, path
from gpufabric.validation.contract import MEETING_PORT
from tests.local.conftest import LocalCluster
from tools.engine import Engine, make_project
from tools.folders import REPOSITORY
from tools.localcluster import cgroups
from tools.localcluster.lifecycle import existing

STACK = "gate"
NAMESPACE = f"gpufabric-{STACK}-train"
# A link of 20 Mbit/s cannot give more than 0.0025 GB/s; a healthy one of 1 Gbit/s gives 0.06. On a machine that does much else
# it gave 0.0088 to 0.034 in the fifty healthy runs, and 0.0054 between four nodes: a floor of 0.01 failed one of them.
SLOW_LINK, FLOOR = "20mbit", 0.004


@dataclass(frozen=True)
class Program:
    """How the ranks of a benchmark are told from all other processes: a word of the command, one of the environment."""

    word: str
    rank: str
    of_group: str
    """Stage 1 has ranks too; this is found, in command or environment, only of those of the group's run."""


MPI = Program("gpufabric.validation.mpi_allreduce", r"OMPI_COMM_WORLD_RANK=(\d+)", "OMPI_COMM_WORLD_LOCAL_SIZE=1\0")
TORCH = Program("gpufabric.validation.torch_allreduce", r"\0RANK=(\d+)", f":{MEETING_PORT}\0")


@dataclass(frozen=True)
class GateStack:
    """One stack file, the engine that runs it, and the cluster's API to look at what came of it."""

    engine: Engine
    api: Api
    cluster: LocalCluster

    def write(self, *, nodes: int = 2, profile: dict[str, Any] | None = None, **validation: Any) -> None:
        """Write the stack file: one group of all workers."""
        group = {
            "name": "train",
            "node_selector": {"gpufabric.dev/pool": "train"},
            "accelerators": "cpu",
            "nodes": nodes,
            "network_tier": "standard",
            **({"profile": profile} if profile is not None else {"fabric": "ethernet"}),
        }
        self.write_groups([group], **validation)

    def write_groups(self, groups: list[dict[str, Any]], **validation: Any) -> None:
        """Write the stack file; Pulumi's own keys in it are kept."""
        file = self.engine.project / f"Pulumi.{STACK}.yaml"
        kept = {}
        if file.exists():
            kept = {k: v for k, v in yaml.safe_load(file.read_text("utf-8")).items() if k != "config"}
        spec = {
            "cloud": "kubernetes",
            "node_groups": groups,
            "validation": {
                "backend": "mpi",
                "image": "localhost/gpufabric/gate:1",
                "max_size": "4M",
                "floor_gbytes_per_s": FLOOR,
                "nodes_minutes": 1,
                "start_minutes": 1,
                "benchmark_minutes": 1,
                **validation,
            },
        }
        file.write_text(yaml.safe_dump({**kept, "config": {"gpufabric:stack": spec}}), encoding="utf-8")

    def up(self, *options: str) -> subprocess.CompletedProcess[str]:
        """``pulumi up`` to its end."""
        self.engine.unlock(STACK)
        return self.engine.run("up", "--yes", "--skip-preview", "--suppress-outputs", "--stack", STACK, *options, timeout_s=300)

    def start(self, log: Path, *options: str) -> subprocess.Popen[bytes]:
        """``pulumi up``, running."""
        self.engine.unlock(STACK)
        return self.engine.start("up", "--yes", "--skip-preview", "--suppress-outputs", "--stack", STACK, *options, log=log)

    def verdict(self) -> dict[str, Any]:
        """The verdict in the stack's outputs."""
        found: dict[str, Any] = self.engine.outputs(STACK)["validation"]["train"]
        return found

    def labels(self) -> dict[str, str | None]:
        """The validated label of each worker."""
        workers = self.api.list(path("nodes"), labels="gpufabric.dev/pool=train")
        return {n["metadata"]["name"]: n["metadata"]["labels"].get("gpufabric.dev/validated") for n in workers}

    def objects(self) -> dict[str, list[str]]:
        """Names of all that lies in the gate's namespace, and of its cluster-scoped objects."""
        jobs = self.api.list(path("jobs", namespace=NAMESPACE, group="batch"))
        maps = self.api.list(path("configmaps", namespace=NAMESPACE))
        roles = self.api.list(path("clusterroles", group="rbac.authorization.k8s.io"))
        pods = self.api.list(path("pods", namespace=NAMESPACE))
        return {
            "jobs": _names(jobs),
            "configmaps": [n for n in _names(maps) if n != "kube-root-ca.crt"],
            "clusterroles": [n for n in _names(roles) if n.startswith("gpufabric-")],
            "rank_pods": [n for n in _names(pods) if n.startswith("train-ranks")],
        }

    def await_ranks(self, count: int, group: str = "train", timeout_s: float = 60, program: Program = MPI) -> list[int]:
        """Process ids of a group's Python ranks on this cluster, by rank, once ``count`` of them measure."""
        # Another cluster's ranks, of a test that runs beside this one, lie in other control groups.
        pods = cgroups.root(existing(self.cluster.name).addresses.tag, "")
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            found = dict(_ranks(pods, group, program))
            if len(found) == count:
                return [found[rank] for rank in range(count)]
            time.sleep(0.02)
        raise AssertionError(f"no {count} ranks of {program.word} after {timeout_s} s")


def _ranks(pods: str, group: str, program: Program) -> Iterator[tuple[int, int]]:
    """Rank and process id of a group's ranks below a control group."""
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes()
            if program.word.encode() not in command.split(b"\0") or not command.split(b"\0")[0].endswith(b"python3"):
                continue
            environment = "\0" + (entry / "environ").read_bytes().decode()
            groups = (entry / "cgroup").read_text("utf-8")
        except (OSError, ValueError):
            continue
        rank = re.search(program.rank, environment)
        of_group = program.of_group in command.decode() + environment
        if rank and of_group and pods in groups and f"GATE_SERVICE={group}-ranks\0" in environment:
            yield int(rank[1]), int(entry.name)


def make_stack(cluster: LocalCluster, folder: Path) -> GateStack:
    """A project folder whose program is the repository's."""
    engine = Engine(folder / "state", cluster.kubeconfig, make_project(folder / "project", REPOSITORY / "stacks"))
    return GateStack(engine, connect(str(cluster.kubeconfig), None), cluster)


def send(pid: int, number: signal.Signals) -> None:
    """A signal to a process of a test's own cluster."""
    os.kill(pid, number)


def _names(items: list[dict[str, Any]]) -> list[str]:
    return sorted(item["metadata"]["name"] for item in items)
