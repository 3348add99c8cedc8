"""Busy nodes: left alone and said so, or drained where `validation.run` was raised; never half of it."""

import datetime
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpufabric.validation import busy, clock, contract, permissions
from gpufabric.validation.contract import ANNOTATION_HOLD, ANNOTATION_VALIDATION, HOLD_TAINT, LABEL_VALIDATED
from tests.validation.fake_api import NAMESPACE, Cluster
from tests.validation.fake_nodes import Nodes

VERDICT = f"/api/v1/namespaces/{NAMESPACE}/configmaps/train-verdict"
OTHER = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
BUDGET = "Cannot evict pod as it would violate the pod's disruption budget."


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Nodes]:
    """Two nodes that passed three hours ago, with run 1."""
    made = Nodes(tmp_path, 2)
    made.gate["timeouts"]["nodes_s"] = 1
    at = datetime.datetime.fromtimestamp(time.time() - 3 * 3600, tz=datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    record = {"outcome": "pass", "boot_id": "boot-1", "at": at, "busbw_gbytes_per_s": 0.0612}
    for name in made.names:
        meta = made.cluster.objects[f"/api/v1/nodes/{name}"]["metadata"]
        meta["labels"][LABEL_VALIDATED] = "pass"
        meta["annotations"] = {ANNOTATION_VALIDATION: json.dumps(record)}
    settled(made.cluster, 1)
    yield made
    made.cluster.close()


def settled(cluster: Cluster, run: int, **more: Any) -> None:
    cluster.put(VERDICT, {"data": {"verdict.json": json.dumps({"outcome": "pass", "run": run, **more})}})


def patched(cluster: Cluster) -> list[Any]:
    return [each.body for each in cluster.asked("PATCH", "/nodes/")]


def evicted(cluster: Cluster) -> list[str]:
    return [each.path.split("/")[-2] for each in cluster.asked("POST", "/eviction")]


def held(two: Nodes, name: str) -> Any:
    annotations = two.cluster.objects[f"/api/v1/nodes/{name}"]["metadata"].get("annotations", {})
    return annotations.get(ANNOTATION_HOLD)


# --- deferred ---


def test_busy_nodes_are_left_as_they_are(two: Nodes) -> None:
    two.cluster.tenant("job-0", "n0")
    two.cluster.tenant("job-1", "n1")
    code, lines = two.go()
    assert code == 0
    assert lines[0].startswith(
        "DEFERRED train: 2 nodes busy with other pods: n0 (default/job-0), n1 (default/job-1); last pass 3 h ago at "
        "0.0612 GB/s. No node's label was changed: n0, n1 open as before."
    )
    assert lines[1].startswith("Next: nothing now; once the nodes are idle, raise validation.run")
    assert two.labels() == ["pass", "pass"]
    assert patched(two.cluster) == []
    assert two.created() == []
    assert evicted(two.cluster) == []
    verdict = two.cluster.verdict()
    assert (verdict["outcome"], verdict["run"], verdict["run_settled"]) == ("deferred", 1, 1)
    assert verdict["nodes"] == ["n0", "n1"]
    assert verdict["busbw_gbytes_per_s"] is None


def test_one_busy_node_defers_the_group(two: Nodes) -> None:
    for number in range(5):
        two.cluster.tenant(f"job-{number}", "n1")
    two.cluster.objects["/api/v1/nodes/n0"]["metadata"]["labels"].pop(LABEL_VALIDATED)
    code, lines = two.go()
    assert code == 0
    assert "1 node busy with other pods: n1 (default/job-0, default/job-1 and 3 more)" in lines[0]
    assert "n1 open and n0 closed as before" in lines[0]
    assert two.labels() == [None, "pass"]


def test_many_busy_nodes_are_counted() -> None:
    found = [busy.Occupant(f"n{number}", "a", f"p{number}", "u") for number in range(40)]
    assert busy.told(found).endswith("n7 (a/p7), … (40 nodes)")


def test_a_first_deployment_on_busy_nodes_is_deferred_whatever_run_says(two: Nodes) -> None:
    del two.cluster.objects[VERDICT]
    two.gate["run"] = 5
    for name in two.names:
        two.cluster.node(name)
    two.cluster.tenant("job-0", "n0")
    code, lines = two.go()
    assert code == 0
    assert "; never validated. No node's label was changed: n0, n1 closed as before" in lines[0]
    assert evicted(two.cluster) == []
    assert two.cluster.verdict()["run_settled"] == 5, "the next raise is one"


def test_a_verdict_that_cannot_be_read_is_none(two: Nodes) -> None:
    two.gate["run"] = 2
    two.cluster.tenant("job-0", "n0")
    for text in ("", "{", "[]", '{"run": "1"}', '{"run": true}', "{}"):
        two.cluster.put(VERDICT, {"data": {"verdict.json": text}})
        assert two.go()[1][0].startswith("DEFERRED"), text
    assert evicted(two.cluster) == []


NOT_BUSY: dict[str, dict[str, Any]] = {
    "of a DaemonSet": {"metadata": {"ownerReferences": [{"kind": "DaemonSet", "controller": True}]}},
    "static": {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}},
    "ended": {"status": {"phase": "Succeeded"}},
    "the gate's own": {"metadata": {"namespace": NAMESPACE, "labels": {"app.kubernetes.io/name": "gpufabric-gate"}}},
    "the cluster's own": {"spec": {"priorityClassName": "system-cluster-critical"}},
    "not scheduled yet": {"spec": {"nodeName": None}},
}


