"""The controller on real pods: nodes join, die, reboot, are replaced, without an ``up``; a policy holds its accounts."""

import base64
import json
import signal
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufabric.validation.api import Api, ApiError, path
from gpufabric.validation.contract import (
    ANNOTATION_HOLD,
    ANNOTATION_VALIDATION,
    LABEL_VALIDATED,
    RESTS_ON,
    SINGLE_NODE,
    TAINT_HOLD,
)
from gpufabric.validation.controller_contract import METRICS_PORT
from tests.local.conftest import NAME, LocalCluster, running_cluster
from tests.local.gate_stack import NAMESPACE, SLOW_LINK, GateStack, make_stack, send
from tools.localcluster.lifecycle import existing
from tools.localcluster.waits import wait_until

pytestmark = pytest.mark.local

PATIENCE_S = 60


@pytest.fixture(scope="module")
def ctl() -> Iterator[LocalCluster]:
    """A cluster of its own that grows: system and n0."""
    with running_cluster(f"{NAME}-ctl", "--workers", "1") as made:
        yield made


@pytest.fixture(scope="module")
def stack(ctl: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> GateStack:
    """Asks for two nodes where one is there. The tests below build on each other; the last ones run another ``up``."""
    made = make_stack(ctl, tmp_path_factory.mktemp("ctl"))
    made.engine.select("gate")
    made.write(nodes=2, wait=False, keep=True)
    done = made.up()
    assert done.returncode == 0, done.stdout
    assert made.verdict()["outcome"] == "pending"
    assert made.labels() == {"n0": None}
    return made


def await_labels(stack: GateStack, **labels: str | None) -> None:
    try:
        wait_until(f"labels to be {labels}", lambda: stack.labels() == labels, PATIENCE_S)
    except Exception:
        print(log(stack))
        raise


def log(stack: GateStack) -> str:
    """What the controller said, for a failed test."""
    labels = "app.kubernetes.io/component=controller"
    pods = stack.api.list(path("pods", namespace=NAMESPACE), labels=labels)
    out = [f"{stack.labels()}"]
    for pod in pods:
        out += [json.dumps(pod["status"].get("containerStatuses"))]
        try:
            out += [stack.api.log(NAMESPACE, pod["metadata"]["name"], "controller", tail_lines=60)]
        except ApiError as error:
            out += [str(error)]
    return "\n".join(out)


def record(stack: GateStack, name: str) -> dict[str, Any]:
    """The verdict that is recorded on a node, which must be of its present boot."""
    node = stack.api.get(path("nodes", name))
    found: dict[str, Any] = json.loads(node["metadata"]["annotations"][ANNOTATION_VALIDATION])
    assert found["boot_id"] == node["status"]["nodeInfo"]["bootID"]
    assert ANNOTATION_HOLD not in node["metadata"]["annotations"]
    return found


def events(stack: GateStack, node: str) -> list[str]:
    found = stack.api.list(path("events", namespace="default"), fields=f"involvedObject.name={node},reason=FabricGate")
    return [each["message"] for each in found]


def test_a_pending_group_passes_when_its_nodes_have_joined(ctl: LocalCluster, stack: GateStack) -> None:
    wait_until(
        "n0 to be told pending", lambda: any("1 of 2 nodes can run a rank" in text for text in events(stack, "n0")), PATIENCE_S
    )
    ctl.cli("up", "--workers", "2")
    await_labels(stack, n0="pass", n1="pass")
    wait_until("the verdict to be written", lambda: verdict(stack)["outcome"] == "pass", PATIENCE_S)  # after the labels
    assert verdict(stack)["nodes"] == ["n0", "n1"]
    boots = {record(stack, name)["boot_id"] for name in ("n0", "n1")}
    assert len(boots) == 2, "each machine has a boot id of its own"


def verdict(stack: GateStack) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        stack.api.get(path("configmaps", "train-verdict", namespace=NAMESPACE))["data"]["verdict.json"]
    )
    return found


def test_a_third_node_that_joins_is_opened(ctl: LocalCluster, stack: GateStack) -> None:
    ctl.cli("up", "--workers", "3")
    await_labels(stack, n0="pass", n1="pass", n2="pass")
    found = record(stack, "n2")
    assert found["partner"] in ("n0", "n1")
    assert found["busbw_gbytes_per_s"] >= found["floor_busbw_gbytes_per_s"]
    assert any(text.startswith("pass: busbw") for text in events(stack, "n2"))


def await_new_boot(stack: GateStack, name: str, old: dict[str, Any]) -> None:
    """Until the last verdict on a node is of another boot than an older one."""

    def newer() -> bool:
        annotations = stack.api.get(path("nodes", name))["metadata"].get("annotations", {})
        return json.loads(annotations.get(ANNOTATION_VALIDATION, "{}")).get("boot_id", "") not in ("", old["boot_id"])

    wait_until(f"{name} to be validated in its new boot", newer, PATIENCE_S)


