"""Nodes of a small API server that measure what a test says: every rank Job gets pods that have ended, as from kubelets."""

import copy
import json
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpufabric.validation import coordinator, gate_json
from gpufabric.validation.api import Api
from gpufabric.validation.judge import judge
from gpufabric.validation.ranks import Pace
from tests.validation.fake_api import NAMESPACE, Cluster
from tests.validation.printer import Sheet, healthy, last_row
from tests.validation.samples import GATE

QUICK = Pace(
    poll=0.005,
    nodes=0.0,
    log=0.0,
    image_grace=0.1,
    create_grace=0.1,
    judge_grace=0.15,
    removal=0.3,
    overtime=0.1,
    drain=0.01,
    evict=0.05,
)
RUNNING: dict[str, Any] = {"running": {}}
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/"


def ended(code: int, text: str = "") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "message": text, "reason": "Completed" if code == 0 else "Error"}}


class Nodes:
    """Four nodes and what is wrong with them. As the kubelets, it gives every rank Job pods that have ended."""

    def __init__(self, root: Path, count: int = 4) -> None:
        self.cluster, self.root = Cluster(), root
        self.names = [f"n{at}" for at in range(count)]
        self.slow: Collection[str] = ()
        self.wrong: Collection[str] = ()
        self.hung: Collection[str] = ()
        self.together = 0.06
        self.measured: list[tuple[str, ...]] = []
        self.misplaced: Collection[str] = ()
        self.at_pair: Callable[[Cluster], None] = lambda _: None
        self.gate: dict[str, Any] = copy.deepcopy(GATE) | {"nodes": count}
        self.gate["expectation"]["ranks"] = count
        self.gate["rank_job"]["spec"] |= {"completions": count, "parallelism": count}
        self.cluster.put(JOBS + "train-gate", {"metadata": {"uid": "the-coordinator"}})
        for name in self.names:
            self.cluster.node(name)
        self.cluster.kubelet = self.run_pods

    def run_pods(self, cluster: Cluster) -> None:
        for at, job in [(at, job) for at, job in cluster.objects.items() if at.startswith(JOBS + "train-ranks")]:
            name = at.rsplit("/", 1)[-1]
            if any(f"/pods/{name}-0-" in each for each in cluster.objects):
                continue
            where = bound(job) or self.names
            if len(where) == 2:
                self.measured.append(tuple(where))
                self.at_pair(cluster)
            for index, node in enumerate(where):
                text = self.message(where) if index == 0 else ""
                seat = "n0" if node in self.misplaced and len(where) == 2 else node
                cluster.pod(index, seat, job=name, rank=RUNNING if index else ended(0), judge=ended(0, text))

    def message(self, where: list[str]) -> str:
        wanted = replace(gate_json.parse(json.dumps(self.gate)).expectation, ranks=len(where))
        if set(where) & set(self.hung):
            return judge("", wanted, exit_code=124, error="the benchmark did not end within 120 s and was stopped").to_json()
        sheet = self.sheet(where)
        return judge(sheet.text(), wanted, exit_code=0).to_json()

    def sheet(self, where: list[str]) -> Sheet:
        busbw = 0.007 if set(where) & set(self.slow) else 0.06
        sheet = healthy(len(where), busbw=min(busbw, self.together) if len(where) > 2 else busbw)
        return last_row(sheet, wrong="3") if set(where) & set(self.wrong) else sheet

    def go(self) -> tuple[int, list[str]]:
        """Exit code and the termination message's lines."""
        (self.root / "plan").mkdir(exist_ok=True)
        (self.root / "plan" / "gate.json").write_text(json.dumps(self.gate))
        environment = {"GATE_ROOT": str(self.root), "GATE_TERMINATION_LOG": str(self.root / "message")}
        code = coordinator.main(environment, Api(self.cluster.url, None, dict, sleep=lambda _: None), QUICK)
        text = (self.root / "message").read_text()
        assert len(text.encode()) <= 4096
        assert not [at for at in self.cluster.objects if at.startswith(JOBS + "train-ranks")], "Jobs are left"
        return code, text.splitlines()

    def labels(self) -> list[str | None]:
        return [self.cluster.marks(name)[0] for name in self.names]

    def created(self) -> list[dict[str, Any]]:
        return [request.body for request in self.cluster.asked("POST", "/jobs")]


def bound(job: dict[str, Any]) -> list[str]:
    """The nodes that a Job is bound to."""
    affinity = job["spec"]["template"]["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
    return [term["matchFields"][0]["values"][0] for term in terms]
