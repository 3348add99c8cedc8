"""Node health alone as one Indexed Job: a pod on every node of a group reads it and judges it. No coordinator, no account."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from gpufabric.plan.gate import SMALL, UNPRIVILEGED, digest
from gpufabric.plan.health import dcgm_environment, health_problems, plan_health
from gpufabric.plan.images import unpinned
from gpufabric.plan.merge import Merge
from gpufabric.plan.names import gate_names
from gpufabric.plan.profile import PodClaim, PodProfile, merge_fabric
from gpufabric.plan.resolve import decide_hardware, pod_profile
from gpufabric.spec import HealthCheckSpec, SpecError
from gpufabric.validation import contract
from gpufabric.validation.health_wish import Health

_READ_S = 120  # health.sh ends after 60 s; the rest is for a busy node
_REPORT_S = 60  # the Job's end, and the provider that follows it
_READ = (
    f"umask 022; mkdir -p {contract.SHARED_DIR}/health && /bin/sh {contract.PACKAGE_DIR}/health.sh; "
    f": >{contract.SHARED_DIR}/health/done"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCheckPlan:
    """What is created for one check. ``trigger`` changes with what is checked and with ``run``."""

    namespace: str
    job: str
    programs: str
    wish: str
    health: Health
    job_spec: Mapping[str, Any]
    pod_security: str
    trigger: str
    resource_s: int
    claim: PodClaim | None = None


def resolve_node_check(spec: HealthCheckSpec, stack: str) -> NodeCheckPlan:
    """The plan; raises :class:`SpecError` with every problem."""
    group = spec.node_group
    problems = [*health_problems(spec.health, "health"), *unpinned("image", spec.image)]
    image = group.profile.image if group.profile and group.profile.image else spec.image
    problems += unpinned("node_group.profile.image", image) if image != spec.image else []
    try:
        accelerators, fabric = decide_hardware(group, "node_group")
    except SpecError as error:
        raise SpecError([*error.problems, *problems]) from None
    if problems:
        raise SpecError(problems)
    profile = pod_profile(group, accelerators, fabric)
    health = plan_health(accelerators, fabric, profile.fabric, spec.health, spec.dcgm_level)
    own = gate_names(stack, group.name)
    start_s = ceil(60 * spec.start_minutes)
    programs, wish = f"{group.name}-health-programs", f"{group.name}-health-plan"
    read_s = _READ_S + health.dcgm_more_s
    env = {contract.ENV_INTERFACE: fabric.interface, **dcgm_environment(health)}
    job_spec = _job_spec(spec, image, profile, start_s, read_s=read_s, env=env, programs=programs, wish=wish)
    trigger = digest([health.without_advice().to_dict(), job_spec, spec.run])
    return NodeCheckPlan(
        namespace=spec.namespace or f"{own.namespace}-health",
        job=f"{group.name}-health-{trigger[:8]}",
        programs=programs,
        wish=wish,
        health=health,
        job_spec=job_spec,
        pod_security=profile.fabric.pod_security,
        claim=profile.fabric.parts.claim,
        trigger=trigger,
        resource_s=start_s + read_s + _REPORT_S,
    )


def _job_spec(
    spec: HealthCheckSpec,
    image: str,
    profile: PodProfile,
    start_s: int,
    *,
    read_s: int,
    env: Mapping[str, str],
    programs: str,
    wish: str,
) -> dict[str, Any]:
    labels = contract.labels(spec.node_group.name, "health")
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    of_programs = {"name": "programs", "mountPath": contract.PACKAGE_DIR, "readOnly": True}
    of_wish = {"name": "plan", "mountPath": contract.PLAN_DIR, "readOnly": True}
    shared = {"name": "shared", "mountPath": contract.SHARED_DIR}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 5,
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "nodeSelector": dict(spec.node_group.node_selector),
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
            "containers": [
                {
                    "name": contract.CONTAINER_RANK,
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["/bin/sh", "-c", _READ],
                    "env": [{"name": name, "value": value} for name, value in env.items()],
                    "volumeMounts": [shared, of_programs],
                },
                {
                    "name": contract.CONTAINER_JUDGE,
                    "image": spec.image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": list(contract.NODE_CHECK_COMMAND),
                    "env": [
                        {"name": contract.ENV_PYTHONPATH, "value": contract.LIB_DIR},
                        {"name": contract.ENV_START_SECONDS, "value": str(read_s)},
                        {"name": contract.ENV_NODE_NAME, "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                    ],
                    "resources": dict(SMALL),
                    "securityContext": dict(UNPRIVILEGED),
                    "volumeMounts": [shared, of_programs, of_wish],
                },
            ],
            "volumes": [
                {"name": "shared", "emptyDir": {}},
                {"name": "programs", "configMap": {"name": programs}},
                {"name": "plan", "configMap": {"name": wish}},
            ],
        },
    }
    merge = Merge.of(template, contract.CONTAINER_RANK)
    merge_fabric(merge, profile.fabric)
    merge.tolerations((contract.HOLD_TOLERATION,))
    return {
        "completions": spec.node_group.nodes,
        "parallelism": spec.node_group.nodes,
        "completionMode": "Indexed",
        # Not per index: the provider that Pulumi follows Jobs with does not know that reason of a failure, and would wait on.
        # A sick node's pod stays a moment instead, so that the others get to say whether they are sick, too (node_check).
        "backoffLimit": 0,
        "activeDeadlineSeconds": start_s + read_s,
        "template": merge.result,
    }
