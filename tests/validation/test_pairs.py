"""The search by pairs against a small API server whose nodes measure what the test says: Jobs, words, labels, verdict."""

import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpufabric.validation import gate_json, pairs
from gpufabric.validation.api import ApiError
from tests.validation.fake_api import NAMESPACE, RANK_LABELS, Cluster
from tests.validation.fake_nodes import JOBS, RUNNING, Nodes
from tests.validation.samples import GATE


@pytest.fixture
def four(tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(tmp_path)
    yield made
    made.cluster.close()


def test_a_slow_node_is_named(four: Nodes) -> None:
    four.slow = ["n3"]
    four.cluster.logs["judge"] = "the group's output"
    code, lines = four.go()
    assert code == 2
    assert lines[0].startswith(
        "FAIL train: all_reduce busbw 0.007 GB/s at 16 MiB over n0, n1, n2, n3; wanted at least 0.03 GB/s"
    )
    assert lines[1] == "Slow node: n3 (0.007 GB/s with n0, 0.007 with n2; the others 0.06)."
    assert lines[2].startswith("Next: compare NIC speed, error counters and cables of n3 with a good node's")
    assert len(lines) == 3
    assert four.labels() == ["unknown", "unknown", "unknown", "fail"]
    verdict = four.cluster.verdict()
    assert verdict["outcome"] == "fail"
    assert verdict["findings"] == [{"kind": "slow_node", "nodes": ["n3"], "busbw_gbytes_per_s": 0.007, "text": lines[1][:-1]}]
    assert verdict["pairs"] == [
        {"round": 1, "nodes": ["n0", "n3"], "outcome": "fail", "busbw_gbytes_per_s": 0.007},
        {"round": 1, "nodes": ["n1", "n2"], "outcome": "pass", "busbw_gbytes_per_s": 0.06},
        {"round": 2, "nodes": ["n0", "n1"], "outcome": "pass", "busbw_gbytes_per_s": 0.06},
        {"round": 2, "nodes": ["n3", "n2"], "outcome": "fail", "busbw_gbytes_per_s": 0.007},
    ]
    assert verdict["nodes"] == four.names
    data = four.cluster.objects[f"/api/v1/namespaces/{NAMESPACE}/configmaps/train-verdict"]["data"]
    assert data["output.txt"] == "the group's output"


def test_the_annotation_says_why(four: Nodes) -> None:
    four.slow = ["n3"]
    four.go()
    named, other = four.cluster.marks("n3")[1], four.cluster.marks("n1")[1]
    assert named is not None
    assert other is not None
    assert (named["outcome"], named["why"]) == ("fail", "Slow node: n3 (0.007 GB/s with n0, 0.007 with n2; the others 0.06)")
    assert (other["outcome"], other["why"]) == ("unknown", "not named: the group did not pass because of n3")


def test_progress_is_told_by_round(four: Nodes) -> None:
    four.slow = ["n3"]
    four.go()
    told = four.cluster.events()
    assert [text for text in told if "round" in text] == [
        "looking for the node, round 1: n0 with n3; n1 with n2",
        "round 1: 1 of 2 pairs are good; n0 with n3: 0.007 GB/s",
        "looking for the node, round 2: n0 with n1; n3 with n2",
        "round 2: 1 of 2 pairs are good; n3 with n2: 0.007 GB/s",
    ]


def test_two_slow_nodes_are_named(four: Nodes) -> None:
    four.slow = ["n0", "n3"]
    code, lines = four.go()
    assert code == 2
    assert [line[:13] for line in lines[1:3]] == ["Slow node: n0", "Slow node: n3"]
    assert four.labels() == ["fail", "unknown", "unknown", "fail"]


def test_a_uniformly_slow_fabric_names_nobody(four: Nodes) -> None:
    four.slow = four.names
    code, lines = four.go()
    assert code == 2
    assert lines[1] == "Slow fabric: all 6 pairs are slow (0.007 GB/s); nobody is singled out."
    assert lines[2].startswith("Next: look at what all nodes share")
    assert four.labels() == ["fail"] * 4
    note = four.cluster.marks("n0")[1]
    assert note is not None
    assert note["why"].startswith("Slow fabric")


def test_good_pairs_of_a_slow_group_decide_nothing(four: Nodes) -> None:
    four.together = 0.01
    code, lines = four.go()
    assert code == 2
    assert lines[1].startswith("Not decided: all 6 pairs are good, only the nodes together are not")
    assert four.labels() == ["fail"] * 4


def test_wrong_sums_are_traced_to_a_node(four: Nodes) -> None:
    four.wrong = ["n1"]
    code, lines = four.go()
    assert code == 2
    assert lines[0].startswith("FAIL train: wrong sums: 3 wrong elements at 16 MiB")
    assert lines[1] == "Wrong sums: n1 (with n2, n0)."
    assert lines[2].startswith("Next: data is corrupted")
    assert four.labels() == ["unknown", "fail", "unknown", "unknown"]


def test_a_hang_is_traced_and_stays_unknown(four: Nodes) -> None:
    four.hung = ["n2"]
    code, lines = four.go()
    assert code == 3
    assert lines[0].startswith("UNKNOWN train: the benchmark did not end within 120 s and was stopped")
    assert lines[1].startswith(
        "Not decided: n2 gives no result with n1, n3, which are good with others (the benchmark did not end"
    )
    assert four.labels() == ["unknown"] * 4
    assert four.cluster.verdict()["findings"][0]["nodes"] == ["n2"]


def test_what_no_node_causes_starts_no_search(four: Nodes) -> None:
    four.cluster.refuse_jobs = "exceeded quota: jobs"
    code, lines = four.go()
    assert code == 3
    assert len(lines) == 2
    assert four.measured == []


@pytest.mark.parametrize("count", [3, 5])
def test_odd_groups(tmp_path: Path, count: int) -> None:
    nodes = Nodes(tmp_path, count)
    nodes.slow = ["n2"]
    _, lines = nodes.go()
    nodes.cluster.close()
    assert lines[1].startswith("Slow node: n2 (0.007 GB/s with ")


def test_a_pass_runs_no_pairs(four: Nodes) -> None:
    code, lines = four.go()
    assert (code, len(lines)) == (0, 2)
    assert four.measured == []
    assert (four.cluster.verdict()["findings"], four.cluster.verdict()["pairs"]) == ([], [])


def test_pods_that_ran_elsewhere_prove_nothing_of_a_pair(four: Nodes) -> None:
    four.slow, four.misplaced = ["n3"], ["n2"]
    code, lines = four.go()
    assert code == 2
    assert lines[1].startswith("Slow node: n3 (0.007 GB/s with n0, 0.007 with n1")
    assert lines[2].startswith("Not decided: n2 gives no result with n1, n0, which are good with others (the ranks ran on")
    assert four.labels() == ["unknown", "unknown", "unknown", "fail"]


def test_a_node_that_reboots_during_the_search_is_no_proof(four: Nodes) -> None:
    four.slow = ["n3"]

    def reboot(cluster: Cluster) -> None:
        cluster.objects["/api/v1/nodes/n0"]["status"]["nodeInfo"]["bootID"] = "boot-9"

    four.at_pair = reboot
    _, lines = four.go()
    assert not lines[1].startswith("Slow node: n0")


def test_an_error_in_the_search_does_not_cost_the_verdict(four: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    four.slow = ["n3"]
    real = pairs.Pairs.measure

    def broken(self: pairs.Pairs, number: int, *rest: Any) -> None:
        if number == 2:
            raise ApiError("GET /pods", 500, "InternalError", "etcd is away")
        real(self, number, *rest)

    monkeypatch.setattr(pairs.Pairs, "measure", broken)
    code, lines = four.go()
    assert code == 2
    assert lines[0].startswith("FAIL train: all_reduce busbw 0.007 GB/s at 16 MiB")
    assert lines[1].startswith("Not decided: n0 (0.007 GB/s with n3), n3 (0.007 GB/s with n0)")
    assert lines[2].startswith("Not decided: the search for the node stopped: GET /pods: 500 InternalError: etcd is away")
    assert four.labels() == ["fail"] * 4


def test_a_pairs_job_is_the_groups_with_two_ranks_on_two_nodes(four: Nodes) -> None:
    four.slow = ["n3"]
    pod = four.gate["rank_job"]["spec"]["template"]["spec"]
    pod["affinity"] = {"podAntiAffinity": {"required": "one per node"}}
    pod["subdomain"] = "train-ranks"
    before = copy.deepcopy(four.gate["rank_job"])
    four.go()
    group, first, *_ = four.created()
    assert group["metadata"].pop("ownerReferences") == first["metadata"].pop("ownerReferences")
    assert group["spec"] == before["spec"]
    assert group["metadata"].items() >= before["metadata"].items()
    names = [job["metadata"]["name"] for job in four.created()]
    assert names == ["train-ranks", "train-ranks-1-0", "train-ranks-1-1", "train-ranks-2-0", "train-ranks-2-1"]
    assert first["metadata"]["labels"] == RANK_LABELS
    spec = first["spec"]
    assert (spec["completions"], spec["parallelism"], spec["activeDeadlineSeconds"]) == (2, 2, 540)
    assert spec["template"]["metadata"] == before["spec"]["template"]["metadata"]
    assert spec["template"]["spec"]["subdomain"] == "train-ranks"
    assert spec["template"]["spec"]["affinity"]["podAntiAffinity"] == {"required": "one per node"}
    for container in spec["template"]["spec"]["containers"]:
        env = {each["name"]: each["value"] for each in container["env"]}
        assert len(env) == len(container["env"])
        assert (env["GATE_NODES"], env["GATE_RANKS"], env["GATE_HOST_PREFIX"]) == ("2", "2", "train-ranks-1-0")
        assert (env["GATE_SERVICE"], env["GATE_BENCHMARK_SECONDS"]) == ("train-ranks", "120")


def test_a_long_start_is_shorter_for_a_pair() -> None:
    raw = copy.deepcopy(GATE) | {"nodes": 4}
    raw["timeouts"] = {"nodes_s": 900, "ranks_start_s": 900, "benchmark_s": 600, "rank_job_s": 2460}
    raw["expectation"]["ranks_per_node"] = 8
    for container in raw["rank_job"]["spec"]["template"]["spec"]["containers"]:
        container["env"] = [{"name": "GATE_DEADLINE_SECONDS", "value": "1530"}, {"name": "NCCL_DEBUG", "value": "INFO"}]
    gate = pairs.pair_gate(gate_json.parse(json.dumps(raw)), ("a", "b"), 3, 511)
    assert gate.names.rank_job == "train-ranks-3-511"
    assert (gate.nodes, gate.expectation.ranks, gate.timeouts.ranks_start_s, gate.timeouts.rank_job_s) == (2, 16, 180, 1020)
    assert gate.expectation.floor_busbw_gbytes_per_s == GATE["expectation"]["floor_busbw_gbytes_per_s"]
    (rank, _) = gate.rank_job["spec"]["template"]["spec"]["containers"]
    env = {each["name"]: each["value"] for each in rank["env"]}
    assert env["GATE_DEADLINE_SECONDS"] == "810"  # start, benchmark, and 30 s to say so
    assert (env["GATE_START_SECONDS"], env["GATE_RANKS"], env["NCCL_DEBUG"]) == ("180", "16", "INFO")
    assert gate.rank_job["spec"]["activeDeadlineSeconds"] == 1020
    assert gate_json.parse(json.dumps(gate.to_dict())) == gate


def test_given_affinities_stay() -> None:
    zone = {"key": "zone", "operator": "In", "values": ["a"]}
    rack = {"key": "rack", "operator": "Exists"}
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    given: dict[str, Any] = {
        key: {"nodeSelectorTerms": [{"matchExpressions": [zone]}, {"matchExpressions": [rack]}]},
        "preferred": [1],
    }
    bound_to = pairs.on_nodes(given, ("n0", "n1"))
    field = [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]
    assert bound_to["preferred"] == [1]
    assert len(bound_to[key]["nodeSelectorTerms"]) == 4
    assert bound_to[key]["nodeSelectorTerms"][0] == {"matchExpressions": [zone], "matchFields": field}
    assert len(given[key]["nodeSelectorTerms"]) == 2
    assert pairs.on_nodes({}, ("n0",)) == {key: {"nodeSelectorTerms": [{"matchFields": field}]}}


def test_leftover_pairs_of_a_killed_run_are_removed_first(four: Nodes) -> None:
    four.cluster.put(JOBS + "train-ranks-2-0", {"metadata": {"labels": RANK_LABELS}})
    four.cluster.pod(0, "n0", job="train-ranks-2-0", rank=RUNNING)
    code, _ = four.go()
    assert code == 0
    order = [(each.method, each.path.rsplit("/", 1)[-1]) for each in four.cluster.requests if "/jobs" in each.path]
    assert order.index(("DELETE", "train-ranks-2-0")) < order.index(("POST", "jobs"))


def test_many_findings_fit_into_the_message(tmp_path: Path) -> None:
    nodes = Nodes(tmp_path, 40)
    nodes.slow = [f"n{at}" for at in range(0, 14, 2)]
    began = time.monotonic()
    code, lines = nodes.go()
    nodes.cluster.close()
    assert code == 2
    assert len(lines) == 8
    assert lines[6] == f"In all 7 findings, in the verdict: {', '.join(sorted(nodes.slow))}."
    assert time.monotonic() - began < 20
    assert {each["nodes"][0] for each in nodes.cluster.verdict()["findings"]} == set(nodes.slow)
