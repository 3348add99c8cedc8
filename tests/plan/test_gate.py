"""The gate as objects: the contract file, its trigger, and what the two Jobs hold."""

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from gpufabric.plan import StackPlan, resolve_gate
from gpufabric.spec import GateSpec, SpecError
from gpufabric.validation import contract, gate_json
from tests.spec.specs import CPU, GONE, H100, changed, plan_of

TOGETHER = changed(H100, group__fabric="infiniband-together")
EXPLICIT = changed(
    H100,
    group__fabric=GONE,
    group__profile={
        "resources": {"rdma/hca": 8, "acme.example/link": 1},
        "hcas": ["mlx5_0", "mlx5_1"],
        "interface": "bond0",
        "environment": {"NCCL_IB_GID_INDEX": "3", "ACME": "x y", "NCCL_ALGO": "Ring"},
        "image": "ghcr.io/acme/nccl-tests:1",
    },
    validation__floor_gbytes_per_s=250,
)
STANDARD = changed(
    H100,
    group__fabric="ethernet-runpod",
    group__network_tier="standard",
    validation__floor_gbytes_per_s=1,
    validation__max_size="1G",
)
SPECS = {"cpu": CPU, "h100": H100, "together": TOGETHER, "explicit": EXPLICIT, "standard": STANDARD}
every_spec = pytest.mark.parametrize("spec", list(SPECS.values()), ids=list(SPECS))


def text_of(plan: StackPlan) -> str:
    """Everything in a plan, in the order in which it stands there."""
    return json.dumps(dataclasses.asdict(plan), default=dict)


def reversed_keys(value: Any) -> Any:
    """The same value with every mapping written in the other order."""
    if isinstance(value, dict):
        return {key: reversed_keys(each) for key, each in reversed(value.items())}
    return [reversed_keys(each) for each in value] if isinstance(value, list) else value


