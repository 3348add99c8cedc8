"""The hold and busy nodes on real pods: what runs on closed nodes, what waits, who is disturbed only when it is asked for."""

from collections.abc import Iterator
from typing import Any

import pytest

from gpufabric.validation.api import path
from gpufabric.validation.contract import HOLD_TAINT, HOLD_TOLERATION, LABEL_VALIDATED
from tests.local.conftest import LocalCluster
from tests.local.gate_stack import FLOOR, NAMESPACE, STACK, GateStack, make_stack
from tools.localcluster.waits import wait_until

pytestmark = pytest.mark.local

WORKERS = ("n0", "n1")
PATIENCE_S = 40
DAEMONS = path("daemonsets", namespace="default", group="apps")
JOBS = path("deployments", namespace="default", group="apps")
BUDGETS = path("poddisruptionbudgets", namespace="default", group="policy")


def template(name: str, image: str, **spec: Any) -> dict[str, Any]:
    """A selector and a pod on the workers that only sleeps: no profile, no toleration but those of `spec`."""
    labels = {"app": name}
    container = {"name": "main", "image": image, "command": ["sleep", "3600"]}
    pod = {
        "nodeSelector": {"gpufabric.dev/pool": "train"},
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "containers": [container],
    }
    return {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {**pod, **spec}}}


@pytest.fixture(scope="module")
def stack(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GateStack]:
    """A stack that taints closed nodes. The tests below build on each other."""
    made = make_stack(cluster, tmp_path_factory.mktemp("hold"))
    made.write(hold="taint")
    made.engine.select(STACK)
    try:
        yield made
    finally:
        for collection, name in ((DAEMONS, "daemon"), (JOBS, "job"), (BUDGETS, "job")):
            made.api.delete(f"{collection}/{name}")
        made.engine.run("destroy", "--yes", "--skip-preview", "--stack", STACK, timeout_s=200)


def taints(stack: GateStack) -> dict[str, list[dict[str, Any]]]:
    found = {name: stack.api.get(path("nodes", name)) for name in WORKERS}
    return {name: node["spec"].get("taints", []) for name, node in found.items()}


def pods(stack: GateStack, app: str) -> list[dict[str, Any]]:
    return stack.api.list(path("pods", namespace="default"), labels=f"app={app}")


def running_on(stack: GateStack, app: str) -> list[str]:
    """The nodes on which pods of an app run, those that are on their way out aside."""
    alive = [pod for pod in pods(stack, app) if "deletionTimestamp" not in pod["metadata"]]
    return sorted(pod["spec"]["nodeName"] for pod in alive if pod["status"]["phase"] == "Running")


def waits_for(stack: GateStack, app: str) -> list[str]:
    """What the scheduler says of the pods of an app that wait."""
    conditions = [each for pod in pods(stack, app) for each in pod["status"].get("conditions", [])]
    return [each.get("message", "") for each in conditions if each["type"] == "PodScheduled" and each["status"] == "False"]


