"""The coordinator against a small API server: every way a gate run can end, and what it leaves behind."""

import copy
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from gpufabric.validation import contract, coordinator, gate_json, nodes, permissions
from gpufabric.validation.api import Api
from gpufabric.validation.judge import judge
from gpufabric.validation.ranks import Pace
from tests.validation.fake_api import NAMESPACE, RANK_LABELS, Cluster
from tests.validation.printer import Sheet, healthy, last_row
from tests.validation.samples import GATE

QUICK = Pace(
    poll=0.01,
    nodes=0.0,
    log=0.0,
    image_grace=0.1,
    create_grace=0.1,
    judge_grace=0.15,
    removal=0.3,
    overtime=0.1,
    health_grace=0.05,
)
RUNNING = {"running": {"startedAt": "2026-11-29T10:00:00Z"}}
GOOD, SLOW = healthy(), healthy(busbw=0.0068)
WANTED = gate_json.parse(json.dumps(GATE)).expectation
Stage = Callable[[Cluster], None]


def message(sheet: Sheet) -> str:
    return judge(sheet.text(), WANTED, exit_code=0).to_json()


def ended(code: int, text: str = "", reason: str = "") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "message": text, "reason": reason or ("Completed" if code == 0 else "Error")}}


def starting(cluster: Cluster) -> None:
    cluster.pod(0)
    cluster.pod(1)


def running(cluster: Cluster) -> None:
    cluster.pod(0, "n0", rank=RUNNING, judge=RUNNING)
    cluster.pod(1, "n1", rank=RUNNING, judge=ended(0))
    cluster.logs["judge"] = GOOD.text()


def judged(sheet: Sheet, nodes: tuple[str, str] = ("n0", "n1")) -> Stage:
    def stage(cluster: Cluster) -> None:
        cluster.pod(0, nodes[0], rank=ended(0), judge=ended(0, message(sheet)))
        cluster.pod(1, nodes[1], rank=RUNNING, judge=ended(0))

    return stage


def wait(seconds: float) -> Stage:
    return lambda _: time.sleep(seconds)


@dataclass
class Run:
    """A cluster with the group's nodes and the coordinator's Job, and the gate to run on it."""

    cluster: Cluster
    root: Path
    gate: dict[str, Any]

    def go(self, *stages: Stage) -> tuple[int, str]:
        """Exit code and termination message."""
        self.cluster.stages = list(stages)
        (self.root / "plan").mkdir(exist_ok=True)
        (self.root / "plan" / "gate.json").write_text(json.dumps(self.gate))
        log = self.root / "message"
        environment = {"GATE_ROOT": str(self.root), "GATE_TERMINATION_LOG": str(log)}
        code = coordinator.main(environment, Api(self.cluster.url, None, dict, sleep=lambda _: None), QUICK)
        text = log.read_text()
        assert len(text.encode()) <= 4096
        assert len(text.splitlines()) == 2 + len(self.findings())
        return code, text

    def labels(self) -> list[str | None]:
        return [self.cluster.marks(name)[0] for name in ("n0", "n1")]

    def findings(self) -> list[dict[str, Any]]:
        maps = [at for at in self.cluster.objects if at.endswith("/configmaps/train-verdict")]
        return self.cluster.verdict()["findings"] if maps else []

    def rank_job(self) -> bool:
        return any("/jobs/train-ranks" in at for at in self.cluster.objects)


SOON = cast(int, 0.25)  # the plan writes whole seconds; a test need not wait for one