@pytest.mark.soak  # the next but one reboots a node too
def test_a_node_that_rebooted_is_measured_before_it_is_opened(ctl: LocalCluster, stack: GateStack) -> None:
    before = record(stack, "n2")
    ctl.kill("n2")
    ctl.revive("n2")
    await_new_boot(stack, "n2", before)
    assert record(stack, "n2")["partner"] in ("n0", "n1")
    await_labels(stack, n0="pass", n1="pass", n2="pass")
    assert any("rebooted since it passed" in text or "not Ready" in text for text in events(stack, "n2"))


@pytest.mark.soak
def test_a_node_that_was_away_returns_untested_in_the_same_boot(ctl: LocalCluster, stack: GateStack) -> None:
    before = record(stack, "n1")
    pids = existing(ctl.name).node_daemons("n1")["kubelet"].pids()
    try:
        for pid in pids:
            send(pid, signal.SIGSTOP)
        await_labels(stack, n0="pass", n1=None, n2="pass")
    finally:
        for pid in pids:
            send(pid, signal.SIGCONT)
    await_labels(stack, n0="pass", n1="pass", n2="pass")
    assert record(stack, "n1") == before


def test_nodes_that_rebooted_or_were_replaced_are_measured_before_they_are_opened(ctl: LocalCluster, stack: GateStack) -> None:
    """n1 reboots; n2 is replaced under its name: its Node object goes, and nothing is recorded on the new one."""
    before = {name: record(stack, name) for name in ("n1", "n2")}
    for name in before:
        ctl.kill(name)
    stack.api.delete(path("nodes", "n2"))
    ctl.cli("up")  # switches both on
    await_labels(stack, n0="pass", n1="pass", n2="pass")
    for name, old in before.items():
        await_new_boot(stack, name, old)
        assert record(stack, name)["partner"] in {"n0", "n1", "n2"} - {name}
    await_labels(stack, n0="pass", n1="pass", n2="pass")


@pytest.mark.soak
def test_a_slow_node_is_not_opened_and_its_partner_stays_open(ctl: LocalCluster, stack: GateStack) -> None:
    ctl.degrade("n2", SLOW_LINK)
    try:
        stack.api.merge_patch(path("nodes", "n2"), {"metadata": {"labels": {LABEL_VALIDATED: None}}})
        await_labels(stack, n0="pass", n1="pass", n2="fail")
    finally:
        ctl.restore()
    assert record(stack, "n2")["outcome"] == "fail"


