"""The queue on real pods: the real Kueue holds Jobs until the verdict opens nodes, and gives out nodes that passed alone."""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpufabric.kubernetes import JobQueue
from gpufabric.plan import resolve_profile
from gpufabric.preflight import connect
from gpufabric.spec import NodeGroupSpec
from gpufabric.validation.api import Api, path
from tests.kubernetes.mocked import run
from tests.local.acceptance import Server, declared
from tests.local.conftest import LocalCluster, running_cluster
from tests.local.gate_stack import STACK, GateStack, make_stack

pytestmark = pytest.mark.local

NAME = os.environ.get("GPUFABRIC_TEST_QUEUE", "queue")
GROUP: dict[str, Any] = {
    "name": "train",
    "node_selector": {"gpufabric.dev/pool": "train"},
    "accelerators": "cpu",
    "nodes": 2,
    "network_tier": "standard",
    "fabric": "ethernet",
    "scheduler": {"kind": "kueue"},
}
VALIDATED = "gpufabric.dev/validated"


@pytest.fixture(scope="module")
def queued() -> Iterator[LocalCluster]:
    """A cluster with Kueue: system, n0, n1."""
    with running_cluster(NAME) as made:
        made.cli("kueue")
        yield made


@pytest.fixture(scope="module")
def api(queued: LocalCluster) -> Api:
    return connect(str(queued.kubeconfig), None)


@pytest.fixture(scope="module")
def stack(queued: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> GateStack:
    """A stack with a queue; its first ``up`` fails, because no link can reach the floor."""
    made = make_stack(queued, tmp_path_factory.mktemp("queue"))
    made.write_groups([GROUP], max_size="1M", floor_gbytes_per_s=900.0)
    made.engine.select(STACK)
    return made


PROFILE = resolve_profile(NodeGroupSpec.parse(GROUP), "train")


def submit(api: Api, name: str, pods: int, *, seconds: int, share: float = 0.6) -> None:
    """A Job of ``pods`` pods that sleep, with the profile; ``share`` of a node's cores for each: two do not fit on one."""
    cores = int(api.get(path("nodes", "n0"))["status"]["allocatable"]["cpu"])
    container: dict[str, Any] = {"name": "main", "image": "localhost/gpufabric/gate:1", "imagePullPolicy": "IfNotPresent"}
    container |= {"command": ["sleep", str(seconds)], "resources": {"requests": {"cpu": f"{cores * share:.3f}"}}}
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"completions": pods, "parallelism": pods, "backoffLimit": 0, "template": {"spec": pod}},
    }
    api.create(path("jobs", namespace="default", group="batch"), PROFILE.apply_to(job))


def state(api: Api, name: str) -> tuple[bool, bool, list[str]]:
    """Is the Job suspended, has Kueue admitted its workload, and where are its pods?"""
    job = api.get(path("jobs", name, namespace="default", group="batch"))
    pods = api.list(path("pods", namespace="default"), labels=f"batch.kubernetes.io/job-name={name}")
    conditions = {each["type"]: each for each in workload(api, name).get("status", {}).get("conditions", [])}
    admitted = conditions.get("Admitted", {}).get("status") == "True"
    return bool(job["spec"].get("suspend")), admitted, sorted(str(pod["spec"].get("nodeName")) for pod in pods)


def workload(api: Api, job: str) -> dict[str, Any]:
    """Kueue's own object for a Job."""
    found = api.list(path("workloads", namespace="default", group="kueue.x-k8s.io", version="v1beta2"))
    mine = [each for each in found if job in [owner["name"] for owner in each["metadata"].get("ownerReferences", [])]]
    return mine[0] if mine else {}


def why(api: Api, job: str) -> str:
    """What Kueue says of a workload that waits; empty before it has looked."""
    conditions = {each["type"]: each for each in workload(api, job).get("status", {}).get("conditions", [])}
    waiting = conditions.get("QuotaReserved", {})
    return str(waiting.get("message", "")) if waiting.get("status") == "False" else ""


def await_that(what: str, condition: Callable[[], bool], timeout_s: float = 30) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {timeout_s} s"
        time.sleep(0.2)


def waits(api: Api, name: str) -> str:
    """Wait until Kueue has looked at the Job and left it where it is; what it said."""
    await_that(f"Kueue to look at {name}", lambda: bool(why(api, name)))
    assert state(api, name) == (True, False, [])
    return why(api, name)