def hurried(text: str, parse: Callable[[str], gate_json.Gate] = gate_json.parse) -> gate_json.Gate:
    gate = parse(text)
    return replace(gate, timeouts=replace(gate.timeouts, nodes_s=SOON, ranks_start_s=SOON))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setattr(gate_json, "parse", hurried)
    cluster = Cluster()
    cluster.put(f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/train-gate", {"metadata": {"uid": "the-coordinator"}})
    cluster.node("n0")
    cluster.node("n1", boot_id="boot-2")
    cluster.put("/api/v1/nodes/other", {"metadata": {"labels": {"pool": "system"}}})
    yield Run(cluster, tmp_path, copy.deepcopy(GATE))
    cluster.close()


def test_pass(run: Run) -> None:
    run.cluster.node("n0", labels={contract.LABEL_VALIDATED: "fail"})
    closed: list[Any] = []
    code, text = run.go(lambda _: closed.append(run.labels()), starting, running, judged(GOOD))
    assert code == 0
    assert closed == [[None, None]]  # closed before anything ran
    assert text.splitlines()[0] == (
        "PASS train: all_reduce busbw 0.06 GB/s at 16 MiB over n0, n1; wanted at least 0.03 GB/s (floor given in the spec). "
        "Nodes are open to jobs. Stand-ins: CPU pods stand in for GPU pods."
    )
    assert run.labels() == ["pass", "pass"]
    label, note = run.cluster.marks("n1")
    assert note is not None
    assert note | {"at": ""} == {
        "outcome": "pass",
        "stack": "local",
        "group": "train",
        "busbw_gbytes_per_s": 0.06,
        "floor_busbw_gbytes_per_s": 0.03,
        "at": "",
        "fingerprint": "0f1e2d",
        "boot_id": "boot-2",
    }
    assert label == "pass"
    verdict = run.cluster.verdict()
    assert set(verdict) == {
        *("version", "outcome", "reason", "fix", "stack", "group", "nodes", "backend", "collective", "ranks", "size_bytes"),
        *("busbw_gbytes_per_s", "algbw_gbytes_per_s", "latency_us", "floor_busbw_gbytes_per_s", "floor_source", "table"),
        "also",
        *(
            "image",
            "run",
            "run_settled",
            "fingerprint",
            "stand_ins",
            "started_at",
            "finished_at",
            "findings",
            "pairs",
            "health",
            "inside",
        ),
    }
    assert (verdict["outcome"], verdict["nodes"], verdict["size_bytes"]) == ("pass", ["n0", "n1"], 1 << 24)
    assert [row[0] for row in verdict["table"]] == [row.size for row in GOOD.rows]
    assert len(verdict["table"][0]) == 9
    data = run.cluster.objects[f"/api/v1/namespaces/{NAMESPACE}/configmaps/train-verdict"]["data"]
    assert "Avg bus bandwidth" in data["output.txt"]
    assert not run.rank_job()
    created = run.cluster.asked("POST", "/jobs")[0].body
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train-gate", "uid": "the-coordinator"}
    assert created["metadata"]["ownerReferences"] == [owner]
    assert created["spec"] == GATE["rank_job"]["spec"]


def test_progress_is_told_as_warning_events_on_the_job(run: Run) -> None:
    run.go(starting, running, running, judged(GOOD))
    events = run.cluster.asked("POST", "/events")
    assert {event.body["type"] for event in events} == {"Warning"}
    assert {event.body["reason"] for event in events} == {"GateProgress"}
    assert {event.body["involvedObject"]["uid"] for event in events} == {"the-coordinator"}
    told = run.cluster.events()
    assert "2 of 2 ranks run" in told
    rows = [text for text in told if "busbw" in text]
    assert len(rows) == len(GOOD.rows)
    assert rows[-1].startswith("  16 MiB: busbw 0.06 GB/s")


@pytest.mark.parametrize(
    ("sheet", "says"),
    [
        (
            SLOW,
            "FAIL train: all_reduce busbw 0.0068 GB/s at 16 MiB over n0, n1; wanted at least 0.03 GB/s (floor given",
        ),
        (last_row(GOOD, wrong="3"), "FAIL train: wrong sums: 3 wrong elements at 16 MiB"),
        (replace(GOOD, bounds="1 FAILED"), "FAIL train: wrong sums: 1 values out of bounds"),
    ],
)
def test_fail(run: Run, sheet: Sheet, says: str) -> None:
    code, text = run.go(starting, running, judged(sheet))
    assert code == 2
    assert text.startswith(says)
    assert "Nodes stay closed." in text
    assert "one of n0, n1" in text.splitlines()[1]
    assert text.splitlines()[2].startswith("Next: ")
    assert "`pulumi up`" in text.splitlines()[2]
    assert run.labels() == ["fail", "fail"]
    assert run.cluster.verdict()["outcome"] == "fail"
    assert not run.rank_job()


def crashed(code: int, text: str) -> Stage:
    def stage(cluster: Cluster) -> None:
        running(cluster)
        cluster.pod(1, "n1", rank=ended(code, text, "OOMKilled" if code == 137 else ""), judge=ended(0))

    return stage


def stuck(reason: str, text: str, **more: Any) -> Stage:
    def stage(cluster: Cluster) -> None:
        cluster.pod(0, "n0", rank=RUNNING, judge=RUNNING)
        cluster.pod(1, "n1", rank={"waiting": {"reason": reason, "message": text}}, **more)

    return stage


def unschedulable(cluster: Cluster) -> None:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes: 2 Insufficient nvidia.com/gpu",
    }
    cluster.pod(0, "n0", rank=RUNNING, judge=RUNNING)
    cluster.pod(1, conditions=[condition])