def as_account(ctl: LocalCluster, stack: GateStack, account: str) -> Api:
    """The API as a pod of the gate sees it: with a token of its account, and no other right."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    answer = stack.api.create(path("serviceaccounts", account, namespace=NAMESPACE, sub="token"), body)
    token = answer["status"]["token"]
    kubeconfig = yaml.safe_load(Path(ctl.kubeconfig).read_text("utf-8"))
    (entry,) = kubeconfig["clusters"]
    authority = entry["cluster"]
    data = authority.get("certificate-authority-data")
    text = base64.b64decode(data).decode() if data else Path(authority["certificate-authority"]).read_text("utf-8")
    return Api(authority["server"], ssl.create_default_context(cadata=text), lambda: {"Authorization": f"Bearer {token}"})


ALLOWED: dict[str, Any] = {
    "its label": {"metadata": {"labels": {"gpufabric.dev/tested": "1"}}},
    "its annotation": {"metadata": {"annotations": {"gpufabric.dev/tested": "1"}}},
    "its taint": {"spec": {"taints": [{"key": TAINT_HOLD, "effect": "NoSchedule", "value": "closed"}]}},
    "its taint away": {"spec": {"taints": None}},
    "its words away": {"metadata": {"labels": {"gpufabric.dev/tested": None}, "annotations": {"gpufabric.dev/tested": None}}},
}
REFUSED: dict[str, tuple[Any, str]] = {
    "another label": ({"metadata": {"labels": {"topology.kubernetes.io/zone": "x"}}}, "may change only labels"),
    "a label away": ({"metadata": {"labels": {"kubernetes.io/os": None}}}, "may change only labels"),
    "the group's label": ({"metadata": {"labels": {"gpufabric.dev/pool": "system"}}}, "none that selects the group"),
    "another annotation": ({"metadata": {"annotations": {"acme/owner": "x"}}}, "may change only annotations"),
    "a cordon": ({"spec": {"unschedulable": True}}, "may not cordon"),
    "another taint": ({"spec": {"taints": [{"key": "acme", "effect": "NoExecute"}]}}, "may change only the taint"),
    "a finalizer": ({"metadata": {"finalizers": ["acme/never"]}}, "may not change finalizers"),
    "an owner": (
        {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "gone", "uid": "1"}]}},
        "may not change owners",
    ),
}


@pytest.mark.parametrize("account", ["train-controller", "train-gate"])
def test_the_gates_accounts_may_change_only_their_own_words(ctl: LocalCluster, stack: GateStack, account: str) -> None:
    api, node = as_account(ctl, stack, account), path("nodes", "n0")
    for body in ALLOWED.values():
        api.merge_patch(node, body)
    before = stack.api.get(node)
    for what, (body, says) in REFUSED.items():
        with pytest.raises(ApiError) as caught:
            api.merge_patch(node, body)
        assert caught.value.status in (403, 422), f"{what}: {caught.value}"
        assert says in caught.value.message, f"{what}: {caught.value.message}"
    after = stack.api.get(node)
    assert after["spec"] == before["spec"]
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    stack.api.merge_patch(node, {"metadata": {"labels": {"acme/owner": "x"}}})  # others are not held to it
    stack.api.merge_patch(node, {"metadata": {"labels": {"acme/owner": None}}})


def test_a_patch_meant_for_a_node_that_was_replaced_is_refused(stack: GateStack) -> None:
    with pytest.raises(ApiError) as caught:
        stack.api.merge_patch(path("nodes", "n0"), {"metadata": {"uid": "6f2b1e0a-0000-4000-8000-000000000000"}})
    assert caught.value.status in (409, 422)


def test_metrics_are_served(ctl: LocalCluster, stack: GateStack) -> None:
    (pod,) = stack.api.list(path("pods", namespace=NAMESPACE), labels="app.kubernetes.io/component=controller")
    assert pod["spec"]["nodeName"] == "system"
    at = f"{path('pods', pod['metadata']['name'] + f':{METRICS_PORT}', namespace=NAMESPACE, sub='proxy')}/metrics"
    raw, _ = stack.api._attempt("GET", f"{stack.api.server}{at}", None, "application/json", 10.0)
    assert isinstance(raw, bytes), raw
    lines = raw.decode().splitlines()
    assert 'gpufabric_node_validated{group="train",node="n0",outcome="pass"} 1' in lines
    assert 'gpufabric_validation_runs_total{group="train",kind="group",outcome="pass"} 1' in lines
    assert 'gpufabric_validation_runs_total{group="train",kind="pair",outcome="pass"}' in "\n".join(lines)


@pytest.mark.soak
def test_a_late_node_is_opened_alone_where_the_others_are_busy_and_that_is_wished(stack: GateStack) -> None:
    stack.write(nodes=3, wait=False, keep=True, single_node_ok=True)
    done = stack.up()
    assert done.returncode == 0, done.stdout
    for name in ("n0", "n1"):
        container = {"name": "job", "image": "localhost/gpufabric/pause:1"}
        spec = {"nodeName": name, "containers": [container], "terminationGracePeriodSeconds": 1}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"job-on-{name}"}, "spec": spec}
        stack.api.create(path("pods", namespace="default"), body)
    try:
        stack.api.merge_patch(path("nodes", "n2"), {"metadata": {"annotations": {ANNOTATION_VALIDATION: None}}})

        def alone() -> bool:
            found = stack.api.get(path("nodes", "n2"))["metadata"]["annotations"].get(ANNOTATION_VALIDATION)
            return found is not None and json.loads(found).get(RESTS_ON) == SINGLE_NODE

        wait_until("n2 to be measured alone", alone, PATIENCE_S)
        await_labels(stack, n0="pass", n1="pass", n2="pass")
        assert any("measured alone: no idle partner is there" in text for text in events(stack, "n2"))
    finally:
        for name in ("n0", "n1"):
            stack.api.delete(path("pods", f"job-on-{name}", namespace="default"))
    wait_until("n2 to be measured with a node that is free", lambda: "partner" in record(stack, "n2"), PATIENCE_S)
    assert RESTS_ON not in record(stack, "n2")
    await_labels(stack, n0="pass", n1="pass", n2="pass")


@pytest.mark.soak
def test_another_up_and_the_controller_do_not_fight(stack: GateStack) -> None:
    stack.write(nodes=3, keep=True, run=2)
    done = stack.up()
    assert done.returncode == 0, done.stdout
    assert (stack.verdict()["outcome"], stack.verdict()["nodes"]) == ("pass", ["n0", "n1", "n2"])
    await_labels(stack, n0="pass", n1="pass", n2="pass")
    for name in ("n0", "n1", "n2"):
        assert "partner" not in record(stack, name), "the group's run, not a pair's"
    assert stack.objects()["rank_pods"] == []


@pytest.mark.soak
def test_zz_destroy_leaves_nothing_of_it(stack: GateStack) -> None:
    done = stack.engine.run("destroy", "--yes", "--skip-preview", "--stack", "gate", timeout_s=200)
    assert done.returncode == 0, done.stdout
    left = [
        each["metadata"]["name"]
        for kind, group in (
            ("clusterroles", "rbac.authorization.k8s.io"),
            ("validatingadmissionpolicies", "admissionregistration.k8s.io"),
            ("validatingadmissionpolicybindings", "admissionregistration.k8s.io"),
            ("namespaces", ""),
        )
        for each in stack.api.list(path(kind, group=group))
        if each["metadata"]["name"].startswith("gpufabric-")
    ]
    assert left == []
    roles = stack.api.list(path("roles", namespace="default", group="rbac.authorization.k8s.io"))
    assert [each for each in roles if each["metadata"]["name"].startswith("gpufabric-")] == []
