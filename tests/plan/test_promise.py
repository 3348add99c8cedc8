"""The central promise: what a job gets from the profile is what was validated, setting for setting."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gpufabric.plan import GroupPlan, PodProfile
from gpufabric.plan.benchmark import Benchmark
from gpufabric.plan.gate import GateParts, plan_gate
from gpufabric.validation import contract
from tests.plan.test_gate import EXPLICIT, SPECS, every_spec
from tests.spec.specs import H100, kubernetes_spec, plan_of

BARE = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "acme/train:1"}]}}}


def fabric_part(template: Mapping[str, Any], container: str) -> dict[str, Any]:
    """All that decides how a container meets the fabric: devices, environment, memory, rights; and the pod's tolerations."""
    pod = template["spec"]
    (found,) = [each for each in pod["containers"] if each["name"] == container]
    return {
        "resources": found.get("resources", {}),
        "environment": {each["name"]: each["value"] for each in found.get("env", [])},
        "mounts": {each["name"]: each for each in found.get("volumeMounts", [])},
        "volumes": {each["name"]: each for each in pod.get("volumes", [])},
        "rights": found.get("securityContext", {}),
        "pod rights": {key: pod[key] for key in ("hostNetwork", "hostIPC", "hostPID", "runtimeClassName") if key in pod},
        "tolerations": pod.get("tolerations", []),
        "annotations": template.get("metadata", {}).get("annotations", {}),
        "sidecars": pod.get("initContainers", []),
        "claims": (pod.get("resourceClaims", []), found.get("resources", {}).get("claims", [])),
    }


# What the gate adds for itself: how its programs meet, where they lie, NCCL's own report, and the right to closed nodes.
GATES_OWN_VOLUMES = {"shared", "key", "programs", "plan"}


def is_gates_own(variable: str) -> bool:
    return variable.startswith("GATE_") or variable in ("PYTHONPATH", "NCCL_DEBUG")


def gate_part(group: GroupPlan) -> dict[str, Any]:
    part = fabric_part(group.gate.gate.rank_job["spec"]["template"], contract.CONTAINER_RANK)
    part["environment"] = {key: value for key, value in part["environment"].items() if not is_gates_own(key)}
    for kind in ("mounts", "volumes"):
        part[kind] = {key: value for key, value in part[kind].items() if key not in GATES_OWN_VOLUMES}
    part["tolerations"] = [each for each in part["tolerations"] if each != contract.HOLD_TOLERATION]
    return part


def job_part(profile: PodProfile) -> dict[str, Any]:
    return fabric_part(profile.apply_to(copy.deepcopy(BARE))["template"], "main")


@every_spec
def test_ranks_may_stand_on_closed_nodes_and_jobs_may_not(spec: dict[str, Any]) -> None:
    group = plan_of({**spec, "validation": {**spec["validation"], "hold": "taint"}}).groups[0]
    ranks = group.gate.gate.rank_job["spec"]["template"]["spec"]["tolerations"]
    assert contract.HOLD_TOLERATION in ranks
    assert not [each for each in job_part(group.profile)["tolerations"] if each.get("key") in (None, contract.TAINT_HOLD)]
    assert group.gate.gate.hold == "taint"
    assert group.gate.trigger == plan_of(spec).groups[0].gate.trigger, "how nodes are closed is not what is validated"


@every_spec
def test_the_gate_measures_with_exactly_what_a_job_gets(spec: dict[str, Any]) -> None:
    group = plan_of(spec).groups[0]
    assert gate_part(group) == job_part(group.profile)


def test_what_that_is_for_eight_h100_on_infiniband() -> None:
    assert job_part(plan_of(H100).groups[0].profile) == {
        "resources": {"limits": {"nvidia.com/gpu": "8", "rdma/ib": "1"}},
        "environment": {"NCCL_SOCKET_IFNAME": "eth0", "NCCL_IB_HCA": "ibp"},
        "mounts": {"dshm": {"name": "dshm", "mountPath": "/dev/shm"}},  # noqa: S108 - the pod's
        "volumes": {"dshm": {"name": "dshm", "emptyDir": {"medium": "Memory"}}},
        "rights": {"capabilities": {"add": ["IPC_LOCK"]}},
        "pod rights": {},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "annotations": {},
        "sidecars": [],
        "claims": ([], []),
    }


