"""The controller against a small API server: late nodes, reboots, deaths, the coordinator's right of way, the Lease."""

import copy
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpufabric.validation import contract, gate_json, permissions
from gpufabric.validation import controller_contract as words
from gpufabric.validation.api import Api, ApiError
from gpufabric.validation.controller import Controller, StartAnewError, keep, main
from gpufabric.validation.controller_lease import DURATION_SECONDS, Lease
from gpufabric.validation.controller_metrics import Metrics
from gpufabric.validation.inside import expectation
from gpufabric.validation.judge import judge
from gpufabric.validation.measurement import InsideResult, Measurement
from gpufabric.validation.prometheus import serve
from gpufabric.validation.ranks import Pace
from tests.validation.fake_api import JOB_LABEL, NAMESPACE, Cluster
from tests.validation.fake_nodes import ended
from tests.validation.printer import Sheet, healthy
from tests.validation.samples import GATE
from tests.validation.test_health import WISH
from tests.validation.test_health_gate import BAD
from tests.validation.test_inside import FAST
from tests.validation.test_inside import SLOW as LAME
from tests.validation.test_inside import WISH as INSIDE

QUICK = Pace(poll=0.01, nodes=0.0, log=0.0, create_grace=0.1, judge_grace=0.15, removal=2.0, overtime=0.1, health_grace=0.05)
GOOD, SLOW = healthy(), healthy(busbw=0.0068)
OWNER = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-controller-x", "uid": "pod-uid"}}
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/train-controller"
PASS = {contract.LABEL_VALIDATED: "pass"}
Json = dict[str, Any]


class Kubelets:
    """Runs every rank Job: a pod on each of its nodes, and the judge's word on `sheet` once `hold` is off."""

    def __init__(self, cluster: Cluster) -> None:
        self.sheet: Sheet = GOOD
        self.hold = False
        self.crash = False
        self.sick: tuple[str, ...] = ()
        self.slow_with = ""
        self.inside: Sheet | None = None
        self.ran: list[tuple[str, ...]] = []
        self.seen: set[str] = set()
        cluster.kubelet = self

    def __call__(self, cluster: Cluster) -> None:
        for at, job in list(cluster.objects.items()):
            if not at.startswith(f"{JOBS}/train-ranks") or "-reserve-" in at:
                continue
            names = nodes_of(job) or ["n0", "n1"]
            if job["metadata"]["uid"] not in self.seen:
                self.seen.add(job["metadata"]["uid"])
                self.ran.append(tuple(names))
            sheet = SLOW if self.slow_with in names else self.sheet
            text = judge(sheet.text(), WANTED, exit_code=0).to_json()
            if self.inside is not None:
                found = judge(self.inside.text(), expectation(INSIDE, "mpi", "all_reduce"), exit_code=0)
                result = InsideResult(found.outcome, found.reason, found.cause, found.busbw_gbytes_per_s)
                text = replace(found, inside=result).to_json()
            judged = {"running": {}} if self.hold or self.crash else ended(0, text)
            for index, node in enumerate(names):
                rank = ended(137) if self.crash and index == 1 else {"running": {}}
                said = ended(0, Measurement("unknown", "sick", health=BAD).to_json()) if node in self.sick else ended(0)
                cluster.pod(
                    index,
                    node,
                    job=job["metadata"]["name"],
                    rank=rank,
                    judge=judged if index == 0 and node not in self.sick else said,
                )


WANTED = gate_json.parse(json.dumps(GATE)).expectation