def containers(job: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {each["name"]: each for each in job["spec"]["template"]["spec"]["containers"]}


def env_of(container: Mapping[str, Any]) -> dict[str, str]:
    env = {each["name"]: each["value"] for each in container["env"]}
    assert len(env) == len(container["env"]), "a variable is set twice"
    return env


@every_spec
def test_gate_json_reads_back_to_an_equal_gate(spec: dict[str, Any]) -> None:
    gate = plan_of(spec).groups[0].gate.gate
    assert gate_json.parse(json.dumps(gate.to_dict())) == gate


@every_spec
def test_the_same_spec_gives_the_same_plan(spec: dict[str, Any]) -> None:
    assert text_of(plan_of(spec)) == text_of(plan_of(changed(spec)))


def test_the_plan_does_not_depend_on_the_process() -> None:
    program = (
        "import hashlib; from tests.plan.test_gate import SPECS, plan_of, text_of;"
        "print(hashlib.sha256(''.join(text_of(plan_of(spec)) for spec in SPECS.values()).encode()).hexdigest())"
    )
    ran = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(ran) == 1


@every_spec
def test_the_order_of_keys_means_nothing(spec: dict[str, Any]) -> None:
    one, other = plan_of(spec).groups[0].gate, plan_of(reversed_keys(spec)).groups[0].gate
    assert one.trigger == other.trigger
    assert json.dumps(one.gate.to_dict(), sort_keys=True) == json.dumps(other.gate.to_dict(), sort_keys=True)


def trigger(spec: dict[str, Any], stack: str = "dev") -> str:
    return plan_of(spec, stack).groups[0].gate.trigger


NOTHING_NEW: dict[str, dict[str, Any]] = {
    "a default written out": {"validation__run": 1, "validation__wait": True, "orchestrator": "kubernetes"},
    "the default tier": {"group__network_tier": "best"},
    "the default size": {"validation__max_size": "8G"},
    "the same size in other words": {"validation__max_size": "8192M"},
    "how the cluster is reached": {"cluster": {"existing": {"context": "other", "kubeconfig": "/k"}}},
    "a whole number as a float": {"group__nodes": 2.0},
}
SOMETHING_NEW: dict[str, dict[str, Any]] = {
    "the run counter": {"validation__run": 2},
    "the floor": {"validation__floor_gbytes_per_s": 301},
    "the gate's image": {"validation__image": "ghcr.io/acme/gate:1.3"},
    "the number of nodes": {"group__nodes": 1},
    "the nodes": {"group__node_selector": {"pool": "train", "rack": "1"}},
    "the accelerators": {"group__accelerators": "H200:8"},
    "the fabric": {"group__fabric": "infiniband-together"},
    "the size": {"validation__max_size": "4G", "validation__floor_gbytes_per_s": 300},
    "waiting": {"validation__wait": False},
    "a deadline": {"validation__benchmark_minutes": 11},
    "the group's name": {"group__name": "other"},
}


@pytest.mark.parametrize("case", NOTHING_NEW)
def test_nothing_new_is_not_validated_again(case: str) -> None:
    assert trigger(changed(H100, **NOTHING_NEW[case])) == trigger(H100)


def test_everything_new_is_validated_again_and_each_change_by_itself() -> None:
    """The accelerators too, where another machine asks for the same resources and is held to the same floor."""
    found = {case: trigger(changed(H100, **changes)) for case, changes in SOMETHING_NEW.items()}
    assert len({trigger(H100), *found.values()}) == len(found) + 1
    assert trigger(H100, "dev") != trigger(H100, "prod")


@pytest.mark.parametrize("key", ["resources", "hcas", "interface", "environment", "image"])
def test_every_key_of_a_profile_is_part_of_what_is_validated(key: str) -> None:
    other = {
        "resources": {"rdma/hca": 4, "acme.example/link": 1},
        "hcas": ["mlx5_1", "mlx5_0"],
        "interface": "eth1",
        "environment": {"NCCL_ALGO": "Tree"},
        "image": "ghcr.io/acme/nccl-tests:2",
    }[key]
    profile = {**EXPLICIT["node_groups"][0]["profile"], key: other}
    assert trigger(changed(EXPLICIT, group__profile=profile)) != trigger(EXPLICIT)


def test_the_order_of_groups_means_nothing() -> None:
    first = H100["node_groups"][0]
    second = {**first, "name": "other", "node_selector": {"pool": "other"}}
    one = {group.name: group.gate.trigger for group in plan_of({**H100, "node_groups": [first, second]}).groups}
    other = {group.name: group.gate.trigger for group in plan_of({**H100, "node_groups": [second, first]}).groups}
    assert one == other


def test_another_group_beside_it_is_no_reason_to_validate_a_group_again() -> None:
    first = H100["node_groups"][0]
    second = {**first, "name": "other", "node_selector": {"pool": "other"}}
    alone = plan_of(H100).groups[0].gate
    beside = plan_of({**H100, "node_groups": [first, second]}).groups[0].gate
    assert alone.trigger == beside.trigger
    assert alone.coordinator_job_spec != beside.coordinator_job_spec  # it keeps off the other's nodes, too


def test_a_raised_run_changes_the_coordinators_name_and_not_what_it_validates() -> None:
    """The old Job of that name would stand for the new wish: only another name removes it."""
    first, second = plan_of(H100).groups[0].gate, plan_of(changed(H100, validation__run=2)).groups[0].gate
    assert first.gate.fingerprint == second.gate.fingerprint
    assert first.gate.names.coordinator_job != second.gate.names.coordinator_job
    assert first.coordinator_job_spec == second.coordinator_job_spec


def test_the_sweep_of_nccl_tests() -> None:
    gate = plan_of(H100).groups[0].gate.gate
    expected = gate.expectation
    assert (expected.backend, expected.ranks, expected.ranks_per_node) == ("nccl", 16, 8)
    assert (expected.min_bytes, expected.max_bytes, expected.factor) == (8 << 20, 8 << 30, 2)
    assert (expected.floor_busbw_gbytes_per_s, expected.transport_regex) == (300, r"Using network (IB|IBext_v\d+)")
    assert expected.floor_source.startswith("from the baseline table: derived, 8x400G InfiniBand")
    env = env_of(containers(gate.rank_job)["rank"])
    assert env[contract.ENV_BENCHMARK] == "all_reduce_perf -b 8388608 -e 8589934592 -f 2 -g 1 -c 1 -n 20 -w 5"
    assert env["NCCL_DEBUG"] == "INFO", "without it no line proves the transport"
    assert gate.stand_ins == ()


def test_a_small_size_is_the_only_one() -> None:
    gate = plan_of(changed(H100, validation__max_size="1K", validation__floor_gbytes_per_s=0.1)).groups[0].gate.gate
    assert (gate.expectation.min_bytes, gate.expectation.max_bytes) == (1024, 1024)


def test_the_sweep_between_cpus() -> None:
    gate = plan_of(CPU).groups[0].gate.gate
    expected = gate.expectation
    assert (expected.backend, expected.ranks, expected.ranks_per_node) == ("mpi", 2, 1)
    assert (expected.min_bytes, expected.max_bytes, expected.factor) == (1024, 64 << 20, 4)
    assert (expected.floor_busbw_gbytes_per_s, expected.floor_source) == (0.1, "given in the spec")
    assert expected.transport_regex is None
    assert contract.ENV_BENCHMARK not in env_of(containers(gate.rank_job)["rank"]), "the gate's own benchmark"
    assert gate.stand_ins == ("CPU processes over TCP stand in for GPUs: this measures the nodes' network, no GPU and no RDMA",)


def test_what_the_user_says_is_not_real_stands_in_every_verdict() -> None:
    said = ["the nodes are virtual"]
    assert plan_of(changed(H100, validation__stand_ins=said)).groups[0].gate.gate.stand_ins == tuple(said)
    of_cpus = plan_of(changed(CPU, validation__stand_ins=said)).groups[0].gate.gate.stand_ins
    assert of_cpus[0].startswith("CPU processes over TCP stand in")
    assert of_cpus[1:] == tuple(said)


def test_the_ranks_run_in_the_image_of_the_profile_and_judge_and_coordinator_in_the_gates() -> None:
    plan = (
        plan_of(changed(EXPLICIT, group__profile={"hcas": ["mlx5"], "image": "ghcr.io/coreweave/nccl-tests:13.0"}))
        .groups[0]
        .gate
    )
    found = {name: each["image"] for name, each in containers(plan.gate.rank_job).items()}
    assert found == {"rank": "ghcr.io/coreweave/nccl-tests:13.0", "judge": "ghcr.io/acme/gate:1.2"}
    assert plan.gate.image == "ghcr.io/coreweave/nccl-tests:13.0"
    command = env_of(containers(plan.gate.rank_job)["rank"])[contract.ENV_BENCHMARK]
    assert command.startswith("/opt/nccl_tests/build/all_reduce_perf -b"), "where that image keeps it"
    coordinator = plan.coordinator_job_spec["template"]["spec"]["containers"]
    assert [each["image"] for each in coordinator] == ["ghcr.io/acme/gate:1.2"]


@every_spec
def test_no_rank_holds_a_token_and_no_helper_a_privilege(spec: dict[str, Any]) -> None:
    gate = plan_of(spec).groups[0].gate
    pod = gate.gate.rank_job["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod
    assert not pod.keys() & {"hostNetwork", "hostPID", "hostIPC"}
    helpers = [containers(gate.gate.rank_job)["judge"], *gate.coordinator_job_spec["template"]["spec"]["containers"]]
    for helper in helpers:
        assert helper["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    rank = containers(gate.gate.rank_job)["rank"]
    assert not rank.get("securityContext", {}).get("privileged")


def test_the_namespace_allows_what_the_ranks_need_and_no_more() -> None:
    assert {name: plan_of(spec).groups[0].gate.pod_security for name, spec in SPECS.items()} == {
        "cpu": "baseline",
        "standard": "baseline",
        "h100": "privileged",  # IPC_LOCK
        "together": "privileged",
        "explicit": "privileged",
    }


@every_spec
def test_every_mount_has_its_volume_and_the_key_never_sees_a_disk(spec: dict[str, Any]) -> None:
    gate = plan_of(spec).groups[0].gate
    for pod in (gate.gate.rank_job["spec"]["template"]["spec"], gate.coordinator_job_spec["template"]["spec"]):
        volumes = {each["name"]: each for each in pod["volumes"]}
        assert len(volumes) == len(pod["volumes"])
        mounted = {mount["name"] for each in pod["containers"] for mount in each["volumeMounts"]}
        assert mounted == volumes.keys()
    rank_volumes = {each["name"]: each for each in gate.gate.rank_job["spec"]["template"]["spec"]["volumes"]}
    assert rank_volumes["key"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "1Mi"}
    assert [each["name"] for each in containers(gate.gate.rank_job)["judge"]["volumeMounts"]] == ["shared", "programs", "plan"]


@every_spec
def test_the_coordinator_starts_again_after_a_drain_and_never_after_a_verdict(spec: dict[str, Any]) -> None:
    job = plan_of(spec).groups[0].gate.coordinator_job_spec
    assert (job["completions"], job["backoffLimit"]) == (1, 0)
    taken_away, killed = job["podFailurePolicy"]["rules"]
    assert taken_away == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    assert killed["onExitCodes"] == {"containerName": "coordinator", "operator": "In", "values": [137, 255]}
    assert not set(killed["onExitCodes"]["values"]) & set(contract.EXIT_CODES.values()), "an outcome is never run again"
    assert job["template"]["spec"]["restartPolicy"] == "Never", "podFailurePolicy demands it"


@every_spec
def test_the_rank_job_ends_with_rank_0_and_is_never_tried_again(spec: dict[str, Any]) -> None:
    job = plan_of(spec).groups[0].gate.gate.rank_job["spec"]
    assert (job["completionMode"], job["backoffLimit"]) == ("Indexed", 0)
    assert job["successPolicy"] == {"rules": [{"succeededIndexes": "0"}]}, "rank 0 ends the others' sshd"
    assert job["template"]["spec"]["restartPolicy"] == "Never"


def test_a_gate_alone_speaks_of_its_own_keys() -> None:
    raw = {"node_group": {**H100["node_groups"][0], "accelerators": "H1OO:8"}, "validation": {"backend": "torch"}}
    with pytest.raises(SpecError) as caught:
        resolve_gate(GateSpec.parse(raw), "dev")
    assert [problem.path for problem in caught.value.problems] == [
        "node_group.accelerators",
        "validation.image",
        "validation.rank_image",
    ]


def test_a_gate_in_a_given_namespace() -> None:
    wish = GateSpec.parse({"node_group": H100["node_groups"][0], "validation": H100["validation"], "namespace": "ml"})
    gate = resolve_gate(wish, "dev").gate
    assert gate.gate.namespace == gate.gate.rank_job["metadata"]["namespace"] == "ml"


@pytest.mark.parametrize("namespace", ["", "ML", "a.b", "-a", "x" * 64])
def test_what_is_no_namespace(namespace: str) -> None:
    raw = {"node_group": H100["node_groups"][0], "validation": H100["validation"], "namespace": namespace}
    with pytest.raises(SpecError) as caught:
        GateSpec.parse(raw)
    assert str(caught.value).endswith("cannot be a namespace; write the name that kubectl get namespaces shows")