@pytest.mark.parametrize("what", NOT_BUSY)
def test_a_pod_that_makes_nobody_busy(two: Nodes, what: str) -> None:
    pod = two.cluster.objects[two.cluster.tenant("x", "n0")]
    for part, values in NOT_BUSY[what].items():
        pod[part] = {**pod.get(part, {}), **values}
    assert two.go()[0] == 0
    assert two.cluster.verdict()["outcome"] == "pass"


def test_a_pod_that_slips_in_before_the_label_is_gone_is_not_disturbed(two: Nodes) -> None:
    def slip_in(cluster: Cluster, at: str) -> None:
        if at.endswith("/n1") and "/default/pods/late" not in str(list(cluster.objects)):
            cluster.tenant("late", "n1")

    two.cluster.at_patch = slip_in
    code, lines = two.go()
    assert code == 0
    assert lines[0].startswith("DEFERRED train: 1 node busy with other pods: n1 (default/late)")
    assert two.labels() == ["pass", "pass"], "open again"
    assert two.created() == []


# --- drained ---


def test_a_raised_run_drains_and_measures(two: Nodes) -> None:
    two.gate["run"] = 2
    two.cluster.objects["/api/v1/nodes/n0"]["spec"] = {"taints": [OTHER]}
    jobs = [two.cluster.tenant("job-0", "n0"), two.cluster.tenant("job-1", "n1")]
    outside = two.cluster.tenant("elsewhere", "other")
    seen: list[Any] = []
    two.cluster.at_patch = lambda cluster, _: seen.append((len(evicted(cluster)), jobs[0] in cluster.objects))
    code, lines = two.go()
    assert code == 0, lines
    assert lines[0].startswith("PASS train")
    assert seen[0] == seen[3] == (0, True), "both nodes are closed and tainted before anybody is evicted"
    assert evicted(two.cluster) == ["job-0", "job-1"]
    assert not [at for at in jobs if at in two.cluster.objects]
    assert outside in two.cluster.objects
    assert two.labels() == ["pass", "pass"]
    assert (two.cluster.taints("n0"), two.cluster.taints("n1")) == ([OTHER], [])
    assert held(two, "n0") is None
    assert two.cluster.verdict()["run_settled"] == 2
    assert any(text.startswith("draining: n0 (default/job-0), n1") for text in two.cluster.events())


def test_nodes_that_did_not_pass_keep_no_taint_of_the_drain(two: Nodes) -> None:
    two.gate["run"] = 2
    two.cluster.tenant("job-0", "n0")
    two.slow = ("n0", "n1")
    assert two.go()[0] == 2
    assert two.labels() == ["fail", "fail"]
    assert two.cluster.taints("n0") == two.cluster.taints("n1") == []


def as_before(two: Nodes) -> None:
    assert two.labels() == ["pass", "pass"]
    assert two.cluster.taints("n0") == two.cluster.taints("n1") == []
    assert held(two, "n0") is held(two, "n1") is None
    assert two.created() == []


def test_a_budget_that_refuses_is_honoured_and_the_raise_stays_one(two: Nodes) -> None:
    two.gate["run"] = 2
    two.gate["timeouts"]["nodes_s"] = 3  # one was too short for job-0's eviction on a busy machine
    two.cluster.budgets["job-1"] = BUDGET
    two.cluster.tenant("job-0", "n0")
    two.cluster.tenant("job-1", "n1")
    code, lines = two.go()
    assert code == 3
    assert lines[0].startswith(
        "UNKNOWN train: validation.run was raised, but n1 (default/job-1) did not end within 3 s: default/job-1 Cannot evict"
    )
    assert "stay closed" not in lines[0]
    as_before(two)
    assert len(evicted(two.cluster)) > 3, "it was tried again"
    verdict = two.cluster.verdict()
    assert (verdict["outcome"], verdict["run"], verdict["run_settled"]) == ("unknown", 2, 1)
    two.cluster.budgets.clear()
    assert two.go()[0] == 0, "the next up drains"
    assert two.cluster.verdict()["run_settled"] == 2


def test_a_raise_drains_once(two: Nodes) -> None:
    two.gate["run"] = 2
    assert two.go()[0] == 0
    two.cluster.tenant("job-0", "n0")
    code, lines = two.go()
    assert (code, lines[0][:8]) == (0, "DEFERRED")
    assert evicted(two.cluster) == []