def test_only_what_tolerates_the_hold_runs_on_closed_nodes(cluster: LocalCluster, stack: GateStack) -> None:
    stack.write(hold="taint", floor_gbytes_per_s=100.0)
    done = stack.up()
    assert done.returncode != 0
    assert "FAIL train" in done.stdout
    assert taints(stack) == {name: [HOLD_TAINT] for name in WORKERS}
    (coordinator,) = stack.api.list(path("pods", namespace=NAMESPACE), labels="app.kubernetes.io/component=coordinator")
    assert coordinator["spec"]["nodeName"] == "system"
    daemon = template("daemon", cluster.image, tolerations=[dict(HOLD_TOLERATION)])
    term = {"labelSelector": {"matchLabels": {"app": "job"}}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    stack.api.create(DAEMONS, {"metadata": {"name": "daemon"}, "spec": daemon})
    stack.api.create(
        JOBS, {"metadata": {"name": "job"}, "spec": {"replicas": 2, **template("job", cluster.image, affinity=apart)}}
    )
    wait_until("the DaemonSet to run", lambda: running_on(stack, "daemon") == [*WORKERS], PATIENCE_S)
    wait_until("the job to wait", lambda: len(waits_for(stack, "job")) == 2, PATIENCE_S)
    # The hold is the only taint of the nodes, as asserted above; the scheduler names it or not.
    assert [each for each in waits_for(stack, "job") if "2 node(s) had untolerated taint" not in each] == []
    assert running_on(stack, "job") == []


def test_a_pass_opens_the_nodes_and_the_job_starts(stack: GateStack) -> None:
    stack.write(hold="taint")
    done = stack.up()
    assert done.returncode == 0, done.stdout
    assert (stack.labels(), taints(stack)) == (dict.fromkeys(WORKERS, "pass"), {name: [] for name in WORKERS})
    wait_until("the job to run", lambda: running_on(stack, "job") == [*WORKERS], PATIENCE_S)


def test_busy_nodes_are_left_alone_when_what_is_validated_changes(stack: GateStack) -> None:
    before = {pod["metadata"]["uid"] for pod in pods(stack, "job")}
    measured = [node["metadata"]["annotations"] for node in workers(stack)]
    stack.write(hold="taint", floor_gbytes_per_s=FLOOR / 2)
    done = stack.up()
    assert done.returncode == 0, done.stdout
    assert "DEFERRED train: 2 nodes busy with other pods: n0 (default/job-" in done.stdout
    assert "last pass" in done.stdout
    assert (stack.verdict()["outcome"], stack.verdict()["nodes"]) == ("deferred", [*WORKERS])
    assert stack.labels() == dict.fromkeys(WORKERS, "pass")
    assert [node["metadata"]["annotations"] for node in workers(stack)] == measured
    assert {pod["metadata"]["uid"] for pod in pods(stack, "job")} == before


def workers(stack: GateStack) -> list[dict[str, Any]]:
    return stack.api.list(path("nodes"), labels="gpufabric.dev/pool=train")


@pytest.mark.soak
def test_a_disruption_budget_is_honoured_and_the_nodes_stay_open(stack: GateStack) -> None:
    budget = {"minAvailable": 2, "selector": {"matchLabels": {"app": "job"}}}
    stack.api.create(BUDGETS, {"metadata": {"name": "job"}, "spec": budget})
    before = {pod["metadata"]["uid"] for pod in pods(stack, "job")}
    stack.write(hold="taint", floor_gbytes_per_s=FLOOR / 2, run=2, nodes_minutes=0.2)
    done = stack.up()
    assert done.returncode != 0
    assert "UNKNOWN train: validation.run was raised, but n0 (default/job-" in done.stdout, done.stdout
    assert "disruption budget" in done.stdout
    assert (stack.labels(), taints(stack)) == (dict.fromkeys(WORKERS, "pass"), {name: [] for name in WORKERS})
    assert {pod["metadata"]["uid"] for pod in pods(stack, "job")} == before
    stack.api.delete(f"{BUDGETS}/job")


def test_a_raised_run_drains_and_measures(stack: GateStack) -> None:
    before = {pod["metadata"]["uid"] for pod in pods(stack, "job")}
    stack.write(hold="taint", floor_gbytes_per_s=FLOOR / 2, run=2)
    done = stack.up()
    assert done.returncode == 0, done.stdout
    assert "draining: n0 (default/job-" in done.stdout
    assert stack.verdict()["outcome"] == "pass"
    assert stack.verdict()["floor_busbw_gbytes_per_s"] == FLOOR / 2
    assert (stack.labels(), taints(stack)) == (dict.fromkeys(WORKERS, "pass"), {name: [] for name in WORKERS})
    wait_until("the job to run again", lambda: running_on(stack, "job") == [*WORKERS], PATIENCE_S)
    assert not before & {pod["metadata"]["uid"] for pod in pods(stack, "job")}
    assert running_on(stack, "daemon") == [*WORKERS], "a DaemonSet is not drained"
    assert all(node["metadata"]["labels"][LABEL_VALIDATED] == "pass" for node in workers(stack))
