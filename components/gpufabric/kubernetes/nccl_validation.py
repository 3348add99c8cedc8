"""The gate as a resource: an all-reduce measured between the nodes of a group, and a verdict that lets jobs in or not."""

import json
from collections.abc import Mapping
from typing import Any

from pulumi import ComponentResource, CustomTimeouts, Output, ResourceOptions, get_stack
from pulumi_kubernetes.batch.v1 import Job
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, Service, ServiceAccount
from pulumi_kubernetes.networking.v1 import NetworkPolicy
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding

from gpufabric.kubernetes.args import NcclValidationArgs
from gpufabric.kubernetes.claim import claim_templates
from gpufabric.plan import GatePlan, resolve_gate
from gpufabric.plan.gate import coordinator_labels, rank_labels
from gpufabric.spec import GateSpec, SpecError
from gpufabric.validation import contract, permissions


class NcclValidation(ComponentResource):
    """Validate one node group after every deployment that changes what is validated, and when ``validation.run`` is raised.

    ``pulumi up`` follows the gate's Job. It fails, and names measured and wanted figure, when the verdict is fail or
    unknown; resources with ``depends_on=[gate]`` are then not created. A gate that failed runs again on the next ``up``.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    verdict: Output[Mapping[str, Any]]
    """The verdict: outcome, measured and wanted bus bandwidth in GB/s, nodes, and the measured table."""
    namespace: Output[str]
    """Namespace of the gate's objects."""

    def __init__(self, name: str, args: NcclValidationArgs, opts: ResourceOptions | None = None) -> None:
        wish = GateSpec.parse(args, name)
        try:
            plan = resolve_gate(wish, get_stack()).gate
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:NcclValidation", name, {}, opts)
        self._name, self._plan = name, plan
        self._child = ResourceOptions(parent=self)
        if wish.namespace is None:
            # Everything below names its namespace as a plain text (a profile can then refer to it), so the order is said here.
            self._child = ResourceOptions(parent=self, depends_on=[self._own_namespace()])
        inputs = [*self._permissions(), *self._files(), self._service(), self._network_policy()]
        inputs += claim_templates(name, plan.claim, plan.names.namespace, self._child)
        job = self._job(inputs)
        self.namespace = Output.from_input(plan.names.namespace)
        self.verdict = self._read_verdict(job)
        self.register_outputs({"verdict": self.verdict, "namespace": self.namespace})

    def _meta(self, name: str, **more: Any) -> dict[str, Any]:
        labels = {"app.kubernetes.io/name": "gpufabric-gate", "app.kubernetes.io/managed-by": "pulumi"}
        return {"name": name, "namespace": self._plan.names.namespace, "labels": labels} | more

    def _own_namespace(self) -> Namespace:
        labels = {"pod-security.kubernetes.io/enforce": self._plan.pod_security, "app.kubernetes.io/managed-by": "pulumi"}
        return Namespace(
            f"{self._name}-namespace",
            metadata={"name": self._plan.names.namespace, "labels": labels},
            opts=ResourceOptions(parent=self),
        )

    def _permissions(self) -> list[ComponentResource | Any]:
        """The coordinator's account: objects of the gate in its namespace, and labels of nodes, which have no namespace."""
        names = self._plan.names
        subject = {"kind": "ServiceAccount", "name": names.account, "namespace": names.namespace}
        account = ServiceAccount(f"{self._name}-account", metadata=self._meta(names.account), opts=self._child)
        role = Role(
            f"{self._name}-role",
            metadata=self._meta(names.account),
            rules=permissions.coordinator_in_namespace(names.verdict),
            opts=self._child,
        )
        binding = RoleBinding(
            f"{self._name}-role-binding",
            metadata=self._meta(names.account),
            role_ref={"api_group": "rbac.authorization.k8s.io", "kind": "Role", "name": names.account},
            subjects=[subject],
            opts=self._child,
        )
        cluster_meta = {"name": names.cluster_role, "labels": {"app.kubernetes.io/managed-by": "pulumi"}}
        cluster_role = ClusterRole(
            f"{self._name}-cluster-role",
            metadata=cluster_meta,
            rules=permissions.coordinator_in_cluster(self._plan.gate.run),
            opts=ResourceOptions(parent=self),
        )
        cluster_binding = ClusterRoleBinding(
            f"{self._name}-cluster-role-binding",
            metadata=cluster_meta,
            role_ref={"api_group": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": names.cluster_role},
            subjects=[subject],
            opts=ResourceOptions(parent=self),
        )
        return [account, role, binding, cluster_role, cluster_binding]

    def _files(self) -> list[ConfigMap]:
        names = self._plan.names
        gate = json.dumps(self._plan.gate.to_dict(), indent=1, sort_keys=True)
        return [
            ConfigMap(
                f"{self._name}-programs", metadata=self._meta(names.programs), data=contract.shipped_files(), opts=self._child
            ),
            ConfigMap(f"{self._name}-plan", metadata=self._meta(names.plan), data={"gate.json": gate}, opts=self._child),
        ]

    def _service(self) -> Service:
        """Headless: gives every rank a name, before it is ready, since ranks get ready by talking to each other."""
        return Service(
            f"{self._name}-ranks",
            metadata=self._meta(self._plan.names.ranks, annotations={"pulumi.com/skipAwait": "true"}),
            spec={"cluster_ip": "None", "publish_not_ready_addresses": True, "selector": rank_labels(self._plan.names)},
            opts=self._child,
        )

    def _network_policy(self) -> NetworkPolicy:
        """Only the gate's own pods may talk to its pods: sshd and the key server listen there."""
        own = {"match_labels": {"app.kubernetes.io/name": "gpufabric-gate"}}
        return NetworkPolicy(
            f"{self._name}-network-policy",
            metadata=self._meta(self._plan.names.account),
            spec={"pod_selector": own, "policy_types": ["Ingress"], "ingress": [{"from_": [{"pod_selector": own}]}]},
            opts=self._child,
        )

    def _job(self, inputs: list[Any]) -> Job:
        """The Job that ``pulumi up`` follows.

        A failed Job is looked at again, not run again, unless every change and every failed initialisation replaces it:
        that is what ``replace_on_changes=["*"]`` says. A gate that failed runs again under its name, so the old one goes first.
        """
        timeout = f"{self._plan.deadlines.resource_s}s"
        return Job(
            f"{self._name}-job",
            metadata=self._meta(self._plan.gate.names.coordinator_job, labels=coordinator_labels(self._plan.names)),
            spec=self._plan.coordinator_job_spec,
            opts=ResourceOptions(
                parent=self,
                depends_on=inputs,
                delete_before_replace=True,
                replace_on_changes=["*"],
                # The coordinator keeps off the nodes of all groups. A group that is added or removed changes this Job of the
                # others in nothing but that, and must not close and measure their busy nodes again.
                ignore_changes=["spec.template.spec.affinity"],
                replacement_trigger=self._plan.trigger,
                custom_timeouts=CustomTimeouts(create=timeout, update=timeout),
            ),
        )

    def _read_verdict(self, job: Job) -> Output[Mapping[str, Any]]:
        """Read what the coordinator wrote. The id hangs on the Job, so that a preview of a new gate does not look for it."""
        names = self._plan.names
        found = ConfigMap.get(
            f"{self._name}-verdict",
            job.id.apply(lambda _: f"{names.namespace}/{names.verdict}"),
            opts=ResourceOptions(parent=self, depends_on=[job]),
        )
        verdict: Output[Mapping[str, Any]] = found.data.apply(_verdict)
        return verdict


def _verdict(data: Mapping[str, str] | None) -> Mapping[str, Any]:
    read: Mapping[str, Any] = json.loads((data or {}).get(contract.VERDICT_KEY, "{}"))
    return read


def gate_plan(validation: NcclValidation) -> GatePlan:
    """The plan a gate was built from: for tests and for stacks that print it."""
    return validation._plan
