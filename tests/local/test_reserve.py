"""The next partner that frees up is a late node's, not the next job's: the real scheduler, and devices that pods hold alone."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from gpufabric.validation.api import path
from gpufabric.validation.contract import ANNOTATION_VALIDATION, LABEL_VALIDATED
from tests.local.conftest import NAME, LocalCluster, running_cluster
from tests.local.gate_stack import NAMESPACE, STACK, GateStack, make_stack
from tests.local.test_controller import log
from tests.local.test_hold import PATIENCE_S, pods, running_on, taints, template, waits_for
from tools.localcluster.waits import wait_until

pytestmark = [pytest.mark.local, pytest.mark.soak]

DEVICE = "acme.example/gpu"  # a number in the node's status stands in for a device plugin
JOBS = path("deployments", namespace="default", group="apps")
PLACEHOLDER = path("jobs", "train-ranks-reserve-0", namespace=NAMESPACE, group="batch")


@pytest.fixture(scope="module")
def grown() -> Iterator[LocalCluster]:
    """A cluster of its own that grows by a worker: system, n0, n1."""
    with running_cluster(f"{NAME}-reserve") as made:
        yield made


@pytest.fixture(scope="module")
def stack(grown: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> GateStack:
    made = make_stack(grown, tmp_path_factory.mktemp("reserve"))
    for name in ("n0", "n1"):
        give_device(made, name)
    made.engine.select(STACK)
    made.write(keep=True, profile={"resources": {DEVICE: 1}})
    done = made.up()
    assert done.returncode == 0, done.stdout
    return made


def give_device(stack: GateStack, node: str) -> None:
    count = {DEVICE: "1"}
    stack.api.merge_patch(path("nodes", node, sub="status"), {"status": {"capacity": count, "allocatable": count}})


def job(stack: GateStack, name: str, image: str, replicas: int) -> None:
    """Pods that hold a device each, on nodes that passed, as the pod profile binds them."""
    term = {"matchExpressions": [{"key": LABEL_VALIDATED, "operator": "In", "values": ["pass"]}]}
    only_open = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    spec = {"replicas": replicas, **template(name, image, affinity=only_open)}
    spec["template"]["spec"]["containers"][0]["resources"] = {"limits": {DEVICE: "1"}}
    stack.api.create(JOBS, {"metadata": {"name": name}, "spec": spec})


def unschedulable(stack: GateStack, labels: str) -> bool:
    found = stack.api.list(path("pods", namespace=NAMESPACE), labels=labels)
    conditions = [each for pod in found for each in pod["status"].get("conditions", [])]
    return any(each.get("reason") == "Unschedulable" for each in conditions)


def scheduled_at(pod: dict[str, Any]) -> str:
    (when,) = [each["lastTransitionTime"] for each in pod["status"]["conditions"] if each["type"] == "PodScheduled"]
    return str(when)


def test_a_late_node_gets_the_partner_that_a_job_waits_for(grown: LocalCluster, stack: GateStack) -> None:
    job(stack, "job", grown.image, replicas=2)
    wait_until("both nodes to be busy", lambda: running_on(stack, "job") == ["n0", "n1"], PATIENCE_S)
    grown.cli("up", "--workers", "3")
    give_device(stack, "n2")
    wait_until("a placeholder", lambda: stack.api.find(PLACEHOLDER) is not None, PATIENCE_S)
    name = "batch.kubernetes.io/job-name=train-ranks-reserve-0"
    wait_until("it to be turned away", lambda: unschedulable(stack, name), PATIENCE_S)
    assert running_on(stack, "job") == ["n0", "n1"], "nobody is preempted"
    job(stack, "next", grown.image, replicas=1)
    wait_until("the next job to be turned away", lambda: len(waits_for(stack, "next")) == 1, PATIENCE_S)
    stack.api.merge_patch(f"{JOBS}/job", {"spec": {"replicas": 1}})
    try:
        wait_until("n2 to be open", lambda: stack.labels() == dict.fromkeys(("n0", "n1", "n2"), "pass"), 2 * PATIENCE_S)
    except Exception:
        print(log(stack), running_on(stack, "job"), running_on(stack, "next"))
        raise
    (busy,) = running_on(stack, "job")
    record = json.loads(stack.api.get(path("nodes", "n2"))["metadata"]["annotations"][ANNOTATION_VALIDATION])
    assert {record["partner"], busy} == {"n0", "n1"}, "measured with the node that was freed"
    wait_until("the next job to run", lambda: len(running_on(stack, "next")) == 1, PATIENCE_S)
    placed = [pod for pod in pods(stack, "next") if pod["spec"].get("nodeName")]
    assert min(map(scheduled_at, placed)) >= record["at"], "the job was second"
    assert not [job for job in stack.objects()["jobs"] if "-reserve-" in job]
    assert taints(stack) == {"n0": [], "n1": []}
