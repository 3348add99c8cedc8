"""The gate kept running in the cluster: late nodes are held, validated with a known-good partner, and opened."""

from collections.abc import Mapping
from typing import Any

from pulumi import ComponentResource, Output, ResourceOptions, get_stack
from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import ServiceAccount
from pulumi_kubernetes.networking.v1 import NetworkPolicy
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from pulumi_kubernetes.scheduling.v1 import PriorityClass

from gpufabric.kubernetes.args import FabricGateArgs
from gpufabric.plan import resolve_gate
from gpufabric.plan.controller import plan_controller
from gpufabric.spec import GateSpec, SpecError
from gpufabric.validation import controller_contract, permissions

_MANAGED = {"app.kubernetes.io/managed-by": "pulumi"}


class FabricGate(ComponentResource):
    """Keep one node group validated between deployments.

    Stands beside the group's :class:`NcclValidation`, whose namespace, programs, plan and Service it uses: give it the same
    args and ``depends_on=[gate]``. A node that joins, is rebooted, repaired or replaced is measured with an idle node that is
    known good, and opened if it passes; a node that is not Ready is closed. Busy nodes are left alone.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    controller: Output[str]
    """``namespace/name`` of the controller's Deployment."""
    metrics_port: Output[int]
    """Port of the controller's pod where Prometheus finds ``/metrics``."""

    def __init__(self, name: str, args: FabricGateArgs, opts: ResourceOptions | None = None) -> None:
        wish = GateSpec.parse(args, name)
        try:
            gate = resolve_gate(wish, get_stack()).gate
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:FabricGate", name, {}, opts)
        self._name, self._plan = name, plan_controller(gate)
        inputs = [*self._permissions(), *self._node_policy(), self._metrics_policy(), self._priority_class()]
        deployment = Deployment(
            f"{name}-controller",
            metadata=self._meta(self._plan.names.controller),
            spec=self._plan.deployment_spec,
            opts=ResourceOptions(parent=self, depends_on=inputs),
        )
        self.controller = deployment.id
        self.metrics_port = Output.from_input(controller_contract.METRICS_PORT)
        self.register_outputs({"controller": self.controller, "metrics_port": self.metrics_port})

    def _meta(self, name: str, namespace: str | None = None) -> dict[str, Any]:
        labels = {"app.kubernetes.io/name": "gpufabric-gate", **_MANAGED}
        return {"name": name, "namespace": namespace or self._plan.names.namespace, "labels": labels}

    def _permissions(self) -> list[Any]:
        """An account of its own: objects in the gate's namespace, events about nodes, and nodes and pods of the cluster."""
        names = self._plan.names
        subject = {"kind": "ServiceAccount", "name": names.controller, "namespace": names.namespace}
        child = ResourceOptions(parent=self)
        account = ServiceAccount(f"{self._name}-controller-account", metadata=self._meta(names.controller), opts=child)
        made: list[Any] = [account]
        for part, metadata, rules in (
            ("role", self._meta(names.controller), permissions.CONTROLLER_IN_NAMESPACE),
            (
                "events-role",
                self._meta(names.controller_cluster_role, controller_contract.EVENTS_NAMESPACE),
                permissions.CONTROLLER_EVENTS,
            ),
        ):
            made += [
                Role(f"{self._name}-controller-{part}", metadata=metadata, rules=list(rules), opts=child),
                RoleBinding(
                    f"{self._name}-controller-{part}-binding",
                    metadata=metadata,
                    role_ref=_role_ref("Role", metadata["name"]),
                    subjects=[subject],
                    opts=child,
                ),
            ]
        metadata = {"name": names.controller_cluster_role, "labels": _MANAGED}
        made.append(
            ClusterRole(
                f"{self._name}-controller-cluster-role",
                metadata=metadata,
                rules=list(permissions.CONTROLLER_IN_CLUSTER),
                opts=child,
            )
        )
        made.append(
            ClusterRoleBinding(
                f"{self._name}-controller-cluster-role-binding",
                metadata=metadata,
                role_ref=_role_ref("ClusterRole", names.controller_cluster_role),
                subjects=[subject],
                opts=child,
            )
        )
        return made

    def _node_policy(self) -> list[Any]:
        """What both accounts of the gate, the coordinator's and this one's, may change on nodes."""
        metadata = {"name": self._plan.names.node_policy, "labels": _MANAGED}
        policy = ValidatingAdmissionPolicy(
            f"{self._name}-node-policy", metadata=metadata, spec=self._plan.node_policy, opts=ResourceOptions(parent=self)
        )
        binding = ValidatingAdmissionPolicyBinding(
            f"{self._name}-node-policy-binding",
            metadata=metadata,
            spec=self._plan.node_policy_binding,
            opts=ResourceOptions(parent=self, depends_on=[policy]),
        )
        return [policy, binding]

    def _priority_class(self) -> PriorityClass:
        """Of the pods that keep a node that frees up for a late one."""
        return PriorityClass(
            f"{self._name}-priority-class",
            metadata={"name": self._plan.names.controller_cluster_role, "labels": _MANAGED},
            value=controller_contract.PRIORITY,
            preemption_policy="Never",
            global_default=False,
            description="The next free node is for the validation of a late one. Preempts nobody.",
            opts=ResourceOptions(parent=self),
        )

    def _metrics_policy(self) -> NetworkPolicy:
        """The gate's own policy lets only its pods in; Prometheus reads this one port."""
        return NetworkPolicy(
            f"{self._name}-controller-network-policy",
            metadata=self._meta(self._plan.names.controller),
            spec=self._plan.metrics_policy_spec,
            opts=ResourceOptions(parent=self),
        )


def _role_ref(kind: str, name: str) -> Mapping[str, str]:
    return {"api_group": "rbac.authorization.k8s.io", "kind": kind, "name": name}