def test_while_the_group_has_failed_no_job_is_admitted(api: Api, stack: GateStack) -> None:
    done = stack.up()
    assert done.returncode != 0, done.stdout
    assert "FAIL train" in done.stdout, done.stdout
    assert stack.labels() == {"n0": "fail", "n1": "fail"}
    submit(api, "first", pods=2, seconds=3)
    assert "no topology domains at level: kubernetes.io/hostname" in waits(api, "first")


def test_every_part_of_the_queue_runs_with_every_worker_closed(api: Api) -> None:
    pods = api.list(path("pods", namespace="kueue-system"))
    assert [(each["status"]["phase"], each["spec"]["nodeName"]) for each in pods] == [("Running", "system")]
    queue = api.get(path("clusterqueues", f"gpufabric-{STACK}-train", group="kueue.x-k8s.io", version="v1beta2"))
    active = {each["type"]: each["status"] for each in queue["status"]["conditions"]}
    assert active["Active"] == "True", "it waits for nodes, not for a part of itself"


def test_kueue_takes_a_queue_that_asks_for_nodes(api: Api) -> None:
    """Its webhooks and its kinds; whether nodes come is the cloud's."""
    pool: dict[str, Any] = {"name": "burst", "node_selector": {"pool": "burst"}, "accelerators": "H200:8", "nodes": 2}
    pool |= {"machine_type": "a3-ultragpu-8g", "preflight": {}}
    pool |= {"scheduler": {"kind": "kueue", "provisioning": {"kind": "gke_queued", "max_run_seconds": 86400}}}
    args: Any = {"node_group": pool}
    objects = declared(run(lambda: JobQueue("burst", args)))
    assert len(objects) == 5
    server = Server(api)
    for each in objects:
        server.accept(each)


def test_the_verdict_opens_the_queue(api: Api, stack: GateStack) -> None:
    stack.write_groups([GROUP])
    done = stack.up()
    assert done.returncode == 0, done.stdout
    assert stack.labels() == {"n0": "pass", "n1": "pass"}
    await_that("the job to be admitted", lambda: state(api, "first")[1])
    await_that("its pods to be on both nodes", lambda: state(api, "first") == (False, True, ["n0", "n1"]))
    await_that("it to end", lambda: _done(api, "first"))


def test_a_job_beyond_the_quota_waits_and_runs_when_there_is_room(api: Api) -> None:
    submit(api, "long", pods=2, seconds=600)
    await_that("the first job to make room", lambda: state(api, "long")[1])
    submit(api, "second", pods=1, seconds=1, share=0.01)
    assert "insufficient unused quota for pods" in waits(api, "second"), "the nodes have room"
    api.delete(path("jobs", "long", namespace="default", group="batch"))
    await_that("the second job to be admitted", lambda: state(api, "second")[1])


def test_a_node_that_loses_its_label_takes_no_new_job(api: Api) -> None:
    await_that("the second job to end", lambda: _done(api, "second"))
    api.merge_patch(path("nodes", "n1"), {"metadata": {"labels": {VALIDATED: None}}})
    submit(api, "both", pods=2, seconds=1)
    assert "allows to fit only 1 out of 2 pod" in waits(api, "both")
    submit(api, "one", pods=1, seconds=600)
    await_that("the job that fits on one node to be there", lambda: state(api, "one") == (False, True, ["n0"]))
    api.delete(path("jobs", "one", namespace="default", group="batch"))
    api.merge_patch(path("nodes", "n1"), {"metadata": {"labels": {VALIDATED: "pass"}}})
    await_that("the other job to be admitted when the node is back", lambda: state(api, "both")[1])


@pytest.mark.soak
def test_another_preview_finds_nothing_to_do(stack: GateStack) -> None:
    """Kueue fills in defaults of its own; none of them is taken for a difference."""
    done = stack.engine.run("preview", "--expect-no-changes", "--diff", "--stack", STACK, timeout_s=120)
    assert done.returncode == 0, done.stdout


def test_a_destroy_removes_the_queue(api: Api, stack: GateStack) -> None:
    await_that("the last job to end", lambda: _done(api, "both"))
    done = stack.engine.run("destroy", "--yes", "--skip-preview", "--stack", STACK, timeout_s=120)
    assert done.returncode == 0, done.stdout
    for kind in ("topologies", "resourceflavors", "clusterqueues"):
        assert api.list(path(kind, group="kueue.x-k8s.io", version="v1beta2")) == [], kind


def _done(api: Api, name: str) -> bool:
    job = api.get(path("jobs", name, namespace="default", group="batch"))
    return any(each["type"] == "Complete" and each["status"] == "True" for each in job["status"].get("conditions", []))