def test_what_that_is_for_the_other_fabrics() -> None:
    found = {name: job_part(plan_of(spec).groups[0].profile) for name, spec in SPECS.items()}
    assert {name: part["resources"] for name, part in found.items()} == {
        "cpu": {},
        "h100": {"limits": {"nvidia.com/gpu": "8", "rdma/ib": "1"}},
        "together": {"limits": {"nvidia.com/gpu": "8", "nvidia.com/rdma_ib": "8"}},
        "explicit": {"limits": {"nvidia.com/gpu": "8", "rdma/hca": "8", "acme.example/link": "1"}},
        "standard": {"limits": {"nvidia.com/gpu": "8"}},
    }
    assert {name: part["environment"] for name, part in found.items()} == {
        "cpu": {},
        "h100": {"NCCL_SOCKET_IFNAME": "eth0", "NCCL_IB_HCA": "ibp"},
        "together": {"NCCL_SOCKET_IFNAME": "eth0", "NCCL_IB_HCA": "mlx5"},
        "explicit": {
            "NCCL_SOCKET_IFNAME": "bond0",
            "NCCL_IB_HCA": "mlx5_0,mlx5_1",
            "NCCL_IB_GID_INDEX": "3",
            "NCCL_ALGO": "Ring",
            "ACME": "x y",
        },
        "standard": {"NCCL_SOCKET_IFNAME": "ens1"},
    }
    assert found["standard"]["rights"] == found["cpu"]["rights"] == {}, "no RDMA, no right to pin memory"


@every_spec
def test_the_environment_reaches_every_rank(spec: dict[str, Any]) -> None:
    """mpirun starts the ranks of other nodes over ssh, which hands no environment on: it is named in GATE_FORWARD."""
    group = plan_of(spec).groups[0]
    (rank,) = [each for each in group.gate.gate.rank_job["spec"]["template"]["spec"]["containers"] if each["name"] == "rank"]
    env = {each["name"]: each["value"] for each in rank["env"]}
    forwarded = set(env.get(contract.ENV_FORWARD, "").split())
    expected = {*group.profile.fabric.environment, "NCCL_DEBUG"} if group.accelerators.count else set()
    assert forwarded == expected
    assert forwarded <= env.keys()


def test_an_annotation_of_the_fabric_reaches_gate_and_job_alike() -> None:
    """Whoever wrote them: fabrics of GKE have some in the table (test_fabric_pod)."""
    group = plan_of(H100).groups[0]
    fabric = replace(
        group.profile.fabric, annotations={"k8s.v1.cni.cncf.io/networks": "rdma"}, tolerations=({"key": "a"}, {"key": "b"})
    )
    profile = PodProfile(fabric, group.profile.admission)
    parts = _parts_of(group, profile)
    gate = plan_gate(parts, "dev", group.gate.names)
    part = fabric_part(gate.gate.rank_job["spec"]["template"], "rank")
    assert part["annotations"] == job_part(profile)["annotations"] == {"k8s.v1.cni.cncf.io/networks": "rdma"}
    assert job_part(profile)["tolerations"] == [{"key": "a"}, {"key": "b"}]
    assert part["tolerations"] == [{"key": "a"}, {"key": "b"}, contract.HOLD_TOLERATION]


def _parts_of(group: GroupPlan, profile: PodProfile) -> GateParts:
    spec = kubernetes_spec(H100)
    expected = group.gate.gate.expectation
    return GateParts(
        group=spec.node_groups[0],
        fabric=group.fabric,
        profile=profile,
        benchmark=Benchmark(
            backend=expected.backend,
            base="all_reduce_perf",
            command="all_reduce_perf",
            on_gpus=True,
            ranks_per_node=expected.ranks_per_node,
            min_bytes=expected.min_bytes,
            max_bytes=expected.max_bytes,
            factor=expected.factor,
            transport_regex=expected.transport_regex,
        ),
        floor=group.floor,
        validation=spec.validation,
        groups=[group.node_selector],
    )


def test_only_admission_tells_a_job_from_the_gate() -> None:
    """The gate runs on nodes that have not passed; a job only on those that have. Both on the group's nodes."""
    group = plan_of(EXPLICIT).groups[0]
    job = group.profile.apply_to(BARE)["template"]["spec"]
    gate = group.gate.gate.rank_job["spec"]["template"]["spec"]
    assert job["nodeSelector"] == gate["nodeSelector"] == {"pool": "train"}
    assert job["affinity"] == {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "gpufabric.dev/validated", "operator": "In", "values": ["pass"]}]}
                ]
            }
        }
    }
    assert gate["affinity"].keys() == {"podAntiAffinity"}


@pytest.mark.parametrize("name", list(SPECS))
def test_the_profile_as_data_says_the_same(name: str) -> None:
    profile = plan_of(SPECS[name]).groups[0].profile
    data, part = profile.to_dict(), job_part(profile)
    assert data["fabric"]["resources"] == part["resources"].get("limits", {})
    assert data["fabric"]["environment"] == part["environment"]
    assert data["fabric"]["capabilities"] == part["rights"].get("capabilities", {}).get("add", [])
    assert data["fabric"]["sharedMemory"] is bool(part["volumes"])
    assert data["fabric"]["tolerations"] == part["tolerations"]
    assert data["fabric"]["annotations"] == part["annotations"]
    assert data["admission"] == {"nodeSelector": {"pool": "train", "gpufabric.dev/validated": "pass"}}