def evicted(cluster: Cluster) -> None:
    running(cluster)
    cluster.pod(1, "n1", rank=RUNNING, phase="Failed", reason="Evicted", message="The node was low on memory")


def disrupted(cluster: Cluster) -> None:
    running(cluster)
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "drained"}
    cluster.pod(1, "n1", rank=RUNNING, conditions=[condition])


def pod_gone(cluster: Cluster) -> None:
    del cluster.objects[f"/api/v1/namespaces/{NAMESPACE}/pods/train-ranks-1-abcde"]


def job_gone(cluster: Cluster) -> None:
    del cluster.objects[f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/train-ranks"]


def job_condition(reason: str) -> Stage:
    def stage(cluster: Cluster) -> None:
        job = cluster.objects[f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/train-ranks"]
        job["status"] = {"conditions": [{"type": "Failed", "status": "True", "reason": reason, "message": "it is over"}]}

    return stage


def rank_0_crashed(cluster: Cluster) -> None:
    running(cluster)
    cluster.pod(0, "n0", rank=ended(1, "the benchmark ended with exit code 1"), judge=RUNNING)


def judge_lost(cluster: Cluster) -> None:
    running(cluster)
    cluster.pod(0, "n0", rank=ended(0), judge=ended(137, "", "OOMKilled"))


def rebooted(cluster: Cluster) -> None:
    cluster.node("n1", boot_id="boot-3")


def key_helper_failed(cluster: Cluster) -> None:
    running(cluster)
    text = json.dumps({"version": 1, "outcome": "unknown", "reason": "the judge failed: no public key from http://x"})
    cluster.pod(1, "n1", rank=RUNNING, judge=ended(1, text))


@pytest.mark.parametrize(
    ("stages", "says"),
    [
        ([running, judged(replace(GOOD, footers=0))], "no footer: the output is cut off"),
        (
            [crashed(70, "the image has no sshd")],
            "rank 1 (pod train-ranks-1-abcde on node n1) ended with exit code 70: the image has no sshd",
        ),
        ([running, crashed(137, "")], "ended with exit code 137 (OOMKilled)"),
        ([running, rank_0_crashed], "rank 0 (pod train-ranks-0-abcde on node n0) ended with exit code 1: the benchmark ended"),
        ([running, judge_lost], "the judge ended with exit code 137 (OOMKilled) and left no result"),
        (
            [running, key_helper_failed],
            "the key helper of rank 1 (pod train-ranks-1-abcde on node n1) the judge failed: no public key",
        ),
        (
            [stuck("ErrImagePull", "manifest unknown"), stuck("ImagePullBackOff", 'Back-off pulling image "x"')],
            "cannot be had for pod train-ranks-1-abcde on node n1: ImagePullBackOff: manifest unknown",
        ),
        ([stuck("InvalidImageName", "bad name")], "InvalidImageName: bad name"),
        (
            [stuck("CreateContainerError", "no such device")],
            "container rank of pod train-ranks-1-abcde on node n1 cannot start",
        ),
        ([unschedulable], "pod train-ranks-1-abcde cannot be scheduled: 0/3 nodes: 2 Insufficient nvidia.com/gpu"),
        ([stuck("ContainerCreating", "")], "pod train-ranks-1-abcde on node n1 is Running (ContainerCreating)"),
        ([running, evicted], "was taken away by the cluster: Evicted: The node was low on memory"),
        ([running, disrupted], "was taken away by the cluster: EvictionByEvictionAPI: drained"),
        ([running, pod_gone], "pod train-ranks-1-abcde on node n1 was deleted during the validation"),
        ([running, job_gone], "the rank Job train-ranks was deleted during the validation"),
        ([running, job_condition("DeadlineExceeded")], "ran into its deadline of 540 s: the benchmark hangs or is too slow"),
        ([running, job_condition("BackoffLimitExceeded")], "the rank Job failed: BackoffLimitExceeded: it is over"),
        (
            [running, lambda cluster: cluster.node("n1", ready=False)],
            "node n1 is not Ready (NodeStatusUnknown) during the validation",
        ),
        ([running, rebooted, wait(0)], "node n1 was rebooted during the validation"),
        ([running, judged(GOOD, ("n0", "n0"))], "the ranks ran on n0, n0, not on n0, n1, one on each"),
        ([running, judged(GOOD, ("n0", "other"))], "the ranks ran on n0, other"),
    ],
)
def test_unknown(run: Run, stages: list[Stage], says: str) -> None:
    run.cluster.node("n0", labels={contract.LABEL_VALIDATED: "pass"})
    code, text = run.go(starting, *stages)
    assert code == 3
    assert text.startswith("UNKNOWN train: ")
    assert says in text
    assert run.labels() == ["unknown", "unknown"]
    assert run.cluster.verdict()["outcome"] == "unknown"
    assert says in run.cluster.verdict()["reason"]
    assert not run.rank_job()


def test_a_pod_that_is_never_made(run: Run) -> None:
    code, text = run.go(lambda cluster: cluster.pod(0, "n0", rank=RUNNING, judge=RUNNING))
    assert code == 3
    assert "not all ranks run after 0.25 s: rank 1: no pod yet" in text


def test_an_unknown_of_the_judge_is_explained_by_the_pods(run: Run) -> None:
    def stage(cluster: Cluster) -> None:
        judged(replace(GOOD, footers=0))(cluster)
        cluster.pod(1, "n1", rank=ended(137, "", "OOMKilled"), judge=ended(0))

    _, text = run.go(starting, stage)
    assert "rank 1 (pod train-ranks-1-abcde on node n1) ended with exit code 137 (OOMKilled); no footer" in text


def test_pending_leaves_the_labels_alone(run: Run) -> None:
    run.gate["wait_for_nodes"] = False
    run.cluster.node("n0", labels={contract.LABEL_VALIDATED: "pass"})
    run.cluster.node("n1", ready=False)
    code, text = run.go()
    assert code == 0
    assert text.startswith(
        "PENDING train: 1 of 2 nodes with pool=train can run a rank: n0; n1 is not Ready (NodeStatusUnknown)"
    )
    assert run.labels() == ["pass", None]
    assert run.cluster.verdict()["outcome"] == "pending"
    assert not run.cluster.asked("POST", "/jobs")


def test_too_few_nodes_are_waited_for(run: Run) -> None:
    del run.cluster.objects["/api/v1/nodes/n1"]
    run.cluster.objects["/api/v1/nodes/n0"]["spec"] = {"unschedulable": True}
    code, text = run.go()
    assert code == 3
    assert "0 of 2 nodes with pool=train can run a rank; n0 is cordoned, after 0.25 s" in text
    assert any("waiting for nodes" in text for text in run.cluster.events())


def test_a_late_node_is_taken(run: Run) -> None:
    run.cluster.node("n1", ready=False)
    listed: list[int] = []
    real = run.cluster.requests

    class Watching(list[Any]):
        def append(self, request: Any) -> None:
            if request.path == "/api/v1/nodes":
                listed.append(1)
                if len(listed) == 5:
                    run.cluster.node("n1", boot_id="boot-2")
            super().append(request)

    run.cluster.requests = Watching(real)
    assert run.go(starting, running, judged(GOOD))[0] == 0


def test_too_many_nodes(run: Run) -> None:
    run.cluster.node("n2")
    run.cluster.node("n0", labels={contract.LABEL_VALIDATED: "pass"})
    code, text = run.go()
    assert code == 3
    assert "the selector pool=train matches 3 nodes: n0, n1, n2; the spec asks for 2" in text
    assert run.labels() == ["pass", None]
    assert not run.cluster.asked("POST", "/jobs")


def test_a_surplus_node_that_is_down_is_closed_and_not_validated(run: Run) -> None:
    run.cluster.node("n2", ready=False, labels={contract.LABEL_VALIDATED: "pass"})
    assert run.go(starting, running, judged(GOOD))[0] == 0
    assert run.labels() == ["pass", "pass"]
    assert run.cluster.marks("n2")[0] is None


def leave_a_rank_job(cluster: Cluster) -> None:
    cluster.put(
        f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/train-ranks", {"metadata": {"uid": "leftover", "labels": RANK_LABELS}}
    )
    cluster.pod(0, "n0", rank=RUNNING, judge=ended(0, message(SLOW)))


def test_a_leftover_rank_job_is_removed_first(run: Run) -> None:
    leave_a_rank_job(run.cluster)
    code, _ = run.go(lambda _: None, starting, running, judged(GOOD))
    assert code == 0
    order = [request.method for request in run.cluster.requests if "/jobs" in request.path and request.method != "GET"]
    assert order == ["DELETE", "POST", "DELETE"]
    assert "removing the rank Jobs of an earlier run" in run.cluster.events()


def test_another_coordinator_of_the_group_is_removed_first(run: Run) -> None:
    meta = {"labels": contract.labels("train", contract.CONTAINER_COORDINATOR)}
    run.cluster.put(f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/train-gate-old", {"metadata": meta})
    assert run.go(starting, running, judged(GOOD))[0] == 0
    order = [(each.method, each.path.rsplit("/", 1)[-1]) for each in run.cluster.requests if each.method != "GET"]
    removed, closed = order.index(("DELETE", "train-gate-old")), order.index(("PATCH", "n0"))
    assert removed < closed
    assert not any(at.endswith("train-gate-old") for at in run.cluster.objects)


def test_leftover_pods_that_do_not_go_away(run: Run) -> None:
    leave_a_rank_job(run.cluster)
    run.cluster.keep_pods = True
    code, text = run.go()
    assert code == 3
    assert "what an earlier run left does not go away within 0.3 s: pod train-ranks-0-abcde on node n0" in text
    assert not run.cluster.asked("POST", "/jobs")


@pytest.mark.parametrize(
    ("verb", "resource", "says"),
    [
        ("list", "nodes", "may not list nodes in the whole cluster"),
        ("patch", "nodes", "may not patch nodes in the whole cluster"),
        ("create", "jobs", f"may not create jobs.batch in namespace {NAMESPACE}"),
        ("list", "pods", f"may not list pods in namespace {NAMESPACE}"),
        (
            "patch",
            "configmaps",
            f"could not be recorded: the gate's service account may not patch configmaps in namespace {NAMESPACE}",
        ),
    ],
)
def test_missing_permissions(run: Run, verb: str, resource: str, says: str) -> None:
    run.cluster.forbidden = {(verb, resource)}
    code, text = run.go(starting, running, judged(GOOD))
    assert code == 3
    assert says in text
    assert "pass" not in run.labels()


def test_events_are_not_worth_a_gate(run: Run) -> None:
    run.cluster.forbidden = {("create", "events")}
    assert run.go(starting, running, judged(GOOD))[0] == 0
    assert len(run.cluster.asked("POST", "/events")) == 1


def test_a_refused_rank_job(run: Run) -> None:
    run.cluster.refuse_jobs = 'jobs.batch "train-ranks" is forbidden: exceeded quota: jobs'
    code, text = run.go()
    assert code == 3
    assert "the API server refused the rank Job: jobs.batch" in text
    assert run.labels() == ["unknown", "unknown"]


def test_no_answer_from_the_api_server(run: Run) -> None:
    run.cluster.failures = [(503, "etcd is away")] * 100
    code, text = run.go()
    assert code == 3
    assert "the API server refused a request" in text
    assert "etcd is away" in text


def test_a_bad_plan(run: Run) -> None:
    run.gate["nodes"] = 0
    code, text = run.go()
    assert code == 3
    assert "cannot read its plan: nodes: 0 must be at least 1" in text


def test_an_internal_error_asks_for_a_report(
    run: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("gpufabric.validation.group_run.check_placement", broken)
    code, text = run.go(starting, running, judged(GOOD))
    assert code == 3
    assert "internal error in the gate's coordinator: ZeroDivisionError: oops" in text
    assert "please report it" in text
    assert run.labels() == ["unknown", "unknown"]
    assert "Traceback" in capfd.readouterr().err


def test_sigterm(run: Run) -> None:
    """In a process of its own, as in a pod: one message, exit 3, and the nodes stay closed."""
    run.cluster.node("n0", labels={contract.LABEL_VALIDATED: "pass"})
    run.cluster.stages = [starting, running]
    (run.root / "plan").mkdir()
    (run.root / "plan" / "gate.json").write_text(json.dumps(run.gate))
    program = """
import os, sys
from gpufabric.validation import coordinator
from gpufabric.validation.api import Api
sys.exit(coordinator.main(os.environ, Api(sys.argv[1], None, dict)))
"""
    components = str(Path(__file__).parents[2] / "components")
    environment = {
        **os.environ,
        "PYTHONPATH": components,
        "GATE_ROOT": str(run.root),
        "GATE_TERMINATION_LOG": str(run.root / "message"),
    }
    process = subprocess.Popen([sys.executable, "-c", program, run.cluster.url], env=environment, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while not run.cluster.asked("POST", "/jobs"):
            assert time.monotonic() < end
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 3
    finally:
        process.kill()
        process.wait()
    text = (run.root / "message").read_text()
    assert text.startswith("UNKNOWN train: the coordinator was stopped (SIGTERM)")
    assert run.labels() == [None, None]


def test_sigterm_while_recording_does_not_leave_half_a_record(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = nodes.mark

    def mark(*arguments: Any, **more: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        real(*arguments, **more)

    monkeypatch.setattr("gpufabric.validation.coordinator.nodes.mark", mark)
    code, text = run.go(starting, running, judged(GOOD))
    assert (code, text[:4]) == (0, "PASS")
    assert run.labels() == ["pass", "pass"]
    assert run.cluster.verdict()["outcome"] == "pass"


def test_the_permissions_in_the_contract_are_those_in_use(run: Run) -> None:
    leave_a_rank_job(run.cluster)
    run.go(lambda _: None, starting, running, judged(GOOD))
    used = set()
    for request in run.cluster.requests:
        names = request.path.strip("/").split("/")
        resource = next(each for each in reversed(names) if each in ("nodes", "pods", "jobs", "configmaps", "events", "log"))
        verb = {
            "GET": "list" if names[-1] == resource != "log" else "get",
            "POST": "create",
            "PATCH": "patch",
            "DELETE": "delete",
        }
        used.add((verb[request.method], "pods/log" if resource == "log" else resource))
    granted = {
        (verb, resource)
        for rule in (*permissions.coordinator_in_namespace("train-verdict"), *permissions.coordinator_in_cluster(1))
        for verb in rule["verbs"]
        for resource in rule["resources"]
    }
    assert used <= granted
    assert granted - used == {("get", "nodes"), ("create", "configmaps")}  # apply needs create; get: kept for the controller
