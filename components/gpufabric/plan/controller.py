"""The controller of one group as objects: its Deployment, and the policy that holds the gate's accounts to their own words.

Derived from the gate's plan, so that it stands where the coordinator stands, in the same image, with the same files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpufabric.plan.model import GatePlan
from gpufabric.plan.names import GateNames
from gpufabric.validation import contract, controller_contract

_PORT = "metrics"
_MOVES_AFTER_S = 20  # ours: as long as the Lease; the default of 300 s would leave late nodes closed for so long


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerPlan:
    """What keeps a group validated. ``node_policy`` is the spec of a ValidatingAdmissionPolicy."""

    names: GateNames
    deployment_spec: Mapping[str, Any]
    metrics_policy_spec: Mapping[str, Any]
    node_policy: Mapping[str, Any]
    node_policy_binding: Mapping[str, Any]


def plan_controller(gate: GatePlan) -> ControllerPlan:
    """Lay out the controller. Pure: the same gate gives the same plan."""
    return ControllerPlan(
        names=gate.names,
        deployment_spec=_deployment_spec(gate),
        metrics_policy_spec={
            "podSelector": {"matchLabels": controller_labels(gate.names)},
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": [{"protocol": "TCP", "port": controller_contract.METRICS_PORT}]}],
        },
        node_policy=_node_policy(gate.names, gate.gate.node_selector),
        node_policy_binding={"policyName": gate.names.node_policy, "validationActions": ["Deny"]},
    )


def controller_labels(names: GateNames) -> dict[str, str]:
    """Labels of the controller's pod."""
    return contract.labels(names.group, controller_contract.CONTAINER_CONTROLLER)


def _deployment_spec(gate: GatePlan) -> dict[str, Any]:
    names, coordinator = gate.names, gate.coordinator_job_spec["template"]["spec"]
    (container,) = coordinator["containers"]
    labels, probe = controller_labels(names), {"httpGet": {"path": "/healthz", "port": _PORT}}
    return {
        "replicas": 1,
        "strategy": {"type": "Recreate"},  # of two, one would only wait for the Lease
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {
                "labels": labels,
                "annotations": {
                    f"{controller_contract.LABEL_PREFIX}fingerprint": gate.gate.fingerprint,  # it reads its plan once
                    "prometheus.io/scrape": "true",
                    "prometheus.io/port": str(controller_contract.METRICS_PORT),
                },
            },
            "spec": {
                **{key: value for key, value in coordinator.items() if key != "restartPolicy"},
                "serviceAccountName": names.controller,
                "tolerations": [_for_a_moment(condition) for condition in ("not-ready", "unreachable")],
                "containers": [
                    {
                        **container,
                        "name": controller_contract.CONTAINER_CONTROLLER,
                        "command": list(controller_contract.CONTROLLER_COMMAND),
                        "env": [
                            *container["env"],
                            {"name": controller_contract.ENV_NAME, "value": names.controller},
                            {"name": controller_contract.ENV_PRIORITY_CLASS, "value": names.controller_cluster_role},
                            _of_the_pod(controller_contract.ENV_POD_NAME, "metadata.name"),
                            _of_the_pod(controller_contract.ENV_POD_UID, "metadata.uid"),
                        ],
                        "ports": [{"name": _PORT, "containerPort": controller_contract.METRICS_PORT, "protocol": "TCP"}],
                        "readinessProbe": {**probe, "periodSeconds": 5},
                        "livenessProbe": {**probe, "periodSeconds": 20, "failureThreshold": 3},
                    }
                ],
            },
        },
    }


def _for_a_moment(condition: str) -> dict[str, Any]:
    """A toleration that Kubernetes would else add with 300 s: how long the pod stays on a node that has died."""
    key = f"node.kubernetes.io/{condition}"
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _MOVES_AFTER_S}


def _of_the_pod(name: str, field: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": field}}}


def _node_policy(names: GateNames, node_selector: Mapping[str, str]) -> dict[str, Any]:
    """RBAC knows no fields: who may patch a node may uncordon it. This lets the gate's accounts write their own words only.

    The labels that select the group are kept too, also where they lie below our prefix: the gate does not move nodes.
    """
    accounts = [f"system:serviceaccount:{names.namespace}:{account}" for account in (names.account, names.controller)]
    prefix, taint = controller_contract.LABEL_PREFIX, contract.TAINT_HOLD
    own_label = f"k.startsWith('{prefix}') && !(k in {_cel(sorted(node_selector))})"
    foreign = f".filter(t, t.key != '{taint}')"
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes"]}]
        },
        "matchConditions": [{"name": "the-gates-accounts", "expression": f"request.userInfo.username in {_cel(accounts)}"}],
        "variables": [
            *_pair("Labels", "metadata.labels", "{}"),
            *_pair("Annotations", "metadata.annotations", "{}"),
            *_pair("Taints", "spec.taints", "[]"),
            *_pair("Unschedulable", "spec.unschedulable", "false"),
            *_pair("Finalizers", "metadata.finalizers", "[]"),
            *_pair("Owners", "metadata.ownerReferences", "[]"),
        ],
        "validations": [
            _rule(
                _same_but("Labels", own_label), f"may change only labels {prefix}* of a node, and none that selects the group"
            ),
            _rule(_same_but("Annotations", f"k.startsWith('{prefix}')"), f"may change only annotations {prefix}* of a node"),
            _rule(
                f"variables.newTaints{foreign} == variables.oldTaints{foreign}", f"may change only the taint {taint} of a node"
            ),
            _rule("variables.newUnschedulable == variables.oldUnschedulable", "may not cordon or uncordon a node"),
            _rule("variables.newFinalizers == variables.oldFinalizers", "may not change finalizers of a node"),
            _rule("variables.newOwners == variables.oldOwners", "may not change owners of a node"),
        ],
    }


def _pair(name: str, field: str, absent: str) -> list[dict[str, str]]:
    """``oldX`` and ``newX``; ``absent`` where the field is not there."""
    return [
        {"name": f"{side}{name}", "expression": f"has({root}.{field}) ? {root}.{field} : {absent}"}
        for side, root in (("old", "oldObject"), ("new", "object"))
    ]


def _same_but(name: str, own: str) -> str:
    """Every key is one of ours, or is there with the same value before and after."""
    old, new = f"variables.old{name}", f"variables.new{name}"
    return f"{new}.all(k, ({own}) || (k in {old} && {old}[k] == {new}[k])) && {old}.all(k, ({own}) || k in {new})"


def _rule(expression: str, says: str) -> dict[str, str]:
    return {"expression": expression, "message": f"gpufabric's gate {says}", "reason": "Forbidden"}


def _cel(texts: Sequence[str]) -> str:
    """A CEL list of texts; names and labels hold neither quotes nor backslashes."""
    return "[" + ", ".join(f"'{text}'" for text in texts) + "]"
