"""The gate of one node group as objects: contract file, rank Job, coordinator Job. Plain dicts, reviewed as golden plans."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpufabric.plan.also import AlsoRun
from gpufabric.plan.benchmark import COLLECTIVE, Benchmark
from gpufabric.plan.deadlines import Deadlines, gate_deadlines
from gpufabric.plan.fabric import GroupFabric
from gpufabric.plan.health import dcgm_environment
from gpufabric.plan.images import rank_image
from gpufabric.plan.inside import InsideRun
from gpufabric.plan.merge import Merge
from gpufabric.plan.model import Floor, GatePlan
from gpufabric.plan.names import GateNames
from gpufabric.plan.placement import outside_groups
from gpufabric.plan.profile import PodProfile, merge_fabric
from gpufabric.spec import NodeGroupSpec, ValidationSpec
from gpufabric.validation import contract, gate_json
from gpufabric.validation.health_wish import Health

_NOBODY = 65532  # the user id of "nonroot" in distroless images; any id without rights does
UNPRIVILEGED: Mapping[str, Any] = {
    "runAsNonRoot": True,
    "runAsUser": _NOBODY,
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
SMALL: Mapping[str, Any] = {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateParts:
    """What has been decided for the group before its gate is laid out. ``groups``: selectors of every group of the stack."""

    group: NodeGroupSpec
    fabric: GroupFabric
    profile: PodProfile
    benchmark: Benchmark
    floor: Floor
    validation: ValidationSpec
    groups: Sequence[Mapping[str, str]]
    health: Health | None = None
    inside: InsideRun | None = None
    also: AlsoRun | None = None


def plan_gate(parts: GateParts, stack: str, names: GateNames) -> GatePlan:
    """Lay out the gate. Pure: the same wish gives the same plan, byte for byte."""
    stages_s = (parts.inside.wish.seconds if parts.inside else 0) + (parts.health.dcgm_more_s if parts.health else 0)
    deadlines = gate_deadlines(parts.validation, parts.group.nodes, stages_s)
    image = rank_image(parts.fabric, parts.validation)
    draft = gate_json.Gate(
        stack=stack,
        group=parts.group.name,
        namespace=names.namespace,
        nodes=parts.group.nodes,
        node_selector=parts.group.node_selector,
        wait_for_nodes=parts.validation.wait,
        run=parts.validation.run,
        fingerprint="",
        image=image,
        expectation=_expectation(parts),
        names=gate_json.Names(coordinator_job=names.account, rank_job=names.ranks, service=names.ranks, verdict=names.verdict),
        timeouts=gate_json.Timeouts(
            nodes_s=deadlines.nodes_s,
            ranks_start_s=deadlines.ranks_start_s,
            benchmark_s=deadlines.benchmark_s,
            rank_job_s=deadlines.rank_job_s,
        ),
        rank_job=_rank_job(parts, names, deadlines, image),
        stand_ins=_stand_ins(parts),
        health=parts.health,
        hold=parts.validation.hold,
        inside=parts.inside.wish if parts.inside else None,
        single_node_ok=parts.validation.single_node_ok,
    )
    coordinator = _coordinator_job_spec(parts, names, deadlines)
    # Not the advice of node health: a release that words it anew must not run every passed gate again. Nor what holds for
    # late nodes only, nor how nodes are closed.
    advised = parts.health.without_advice() if parts.health else None
    inside = parts.inside.wish.without_words() if parts.inside else None
    decisive = replace(draft, run=0, single_node_ok=False, hold="label", health=advised, inside=inside)
    fingerprint = digest([parts.group.accelerators, decisive.to_dict(), _without_place(coordinator)])
    trigger = digest([fingerprint, parts.validation.run])
    # The same wish finds its own Job again after a killed `up`; another wish gets another name, which removes the first.
    own_names = replace(draft.names, coordinator_job=f"{names.account}-{trigger[:8]}")
    return GatePlan(
        names=names,
        deadlines=deadlines,
        gate=replace(draft, fingerprint=fingerprint, names=own_names),
        coordinator_job_spec=coordinator,
        pod_security=parts.profile.fabric.pod_security,
        claim=parts.profile.fabric.parts.claim,
        trigger=trigger,
    )


def _without_place(job_spec: Mapping[str, Any]) -> dict[str, Any]:
    """A Job spec without its affinity: where the coordinator runs is not what is validated."""
    template = job_spec["template"]
    return {**job_spec, "template": {**template, "spec": {k: v for k, v in template["spec"].items() if k != "affinity"}}}


def _expectation(parts: GateParts) -> gate_json.Expectation:
    return gate_json.Expectation(
        backend=parts.benchmark.backend,
        collective=COLLECTIVE,
        ranks=parts.group.nodes * parts.benchmark.ranks_per_node,
        ranks_per_node=parts.benchmark.ranks_per_node,
        min_bytes=parts.benchmark.min_bytes,
        max_bytes=parts.benchmark.max_bytes,
        factor=parts.benchmark.factor,
        floor_busbw_gbytes_per_s=parts.floor.busbw_gbytes_per_s,
        floor_source=parts.floor.source,
        transport_regex=parts.benchmark.transport_regex,
        also=parts.also.wish if parts.also else None,
    )


def _stand_ins(parts: GateParts) -> tuple[str, ...]:
    said = tuple(parts.validation.stand_ins)
    if not parts.benchmark.on_gpus:
        return ("CPU processes over TCP stand in for GPUs: this measures the nodes' network, no GPU and no RDMA", *said)
    return said


def _rank_job(parts: GateParts, names: GateNames, deadlines: Deadlines, image: str) -> dict[str, Any]:
    environment = contract.rank_environment(
        nodes=parts.group.nodes,
        ranks_per_node=parts.benchmark.ranks_per_node,
        host_prefix=names.ranks,
        service=names.ranks,
        start_s=deadlines.ranks_start_s,
        benchmark_s=deadlines.benchmark_s,
        deadline_s=deadlines.judge_s,
        min_bytes=parts.benchmark.min_bytes,
        max_bytes=parts.benchmark.max_bytes,
        factor=parts.benchmark.factor,
        interface=parts.fabric.interface,
    )
    of_stage = {contract.ENV_INSIDE_SECONDS: str(parts.inside.wish.seconds)} if parts.inside else {}
    template = {
        "metadata": {"labels": rank_labels(names)},
        "spec": {
            "subdomain": names.ranks,
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 5,
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "nodeSelector": dict(parts.group.node_selector),
            "affinity": {"podAntiAffinity": _one_per_node(names)},
            "containers": [
                {
                    "name": contract.CONTAINER_RANK,
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": list(contract.RANK_COMMAND),
                    "env": _env({**environment, **_of_ranks(parts), **of_stage}),
                    "volumeMounts": [_mount("shared"), _mount("key"), _mount("programs")],
                },
                {
                    "name": contract.CONTAINER_JUDGE,
                    "image": parts.validation.image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": list(contract.JUDGE_COMMAND),
                    "env": _env({**environment, **of_stage}),
                    "resources": dict(SMALL),
                    "securityContext": dict(UNPRIVILEGED),
                    "volumeMounts": [_mount("shared"), _mount("programs"), _mount("plan")],
                },
            ],
            "volumes": [
                {"name": "shared", "emptyDir": {}},
                {"name": "key", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},  # the private key never sees a disk
                *_config_volumes(names),
            ],
        },
    }
    merge = Merge.of(template, contract.CONTAINER_RANK)
    merge_fabric(merge, parts.profile.fabric)
    merge.tolerations((contract.HOLD_TOLERATION,))  # whatever the hold is: a drain taints too
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": names.ranks, "namespace": names.namespace, "labels": rank_labels(names)},
        "spec": {
            "completions": parts.group.nodes,
            "parallelism": parts.group.nodes,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "activeDeadlineSeconds": deadlines.rank_job_s,
            "successPolicy": {"rules": [{"succeededIndexes": "0"}]},  # rank 0 ends the others' sshd
            "template": merge.result,
        },
    }


def _of_ranks(parts: GateParts) -> dict[str, str]:
    """What only the rank container is told: what it runs, and how."""
    out = dcgm_environment(parts.health) if parts.health else {}
    if parts.benchmark.backend == "torch":
        out[contract.ENV_BACKEND] = parts.benchmark.backend
    if parts.benchmark.command:
        out[contract.ENV_BENCHMARK] = parts.benchmark.command
    if parts.also:
        out[contract.ENV_ALSO] = parts.also.command
    if parts.benchmark.on_gpus:
        out[contract.ENV_FORWARD] = " ".join(sorted({"NCCL_DEBUG", *parts.profile.fabric.environment}))
        out["NCCL_DEBUG"] = "INFO"  # prints the transport that was used; jobs need not
    if script := parts.profile.fabric.parts.environment_script:
        out[contract.ENV_SCRIPT] = script
    if parts.inside:
        out |= {contract.ENV_INSIDE: parts.inside.command, contract.ENV_INSIDE_RANKS: str(parts.inside.wish.ranks)}
        out |= {contract.ENV_LOAD: "1"} if parts.inside.wish.on_gpus else {}
    return out


def _coordinator_job_spec(parts: GateParts, names: GateNames, deadlines: Deadlines) -> dict[str, Any]:
    return {
        "completions": 1,
        "backoffLimit": 0,
        "activeDeadlineSeconds": deadlines.coordinator_s,
        # A system node that is drained or dies is no verdict on the fabric: the coordinator starts again, clears what it left,
        # and gives up by itself where that happens too often (validation.restarts).
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                {"action": "Ignore", "onExitCodes": _killed()},
            ]
        },
        "template": {
            "metadata": {"labels": coordinator_labels(names)},
            "spec": {
                "serviceAccountName": names.account,
                "restartPolicy": "Never",
                "enableServiceLinks": False,
                "terminationGracePeriodSeconds": 10,
                "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
                "affinity": {"nodeAffinity": outside_groups(parts.groups)},
                "containers": [
                    {
                        "name": contract.CONTAINER_COORDINATOR,
                        "image": parts.validation.image,
                        "imagePullPolicy": "IfNotPresent",
                        "command": list(contract.COORDINATOR_COMMAND),
                        "env": _env({contract.ENV_PYTHONPATH: contract.LIB_DIR}),
                        "resources": dict(SMALL),
                        "securityContext": dict(UNPRIVILEGED),
                        "volumeMounts": [_mount("programs"), _mount("plan")],
                    }
                ],
                "volumes": _config_volumes(names),
            },
        },
    }


def _killed() -> dict[str, Any]:
    return {"containerName": contract.CONTAINER_COORDINATOR, "operator": "In", "values": list(contract.KILLED_CODES)}


def _one_per_node(names: GateNames) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": rank_labels(names)}, "topologyKey": "kubernetes.io/hostname"}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def rank_labels(names: GateNames) -> dict[str, str]:
    """Labels of the rank pods: what the headless Service selects."""
    return contract.labels(names.group, "ranks")


def coordinator_labels(names: GateNames) -> dict[str, str]:
    """Labels of the coordinator's Job and pod."""
    return contract.labels(names.group, contract.CONTAINER_COORDINATOR)


def _config_volumes(names: GateNames) -> list[dict[str, Any]]:
    return [
        {"name": "programs", "configMap": {"name": names.programs}},
        {"name": "plan", "configMap": {"name": names.plan}},
    ]


def _mount(volume: str) -> dict[str, Any]:
    path = {
        "shared": contract.SHARED_DIR,
        "key": contract.KEY_DIR,
        "programs": contract.PACKAGE_DIR,
        "plan": contract.PLAN_DIR,
    }[volume]
    return {"name": volume, "mountPath": path, **({"readOnly": True} if volume in ("programs", "plan") else {})}


def _env(variables: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in variables.items()]


def digest(value: object) -> str:
    """Of a plan: the same wish gives the same one."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
