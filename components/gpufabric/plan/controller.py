"""The controller of one group as objects: its Deployment, and the policy that holds the gate's accounts to their own words.

Derived from the gate's plan, so that it stands where the coordinator stands, in the same image, with the same files.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufabric.plan.model import GatePlan
from gpufabric.plan.names import GateNames
from gpufabric.plan.node_policy import cel, node_policy
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
    """The gate's accounts write their own words only.

    The labels that select the group are kept too, also where they lie below our prefix: the gate does not move nodes.
    """
    accounts = [f"system:serviceaccount:{names.namespace}:{account}" for account in (names.account, names.controller)]
    prefix = controller_contract.LABEL_PREFIX
    own_label = f"k.startsWith('{prefix}') && !(k in {cel(sorted(node_selector))})"
    return node_policy(
        accounts,
        condition="the-gates-accounts",
        labels=(own_label, f"may change only labels {prefix}* of a node, and none that selects the group"),
        annotations=(f"k.startsWith('{prefix}')", f"may change only annotations {prefix}* of a node"),
        taint=contract.TAINT_HOLD,
        who="gpufabric's gate",
    )