def nodes_of(job: Json) -> list[str]:
    """The nodes that a pair's Job is bound to."""
    affinity = job["spec"]["template"]["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
    return [field["values"][0] for term in terms for field in term.get("matchFields", [])]


class Kept:
    """A cluster of two nodes that passed, and the controller that keeps them."""

    def __init__(self, gate: Json | None = None, priority_class: str = "") -> None:
        self.cluster = Cluster()
        self.kubelets = Kubelets(self.cluster)
        self.gate = gate_json.parse(json.dumps(gate or GATE))
        self.metrics = Metrics("train", time.time, 60)
        self.controller = self.begun(priority_class)
        self.open("n0", "boot-1")
        self.open("n1", "boot-2")

    def begun(self, priority_class: str = "") -> Controller:
        api = Api(self.cluster.url, None, dict, sleep=lambda _: None)
        name, metrics = "train-controller", self.metrics
        return Controller(api, self.gate, name, OWNER, pace=QUICK, metrics=metrics, busy_s=0.0, priority_class=priority_class)

    def begin_anew(self, **changes: Any) -> None:
        """Another controller in its place, with another plan."""
        self.gate = replace(self.gate, **changes)
        self.controller = self.begun()

    def open(self, name: str, boot_id: str) -> None:
        self.cluster.node(name, boot_id=boot_id, labels=dict(PASS))
        record = {"outcome": "pass", "boot_id": boot_id, "fingerprint": "0f1e2d", "at": "2026-11-29T10:00:00Z"}
        self.note(name)[contract.ANNOTATION_VALIDATION] = json.dumps(record)

    def note(self, name: str) -> Json:
        annotations: Json = self.cluster.objects[f"/api/v1/nodes/{name}"]["metadata"].setdefault("annotations", {})
        return annotations

    def status(self, name: str, *, ready: bool, boot_id: str = "") -> None:
        """What the node's kubelet, or the node controller, says now."""
        status = self.cluster.objects[f"/api/v1/nodes/{name}"]["status"]
        status["conditions"][0]["status"] = "True" if ready else "Unknown"
        status["nodeInfo"]["bootID"] = boot_id or status["nodeInfo"]["bootID"]

    def look(self, rounds: int = 1) -> None:
        for _ in range(rounds):
            self.controller.look()

    def until(self, true: Callable[[], object], timeout_s: float = 20) -> None:
        end = time.monotonic() + timeout_s
        while not true():
            assert time.monotonic() < end, self.said()
            self.look()
            time.sleep(0.01)

    def settle(self) -> None:
        self.until(lambda: not self.controller.runs)

    def label(self, name: str) -> str | None:
        return self.cluster.marks(name)[0]

    def hold(self, name: str) -> Json:
        found: Json = json.loads(self.note(name).get(contract.ANNOTATION_HOLD, "{}"))
        return found

    def said(self, node: str = "") -> list[str]:
        events = [each.body for each in self.cluster.asked("POST", "/namespaces/default/events")]
        return [each["message"] for each in events if node in ("", each["involvedObject"]["name"])]

    def coordinator(self, **status: Any) -> None:
        labels = contract.labels("train", contract.CONTAINER_COORDINATOR)
        self.cluster.put(f"{JOBS}/train-gate-1", {"metadata": {"labels": labels}, "status": status})

    def writes(self) -> list[tuple[str, str]]:
        return [
            (each.method, each.path) for each in self.cluster.requests if each.method != "GET" and "/events" not in each.path
        ]


@pytest.fixture
def kept() -> Iterator[Kept]:
    made = Kept()
    yield made
    made.cluster.close()


def test_a_group_that_is_well_is_left_alone(kept: Kept) -> None:
    kept.look(3)
    assert kept.writes() == []
    assert not kept.cluster.asked("GET", "/api/v1/pods"), "pods of the whole cluster are read only when a node needs a partner"


def test_a_node_that_joins_is_measured_with_a_good_one_and_opened(kept: Kept) -> None:
    kept.cluster.node("n2", boot_id="boot-3")
    kept.look()
    kept.settle()
    label, note = kept.cluster.marks("n2")
    assert label == "pass"
    assert note is not None
    assert (note["outcome"], note["boot_id"], note["partner"], note["busbw_gbytes_per_s"]) == ("pass", "boot-3", "n0", 0.06)
    assert kept.kubelets.ran == [("n2", "n0")]
    (made,) = kept.cluster.asked("POST", "/jobs")
    assert made.body["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "train-controller-x", "uid": "pod-uid"}
    ]
    assert not [at for at in kept.cluster.objects if at.startswith(f"{JOBS}/")], "the nodes are free again"
    assert {path for method, path in kept.writes() if method == "PATCH"} == {"/api/v1/nodes/n2"}, "the partner is not touched"
    assert kept.said("n2") == ["validation with n0 begins", "pass: busbw 0.06 GB/s; open to jobs (measured with n0)"]
    before = kept.writes()
    kept.look(3)
    assert kept.writes() == before


def test_a_late_node_has_as_long_to_pull_the_image_as_the_group_had() -> None:
    gate = copy.deepcopy(GATE)
    gate["timeouts"] |= {"ranks_start_s": 900, "rank_job_s": 1980}
    kept = Kept(gate)
    try:
        kept.cluster.node("n2", boot_id="boot-3")
        kept.look()
        kept.settle()
        (made,) = kept.cluster.asked("POST", "/jobs")
        assert made.body["spec"]["activeDeadlineSeconds"] == 1980
    finally:
        kept.cluster.close()


def test_a_node_replaced_between_look_and_write_is_not_written(kept: Kept) -> None:
    seen = copy.deepcopy(kept.cluster.objects["/api/v1/nodes/n1"])
    kept.cluster.node("n1", boot_id="boot-9", labels={contract.LABEL_VALIDATED: "fail"})
    with pytest.raises(ApiError) as caught:
        kept.controller.marks.restore(seen)
    assert caught.value.status == 409
    assert kept.label("n1") == "fail"


def test_a_pair_that_fails_closes_the_late_node_and_never_its_partner(kept: Kept) -> None:
    kept.kubelets.sheet = SLOW
    kept.cluster.node("n2", boot_id="boot-3")
    kept.look()
    kept.settle()
    assert kept.kubelets.ran == [("n2", "n0"), ("n2", "n1")], "a second opinion, before it is called bad"
    assert kept.label("n2") == "fail"
    assert (kept.label("n0"), kept.label("n1")) == ("pass", "pass")
    assert "another partner decides" in kept.said("n2")[1]
    assert "(measured with n1); before, with n0: busbw 0.0068 GB/s" in kept.said("n2")[-1]
    assert json.loads(kept.note("n2")[contract.ANNOTATION_VALIDATION])["doubt"].startswith("failed with n0: busbw")
    (pair,) = json.loads(kept.note("n0")[words.ANNOTATION_FAILED_PAIRS])
    assert (pair["node"], pair["busbw_gbytes_per_s"]) == ("n2", 0.0068)
    assert "is below the floor" in json.loads(kept.note("n2")[contract.ANNOTATION_VALIDATION])["why"]
    assert kept.said("n0")[0].endswith("this node stays open, it passed before")
    kept.look(3)
    assert len(kept.kubelets.ran) == 2, "a node that failed is not measured again by itself"
    del kept.note("n2")[contract.ANNOTATION_VALIDATION]  # repaired, says its owner
    kept.kubelets.sheet = GOOD
    kept.look()
    kept.settle()
    assert kept.label("n2") == "pass"


def test_a_second_opinion_opens_a_node_that_failed_once(kept: Kept) -> None:
    kept.kubelets.slow_with = "n0"
    kept.cluster.node("n2", boot_id="boot-3")
    kept.until(lambda: kept.controller.doubts)
    assert kept.label("n2") is None, "not called bad yet, and not open"
    kept.settle()
    assert kept.kubelets.ran == [("n2", "n0"), ("n2", "n1")]
    assert kept.label("n2") == "pass"
    assert kept.controller.doubts == {}
    assert json.loads(kept.note("n0")[words.ANNOTATION_FAILED_PAIRS])[0]["node"] == "n2"


def test_without_another_partner_the_first_failure_stands(kept: Kept) -> None:
    kept.status("n1", ready=False)
    kept.look()
    kept.kubelets.sheet = SLOW
    kept.cluster.node("n2", boot_id="boot-3")
    kept.look()
    kept.settle()
    assert kept.kubelets.ran == [("n2", "n0")]
    assert kept.label("n2") == "fail"


def test_a_reboot_takes_a_doubt_away(kept: Kept) -> None:
    kept.kubelets.sheet = SLOW
    kept.cluster.node("n2", boot_id="boot-3")
    kept.until(lambda: kept.controller.doubts)
    kept.status("n2", ready=True, boot_id="boot-4")
    kept.until(lambda: kept.label("n2") == "fail")
    assert len(kept.kubelets.ran) >= 3, "two partners in the new boot"


OTHER_TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}