def test_a_pod_that_nobody_would_start_again_is_waited_for(two: Nodes) -> None:
    two.gate["run"] = 2
    two.cluster.tenant("notebook", "n0", controller="")
    code, lines = two.go()
    assert code == 3
    assert "default/notebook has no controller that would start it again, so it is not evicted" in lines[0]
    assert evicted(two.cluster) == []
    as_before(two)


def test_a_pod_that_ends_is_given_its_time(two: Nodes) -> None:
    two.gate["run"] = 2
    at = two.cluster.tenant("job-0", "n0")
    two.cluster.objects[at]["metadata"]["deletionTimestamp"] = clock.now()
    code, lines = two.go()
    assert code == 3
    assert "default/job-0 is still ending" in lines[0]
    assert evicted(two.cluster) == []


def test_without_the_permission_it_says_so_and_opens_the_nodes_again(two: Nodes) -> None:
    two.gate["run"] = 2
    two.cluster.tenant("job-0", "n0")
    two.cluster.forbidden.add(("create", "eviction"))
    code, lines = two.go()
    assert code == 3
    assert "may not create pods/eviction" in lines[0]
    assert "stay closed" not in lines[0]
    as_before(two)


def test_sigterm_in_a_drain_opens_the_nodes_again(two: Nodes) -> None:
    two.gate["run"] = 2
    two.cluster.budgets["job-0"] = BUDGET
    two.cluster.tenant("job-0", "n0")

    def stop(cluster: Cluster, _: str) -> None:
        if len(cluster.asked("PATCH", "/nodes")) == 4:
            os.kill(os.getpid(), signal.SIGTERM)

    two.cluster.at_patch = stop
    code, lines = two.go()
    assert code == 3
    assert "was stopped" in lines[0]
    as_before(two)


def test_a_killed_drain_is_undone_by_a_later_run_that_may_not_drain(two: Nodes) -> None:
    note = {"why": "draining", "boot_id": "boot-1", "label": "pass", "tainted": False}
    for name in two.names:
        node = two.cluster.objects[f"/api/v1/nodes/{name}"]
        node["spec"] = {"taints": [HOLD_TAINT]}
        del node["metadata"]["labels"][LABEL_VALIDATED]
        node["metadata"]["annotations"][ANNOTATION_HOLD] = json.dumps(note)
    two.cluster.tenant("job-0", "n0")
    assert two.go()[0] == 0
    as_before(two)


def test_a_node_that_rebooted_in_a_drain_stays_closed(two: Nodes) -> None:
    two.gate["run"] = 2
    two.cluster.budgets["job-0"] = BUDGET
    two.cluster.tenant("job-0", "n0")

    def reboot(cluster: Cluster, _: str) -> None:
        cluster.objects["/api/v1/nodes/n1"]["status"]["nodeInfo"]["bootID"] = "boot-2"

    two.cluster.at_patch = reboot
    assert two.go()[0] == 3
    assert two.labels() == ["pass", None]


def test_a_drain_needs_what_the_account_may_do_and_no_more(two: Nodes) -> None:
    two.gate["run"] = 2
    two.cluster.tenant("job-0", "n0")
    two.go()
    of_cluster = {("/".join(each.path.split("/")[3:4]), each.method) for each in two.cluster.requests if "/nodes" in each.path}
    assert of_cluster == {("nodes", "GET"), ("nodes", "PATCH")}
    (reading,) = [each.path for each in two.cluster.requests if each.method == "GET" and "/configmaps/" in each.path]
    read = [rule for rule in permissions.coordinator_in_namespace("train-verdict") if "resourceNames" in rule]
    assert read == [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["train-verdict"], "verbs": ["get"]}]
    assert reading == VERDICT
    assert any("pods/eviction" in rule["resources"] for rule in permissions.coordinator_in_cluster(2))
    assert not any("pods/eviction" in rule["resources"] for rule in permissions.coordinator_in_cluster(1))


# --- the taint ---


def test_the_taint_closes_and_a_pass_opens(two: Nodes) -> None:
    two.gate["hold"] = "taint"
    closed: list[Any] = []
    two.at_pair = lambda cluster: closed.append((cluster.taints("n0"), cluster.taints("n1")))
    assert two.go()[0] == 0
    assert closed == [([HOLD_TAINT], [HOLD_TAINT])]
    assert two.cluster.taints("n0") == two.cluster.taints("n1") == []
    two.slow = ("n0",)
    assert two.go()[0] == 2
    assert two.cluster.taints("n0") == two.cluster.taints("n1") == [HOLD_TAINT], "closed nodes are tainted"
    two.slow = ()
    two.gate["hold"] = "label"
    assert two.go()[0] == 0
    assert two.cluster.taints("n0") == two.cluster.taints("n1") == [], "a pass opens, whatever closed it"


def test_outcomes_have_exit_codes() -> None:
    assert contract.EXIT_CODES.keys() == set(contract.OUTCOMES)