def test_the_taint_is_set_where_a_node_is_closed_and_taken_away_where_it_is_opened() -> None:
    kept = Kept({**copy.deepcopy(GATE), "hold": "taint"})
    try:
        kept.cluster.node("n2", boot_id="boot-3")
        kept.cluster.objects["/api/v1/nodes/n2"]["spec"] = {"taints": [OTHER_TAINT]}
        kept.look()
        assert kept.cluster.taints("n2") == [OTHER_TAINT, contract.HOLD_TAINT], "it joined without"
        assert kept.kubelets.ran == [], "closed before it is measured"
        kept.until(lambda: kept.label("n2") == "pass")
        assert kept.cluster.taints("n2") == [OTHER_TAINT]
        kept.status("n1", ready=False)
        kept.look()
        assert kept.cluster.taints("n1") == [contract.HOLD_TAINT]
        kept.status("n1", ready=True)
        kept.look()
        assert (kept.label("n1"), kept.cluster.taints("n1")) == ("pass", [])
        kept.cluster.objects["/api/v1/nodes/n1"]["spec"] = {"taints": [contract.HOLD_TAINT]}
        kept.look()
        assert kept.cluster.taints("n1") == [], "an open node has none, whoever left it"
        kept.cluster.node("n3", ready=False)
        kept.look()
        assert kept.cluster.taints("n3") == [contract.HOLD_TAINT]
        kept.begin_anew(hold="label")
        kept.look()
        assert (kept.label("n3"), kept.cluster.taints("n3")) == (None, []), "the hold is the label alone now"
    finally:
        kept.cluster.close()


def test_a_taint_that_is_refused_is_tried_at_the_next_look() -> None:
    kept = Kept({**copy.deepcopy(GATE), "hold": "taint"})
    try:
        kept.cluster.node("n2", boot_id="boot-3")
        kept.cluster.forbidden.add(("patch", "nodes"))
        kept.look()
        assert kept.cluster.taints("n2") == []
        kept.cluster.forbidden.clear()
        kept.look()
        assert kept.cluster.taints("n2") == [contract.HOLD_TAINT]
    finally:
        kept.cluster.close()


GPUS = {"nvidia.com/gpu": "8"}
PRIORITY = "gpufabric-local-train-controller"


@pytest.fixture
def gpus() -> Iterator[Kept]:
    """Both nodes are busy with jobs that hold their GPUs."""
    gate = copy.deepcopy(GATE)
    pod = gate["rank_job"]["spec"]["template"]["spec"]
    pod["containers"][0]["resources"] = {"limits": dict(GPUS)}
    pod["tolerations"] = [dict(contract.HOLD_TOLERATION), {"key": "nvidia.com/gpu", "operator": "Exists"}]
    made = Kept(gate, PRIORITY)
    made.cluster.node("n2", boot_id="boot-3")
    for name in ("n0", "n1", "n2"):
        made.cluster.objects[f"/api/v1/nodes/{name}"]["status"]["allocatable"] = dict(GPUS)
    made.cluster.tenant("a", "n0")
    made.cluster.tenant("b", "n1")
    yield made
    made.cluster.close()


def placeholders(kept: Kept) -> list[Json]:
    return [job for at, job in kept.cluster.objects.items() if at.startswith(f"{JOBS}/train-ranks-reserve-")]


def test_the_next_partner_that_frees_up_is_reserved(gpus: Kept) -> None:
    gpus.look(3)
    (job,) = placeholders(gpus)
    pod = job["spec"]["template"]["spec"]
    assert pod["priorityClassName"] == PRIORITY
    assert pod["containers"][0]["resources"]["limits"] == GPUS
    assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists"}], "closed nodes are none of its"
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    passed = {"key": contract.LABEL_VALIDATED, "operator": "In", "values": ["pass"]}
    assert terms == [{"matchExpressions": [passed], "matchFields": []}]
    kept_off = gpus.controller.reservations.job("x", ["n1"])["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = kept_off["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchFields"] == [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]
    assert job["metadata"]["ownerReferences"][0]["uid"] == "pod-uid"
    assert "ports" not in pod["containers"][0]
    assert gpus.label("n2") is None
    gpus.controller.busy_s = 3600.0  # what is known of all pods is old
    del gpus.cluster.objects["/api/v1/namespaces/default/pods/b"]
    gpus.cluster.pod(0, "n1", job="train-ranks-reserve-0")  # the scheduler takes it before any job
    gpus.kubelets.hold = True
    gpus.until(lambda: gpus.kubelets.ran)
    assert gpus.kubelets.ran == [("n2", "n1")]
    assert placeholders(gpus) == []
    assert gpus.label("n1") is None, "closed to everybody while it is measured with"
    assert gpus.cluster.taints("n1") == [contract.HOLD_TAINT]
    assert gpus.hold("n1")["why"] == words.WHY_RESERVED
    ranks = next(job for at, job in gpus.cluster.objects.items() if at.startswith(f"{JOBS}/train-ranks-0-"))
    assert ranks["spec"]["template"]["spec"]["priorityClassName"] == PRIORITY
    gpus.kubelets.hold = False
    gpus.until(lambda: gpus.label("n1") == "pass")
    assert gpus.label("n2") == "pass"
    assert gpus.cluster.taints("n1") == []
    assert gpus.hold("n1") == {}


def test_a_reservation_that_nobody_needs_is_given_back(gpus: Kept) -> None:
    gpus.look()
    assert len(placeholders(gpus)) == 1
    del gpus.cluster.objects["/api/v1/nodes/n2"]
    gpus.look()
    assert placeholders(gpus) == []


def test_a_reserved_node_that_is_not_idle_is_given_back_and_kept_off(gpus: Kept) -> None:
    gpus.look()
    gpus.cluster.pod(0, "n1", job="train-ranks-reserve-0")  # its devices were free, but something else is there
    gpus.look()
    (job,) = placeholders(gpus)
    affinity = job["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchFields"] == [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]
    assert gpus.label("n1") == "pass"
    assert gpus.kubelets.ran == []


def test_a_placed_reservation_that_nobody_needs_is_given_back(gpus: Kept) -> None:
    gpus.look()
    gpus.cluster.pod(0, "n1", job="train-ranks-reserve-0")
    del gpus.cluster.objects["/api/v1/nodes/n2"]
    gpus.look()
    assert placeholders(gpus) == []
    assert gpus.label("n1") == "pass"


def test_a_coordinator_gets_the_devices_of_placeholders(gpus: Kept) -> None:
    gpus.look()
    gpus.coordinator()
    gpus.look()
    assert placeholders(gpus) == []


def test_a_controller_that_starts_anew_gives_a_reserved_partner_back(gpus: Kept) -> None:
    gpus.look()
    gpus.cluster.pod(0, "n1", job="train-ranks-reserve-0")
    del gpus.cluster.objects["/api/v1/namespaces/default/pods/b"]
    gpus.kubelets.hold = True
    gpus.until(lambda: gpus.kubelets.ran)
    gpus.controller.clean()
    gpus.controller.runs.clear()  # as a new process
    gpus.look()
    assert gpus.label("n1") == "pass"
    assert gpus.cluster.taints("n1") == []


def test_nothing_is_reserved_where_pods_do_not_exclude_each_other() -> None:
    kept = Kept(priority_class=PRIORITY)
    try:
        kept.cluster.node("n2", boot_id="boot-3")
        kept.cluster.tenant("a", "n0")
        kept.cluster.tenant("b", "n1")
        kept.look(2)
        assert placeholders(kept) == []
        assert kept.hold("n2")["outcome"] == "pending"
    finally:
        kept.cluster.close()


def test_a_run_without_a_result_is_unknown(kept: Kept) -> None:
    kept.kubelets.crash = True
    kept.cluster.node("n2", boot_id="boot-3")
    kept.look()
    kept.settle()
    assert kept.label("n2") == "unknown"
    assert "ended with exit code 137" in kept.said("n2")[-1]
    kept.look(2)
    assert len(kept.kubelets.ran) == 1


def test_a_late_node_that_is_sick_is_named_and_its_partner_stays_open() -> None:
    kept = Kept({**copy.deepcopy(GATE), "health": WISH.to_dict()})
    try:
        kept.kubelets.sick, kept.kubelets.hold = ("n2",), True
        kept.cluster.node("n2", boot_id="boot-3")
        kept.look()
        kept.settle()
        assert (kept.label("n2"), kept.label("n0")) == ("fail", "pass")
        assert "sick before any network run: n2 (nvlink, ecc)" in kept.said("n2")[-1]
        assert words.ANNOTATION_FAILED_PAIRS in kept.note("n0")
    finally:
        kept.cluster.close()


def test_a_partner_that_is_found_sick_is_closed_and_the_late_node_is_measured_with_another() -> None:
    kept = Kept({**copy.deepcopy(GATE), "health": WISH.to_dict()})
    try:
        kept.kubelets.sick, kept.kubelets.hold = ("n0",), True
        kept.cluster.node("n2", boot_id="boot-3")
        kept.until(lambda: kept.label("n0") == "fail")
        assert kept.label("n2") is None, "nothing is known of it"
        assert "its partner n0 is not fit" in kept.said("n2")[1]
        assert "sick before any network run: n0 (nvlink, ecc)" in kept.said("n0")[-1]
        assert json.loads(kept.note("n0")[contract.ANNOTATION_VALIDATION])["outcome"] == "fail"
        kept.kubelets.hold = False
        kept.settle()
        assert kept.kubelets.ran[:2] == [("n2", "n0"), ("n2", "n1")]
        assert (kept.label("n0"), kept.label("n2")) == ("fail", "pass")
    finally:
        kept.cluster.close()


def test_where_both_are_sick_the_partner_stays_open() -> None:
    """What all nodes have is rather the wish's doing, and late nodes must not close the open ones, one after the other."""
    kept = Kept({**copy.deepcopy(GATE), "health": WISH.to_dict()})
    try:
        kept.kubelets.sick, kept.kubelets.hold = ("n0", "n1", "n2"), True
        kept.cluster.node("n2", boot_id="boot-3")
        kept.look()
        kept.settle()
        assert (kept.label("n0"), kept.label("n1"), kept.label("n2")) == ("pass", "pass", "fail")
    finally:
        kept.cluster.close()


def test_a_partner_that_passed_under_another_wish_stays_open_when_it_is_found_sick() -> None:
    kept = Kept({**copy.deepcopy(GATE), "health": WISH.to_dict()})
    try:
        for name in ("n0", "n1"):
            record = json.loads(kept.note(name)[contract.ANNOTATION_VALIDATION]) | {"fingerprint": "another"}
            kept.note(name)[contract.ANNOTATION_VALIDATION] = json.dumps(record)
        kept.kubelets.sick, kept.kubelets.hold = ("n0",), True
        kept.cluster.node("n2", boot_id="boot-3")
        kept.look()
        kept.settle()
        assert (kept.label("n2"), kept.label("n0")) == ("unknown", "pass")
        assert words.ANNOTATION_FAILED_PAIRS in kept.note("n0")
    finally:
        kept.cluster.close()


def test_a_node_that_dies_is_closed_at_once_and_comes_back_untested_in_the_same_boot(kept: Kept) -> None:
    kept.status("n1", ready=False)
    kept.look()
    assert kept.label("n1") is None
    assert (kept.hold("n1")["why"], kept.hold("n1")["boot_id"]) == ("not-ready", "boot-2")
    assert kept.said("n1") == ["closed to new jobs: it is not Ready"]
    kept.look(2)
    kept.status("n1", ready=True)
    kept.look()
    assert kept.label("n1") == "pass"
    assert kept.hold("n1") == {}
    assert kept.kubelets.ran == []


def test_a_node_that_reboots_is_measured_again(kept: Kept) -> None:
    kept.status("n1", ready=False)
    kept.look()
    kept.status("n1", ready=True, boot_id="boot-7")
    kept.look()
    assert kept.label("n1") is None
    kept.settle()
    label, note = kept.cluster.marks("n1")
    assert (label, note and note["boot_id"]) == ("pass", "boot-7")
    assert kept.kubelets.ran == [("n1", "n0")]


def test_a_node_that_is_replaced_under_its_name_is_measured(kept: Kept) -> None:
    del kept.cluster.objects["/api/v1/nodes/n1"]
    kept.look()
    kept.cluster.node("n1", boot_id="boot-8", labels=dict(PASS))  # as a node pool that labels its nodes would do
    kept.look()
    assert kept.label("n1") is None
    kept.until(lambda: kept.label("n1") == "pass")
    assert kept.kubelets.ran == [("n1", "n0")]


def test_a_reboot_during_the_run_takes_its_result_away(kept: Kept) -> None:
    kept.kubelets.hold = True
    kept.cluster.node("n2", boot_id="boot-3")
    kept.until(lambda: kept.kubelets.ran)
    kept.status("n2", ready=True, boot_id="boot-4")
    kept.kubelets.hold = False
    kept.until(lambda: kept.label("n2") == "pass")
    note = kept.cluster.marks("n2")[1]
    assert note is not None
    assert note["boot_id"] == "boot-4"
    assert len(kept.kubelets.ran) == 2


def test_busy_nodes_are_left_alone_and_the_next_free_partner_is_taken(kept: Kept) -> None:
    pods = "/api/v1/namespaces/ml/pods"

    def pod(name: str, node: str, **meta: Any) -> None:
        body = {"metadata": {"namespace": "ml", "labels": {JOB_LABEL: name}, **meta}, "spec": {"nodeName": node}}
        kept.cluster.put(f"{pods}/{name}", {**body, "status": {"phase": "Running"}})

    pod("a", "n0")
    pod("b", "n1")
    pod("daemon", "n1", ownerReferences=[{"kind": "DaemonSet"}])
    kept.cluster.node("n2", boot_id="boot-3")
    kept.look(3)
    assert kept.kubelets.ran == []
    assert kept.hold("n2")["outcome"] == "pending"
    assert len(kept.said("n2")) == 1, "said once"
    assert "pending: no idle node that is known good" in kept.said("n2")[0]
    assert 'gpufabric_node_validated{group="train",node="n2",outcome="pending"} 1' in kept.metrics.text()
    del kept.cluster.objects[f"{pods}/b"]
    kept.look()
    kept.settle()
    assert kept.kubelets.ran == [("n2", "n1")]
    assert kept.label("n2") == "pass"
    assert kept.hold("n2") == {}


def test_a_job_that_came_a_moment_ago_is_seen_before_a_run_begins(kept: Kept) -> None:
    kept.controller.busy_s = 3600.0  # what is known of all pods is old
    kept.controller.busy_at = time.monotonic()
    body = {"metadata": {"namespace": "ml", "labels": {JOB_LABEL: "a"}}, "spec": {"nodeName": "n0"}}
    kept.cluster.put("/api/v1/namespaces/ml/pods/a", {**body, "status": {"phase": "Running"}})
    kept.cluster.node("n2", boot_id="boot-3")
    kept.look()
    assert kept.kubelets.ran == []
    assert not kept.controller.runs
    kept.look()
    kept.settle()
    assert kept.kubelets.ran == [("n2", "n1")]


def test_a_job_that_comes_to_the_partner_makes_a_bad_result_worthless(kept: Kept) -> None:
    kept.kubelets.sheet, kept.kubelets.hold = SLOW, True
    kept.cluster.node("n2", boot_id="boot-3")
    kept.until(lambda: kept.kubelets.ran)
    at = "/api/v1/namespaces/ml/pods/a"
    body = {"metadata": {"namespace": "ml", "labels": {JOB_LABEL: "a"}}, "spec": {"nodeName": "n0"}}
    kept.cluster.put(at, {**body, "status": {"phase": "Running"}})
    kept.kubelets.hold = False
    kept.until(lambda: len(kept.kubelets.ran) == 2)
    assert kept.kubelets.ran[1] == ("n2", "n1")
    assert kept.metrics.runs["pair", "interrupted"] == 1


def test_a_coordinator_has_the_right_of_way(kept: Kept) -> None:
    kept.coordinator()
    kept.cluster.node("n2", boot_id="boot-3")
    kept.status("n1", ready=False)
    kept.look(3)
    assert kept.writes() == []
    kept.coordinator(conditions=[{"type": "Complete", "status": "True"}])
    kept.look()
    kept.settle()
    assert kept.label("n2") == "pass"
    assert kept.label("n1") is None


def test_a_coordinator_that_starts_meanwhile_ends_the_run(kept: Kept) -> None:
    kept.kubelets.hold = True
    kept.cluster.node("n2", boot_id="boot-3")
    kept.until(lambda: kept.kubelets.ran)
    kept.coordinator()
    kept.until(lambda: not kept.controller.runs)
    assert kept.label("n2") is None
    assert not [at for at in kept.cluster.objects if at.startswith(f"{JOBS}/train-ranks")]
    assert kept.metrics.runs["pair", "interrupted"] == 1


def test_a_group_that_was_pending_passes_when_all_are_there() -> None:
    kept = Kept({**copy.deepcopy(GATE), "wait_for_nodes": False})
    try:
        kept.cluster.node("n0")
        del kept.cluster.objects["/api/v1/nodes/n1"]
        kept.look(2)
        assert kept.hold("n0")["reason"].startswith("1 of 2 nodes can run a rank and none is known good")
        kept.cluster.node("n1", boot_id="boot-2")
        kept.look()
        kept.settle()
        assert [kept.label(name) for name in ("n0", "n1")] == ["pass", "pass"]
        assert kept.hold("n0") == {}
        verdict = kept.cluster.verdict()
        assert (verdict["outcome"], verdict["nodes"]) == ("pass", ["n0", "n1"])
        assert kept.metrics.runs["group", "pass"] == 1
    finally:
        kept.cluster.close()


def test_a_device_plugin_that_has_not_spoken_is_waited_for() -> None:
    gate = copy.deepcopy(GATE)
    gate["rank_job"]["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "8"}}
    kept = Kept(gate)
    try:
        for name in ("n0", "n1"):
            kept.cluster.objects[f"/api/v1/nodes/{name}"]["status"]["allocatable"] = {"nvidia.com/gpu": "8"}
        kept.cluster.node("n2", boot_id="boot-3")
        kept.look(2)
        assert kept.said("n2") == ["pending: it has 0 of 8 nvidia.com/gpu allocatable"]
        kept.cluster.objects["/api/v1/nodes/n2"]["status"]["allocatable"] = {"nvidia.com/gpu": "8"}
        kept.look()
        kept.settle()
        assert kept.label("n2") == "pass"
    finally:
        kept.cluster.close()


def test_what_a_controller_before_left_is_removed(kept: Kept) -> None:
    labels = contract.labels("train", "ranks")
    kept.cluster.put(f"{JOBS}/train-ranks-0-0", {"metadata": {"labels": labels}, "spec": {"template": {"spec": {}}}})
    kept.controller.clean()
    assert not [at for at in kept.cluster.objects if at.startswith(f"{JOBS}/train-ranks")]


def test_an_error_of_the_api_server_ends_a_look_and_not_the_loop(kept: Kept, capfd: pytest.CaptureFixture[str]) -> None:
    kept.cluster.forbidden = {("list", "nodes")}
    lease = lease_of(kept, "a")
    keep(kept.controller, lease, kept.metrics, poll_s=0.0, rounds=2)
    assert capfd.readouterr().out.count("this look failed") == 2
    kept.cluster.forbidden = set()
    kept.status("n1", ready=False)
    keep(kept.controller, lease, kept.metrics, poll_s=0.0, rounds=1)
    assert kept.label("n1") is None


def test_a_node_that_cannot_be_written_does_not_keep_others_waiting(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    real = kept.controller.marks.close

    def close(node: Json, why: str, reason: str) -> None:
        if node["metadata"]["name"] == "n0":
            raise ApiError("PATCH n0", 422, "Invalid", "somebody else's policy")
        real(node, why, reason)

    monkeypatch.setattr(kept.controller.marks, "close", close)
    kept.status("n0", ready=False)
    kept.status("n1", ready=False)
    kept.look()
    assert [kept.label(name) for name in ("n0", "n1")] == ["pass", None]


def lease_of(kept: Kept, holder: str, clock: Callable[[], float] = time.monotonic) -> Lease:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": holder, "uid": "pod-uid"}
    return Lease(kept.controller.api, NAMESPACE, "train-controller", holder=holder, owner=owner, clock=clock)


def test_one_leads(kept: Kept) -> None:
    now = [0.0]
    first, second = (lease_of(kept, name, lambda: now[0]) for name in ("a", "b"))
    assert first.hold()
    assert not second.hold()
    now[0] += DURATION_SECONDS / 2
    assert first.hold(), "renewed"
    assert not second.hold()
    now[0] += DURATION_SECONDS + 1
    assert second.hold(), "the first one was silent for too long"
    assert not first.hold()
    assert kept.cluster.objects[LEASE]["spec"]["holderIdentity"] == "b"
    second.release()
    assert first.hold(), "released, so that nobody waits"


def test_of_two_that_take_a_free_lease_one_leads(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = lease_of(kept, "a"), lease_of(kept, "b")
    assert first.hold()
    first.release()
    stale = copy.deepcopy(kept.cluster.objects[LEASE])
    assert first.hold()
    monkeypatch.setattr(second.api, "find", lambda _: stale)  # read before the first one wrote
    assert not second.hold()


def test_a_leader_that_lost_its_lease_writes_nothing_more(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    real = kept.controller.look

    def look() -> None:
        real()
        kept.cluster.objects[LEASE]["spec"]["holderIdentity"] = "b"
        kept.status("n1", ready=False)

    monkeypatch.setattr(kept.controller, "look", look)
    with pytest.raises(StartAnewError):
        keep(kept.controller, lease_of(kept, "a"), kept.metrics, poll_s=0.0, rounds=2)
    assert kept.label("n1") == "pass"


def test_the_lease_is_looked_at_before_each_write_to_a_node(kept: Kept) -> None:
    """A look may take longer than the lease lasts: who lost it in the middle of one writes nothing more."""
    now = [0.0]
    lease = lease_of(kept, "a", lambda: now[0])
    kept.controller.api.before_write = lease.check_write
    closed: list[str] = []

    def slow(cluster: Cluster, at: str) -> None:
        if at.startswith("/api/v1/nodes/") and not closed:
            closed.append(at)
            now[0] += DURATION_SECONDS + 1
            cluster.objects[LEASE]["spec"] = {"holderIdentity": "b", "leaseDurationSeconds": DURATION_SECONDS}

    kept.cluster.at_patch = slow
    kept.status("n0", ready=False)
    kept.status("n1", ready=False)
    with pytest.raises(StartAnewError, match="/api/v1/nodes/n1 was not written"):
        keep(kept.controller, lease, kept.metrics, poll_s=0.0, rounds=1)
    assert [kept.label(name) for name in ("n0", "n1")] == [None, "pass"]


def test_a_long_look_renews_the_lease(kept: Kept) -> None:
    now = [0.0]
    lease = lease_of(kept, "a", lambda: now[0])
    kept.controller.api.before_write = lease.check_write

    def slow(_: Cluster, at: str) -> None:
        now[0] += DURATION_SECONDS / 2 if at.startswith("/api/v1/nodes/") else 0

    kept.cluster.at_patch = slow
    kept.status("n0", ready=False)
    kept.status("n1", ready=False)
    keep(kept.controller, lease, kept.metrics, poll_s=0.0, rounds=1)
    assert [kept.label(name) for name in ("n0", "n1")] == [None, None]
    assert len(kept.cluster.asked("PATCH", "/leases/")) >= 1


def test_new_programs_are_started_when_nothing_is_measured(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.kubelets.hold = True
    kept.cluster.node("n2", boot_id="boot-3")
    real, looks = kept.controller.look, [0]

    def look() -> None:
        looks[0] += 1
        kept.kubelets.hold = looks[0] < 4
        real()

    monkeypatch.setattr(kept.controller, "look", look)
    with pytest.raises(StartAnewError, match="the programs have changed"):
        keep(kept.controller, lease_of(kept, "a"), kept.metrics, poll_s=0.01, changed=lambda: True, rounds=2000)
    assert looks[0] >= 4
    assert kept.label("n2") == "pass", "the run came to its end"


def test_without_a_plan_it_says_so_and_ends(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main({"GATE_ROOT": str(tmp_path)}) == 1
    assert "the controller cannot start: " in capfd.readouterr().err
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "gate.json").write_text(json.dumps({**GATE, "nodes": 0}))
    assert main({"GATE_ROOT": str(tmp_path)}) == 1
    assert "nodes: 0 must be at least 1" in capfd.readouterr().err


def test_metrics_and_health_over_http(kept: Kept) -> None:
    kept.cluster.node("n2", boot_id="boot-3")
    kept.look()
    kept.settle()
    now = [time.time()]
    metrics = Metrics("train", lambda: now[0], 60)
    server = serve(0, metrics.text, metrics.problem)
    url = f"http://127.0.0.1:{server.server_address[1]}"

    def get(at: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"{url}{at}", timeout=10) as answer:  # noqa: S310  # our own server
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    try:
        odd = replace(kept.metrics.states[0], name='odd"name\\')
        metrics.look([*kept.metrics.states, odd, replace(odd, name="of others", member=False)], 1)
        metrics.ran("pair", "pass")
        status, text = get("/metrics")
        assert status == 200
        for line in (
            'gpufabric_node_validated{group="train",node="n0",outcome="pass"} 1',
            'gpufabric_node_validated{group="train",node="odd\\"name\\\\",outcome="pass"} 1',
            'gpufabric_validation_busbw_gbytes_per_s{group="train",node="n2"} 0.06',
            'gpufabric_validation_last_run_timestamp_seconds{group="train",node="n0"} 1795946400',
            'gpufabric_validation_runs_total{group="train",kind="pair",outcome="pass"} 1',
            'gpufabric_validation_running{group="train"} 1',
        ):
            assert line in text.splitlines(), text
        assert "of others" not in text
        assert get("/healthz") == (200, "ok\n")
        assert get("/")[0] == 404
        now[0] += 61
        assert get("/healthz")[0] == 503
    finally:
        server.shutdown()
        server.server_close()


def test_the_permissions_in_the_contract_are_those_in_use() -> None:
    kept = Kept({**copy.deepcopy(GATE), "wait_for_nodes": False})
    try:
        keep(kept.controller, lease_of(kept, "a"), kept.metrics, poll_s=0.0, rounds=2)
        kept.cluster.node("n2", boot_id="boot-3")
        kept.look()
        kept.settle()
        for name in ("n0", "n1", "n2"):
            kept.cluster.objects.pop(f"/api/v1/nodes/{name}")
        kept.cluster.node("n0")
        kept.cluster.node("n1")
        kept.look()
        kept.settle()
        keep(kept.controller, lease_of(kept, "a"), kept.metrics, poll_s=0.0, rounds=1)
        used = {use(each.method, each.path) for each in kept.cluster.requests}
    finally:
        kept.cluster.close()
    groups = (*permissions.CONTROLLER_IN_NAMESPACE, *permissions.CONTROLLER_EVENTS)
    granted = {(verb, each, True) for rule in groups for each in rule["resources"] for verb in rule["verbs"]}
    cluster = permissions.CONTROLLER_IN_CLUSTER
    granted |= {(verb, each, False) for rule in cluster for each in rule["resources"] for verb in rule["verbs"]}
    assert used <= granted
    # apply needs create; a node is read by listing, and `get` is what kubectl users expect beside it
    assert granted - used == {("create", "configmaps", True), ("get", "nodes", False)}


def use(method: str, path: str) -> tuple[str, str, bool]:
    names = path.strip("/").split("/")
    kinds = ("nodes", "pods", "jobs", "configmaps", "events", "leases", "log")
    resource = next(each for each in reversed(names) if each in kinds)
    listed = names[-1] == resource and resource != "log"
    verb = {"GET": "list" if listed else "get", "POST": "create", "PATCH": "patch", "DELETE": "delete"}[method]
    return verb, "pods/log" if resource == "log" else resource, "namespaces" in names


# --- a node alone (single_node_ok) ---

ALONE = {**GATE, "inside": INSIDE.to_dict(), "single_node_ok": True}


def busy(kept: Kept, *names: str) -> None:
    for name in names:
        pod = {"metadata": {"namespace": "jobs", "labels": {JOB_LABEL: "user"}}, "status": {"phase": "Running"}}
        kept.cluster.put(f"/api/v1/namespaces/jobs/pods/job-{name}", {**pod, "spec": {"nodeName": name}})


@pytest.mark.parametrize(("sheet", "label"), [(FAST, "pass"), (LAME, "fail")])
def test_a_late_node_is_opened_alone_and_its_annotation_says_so(sheet: Sheet, label: str) -> None:
    kept = Kept(ALONE)
    try:
        kept.kubelets.inside = sheet
        busy(kept, "n0", "n1")
        kept.cluster.node("n2", boot_id="boot-3")
        kept.look()
        kept.settle()
        assert kept.kubelets.ran == [("n2",)]
        assert kept.label("n2") == label
        record = json.loads(kept.note("n2")[contract.ANNOTATION_VALIDATION])
        assert record["rests_on"] == "single node"
        assert record["boot_id"] == "boot-3"
        assert "partner" not in record
        if label == "pass":
            assert (record["busbw_gbytes_per_s"], record["floor_busbw_gbytes_per_s"]) == (0.361, 0.324)
        assert any("measured alone: no idle partner is there" in text for text in kept.said())
        assert 'kind="node",outcome="' + label in kept.metrics.text()
    finally:
        kept.cluster.close()


@pytest.mark.parametrize(("slow_with", "label"), [("", "pass"), ("n2", "fail")])
def test_a_node_that_was_opened_alone_is_measured_when_a_partner_is_free(slow_with: str, label: str) -> None:
    kept = Kept(ALONE)
    try:
        kept.kubelets.inside = FAST
        busy(kept, "n0", "n1")
        kept.cluster.node("n2", boot_id="boot-3")
        kept.until(lambda: kept.label("n2") == "pass")
        kept.kubelets.inside, kept.kubelets.slow_with = None, slow_with
        for name in ("n0", "n1"):
            kept.cluster.objects.pop(f"/api/v1/namespaces/jobs/pods/job-{name}")
        kept.until(lambda: "partner" in json.loads(kept.note("n2")[contract.ANNOTATION_VALIDATION]))
        assert kept.kubelets.ran == [("n2",), ("n2", "n0"), *([("n2", "n1")] if slow_with else [])]
        assert kept.label("n2") == label
        record = json.loads(kept.note("n2")[contract.ANNOTATION_VALIDATION])
        assert contract.RESTS_ON not in record
        if slow_with:
            assert any(text.startswith("closed to new jobs: opened alone, and then failed with n0") for text in kept.said())
        ran = list(kept.kubelets.ran)
        kept.look(3)
        assert kept.kubelets.ran == ran, "that was all"
    finally:
        kept.cluster.close()


def test_without_the_wish_it_waits_for_a_partner() -> None:
    kept = Kept({**ALONE, "single_node_ok": False})
    try:
        busy(kept, "n0", "n1")
        kept.cluster.node("n2", boot_id="boot-3")
        kept.look(3)
        assert (kept.kubelets.ran, kept.label("n2")) == ([], None)
    finally:
        kept.cluster.close()
