"""Node health alone as a resource: every node of a group is looked at, and sick ones are named."""

import json
from typing import Any

from pulumi import ComponentResource, CustomTimeouts, Output, ResourceOptions, get_stack
from pulumi_kubernetes.batch.v1 import Job
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace

from gpufabric.kubernetes.args import NodeHealthCheckArgs
from gpufabric.kubernetes.claim import claim_templates
from gpufabric.plan import resolve_node_check
from gpufabric.spec import HealthCheckSpec, SpecError
from gpufabric.validation import contract


class NodeHealthCheck(ComponentResource):
    """Look at every node of a group: GPUs, links, adapters, limits. Stage 0 of the gate, without a network run.

    ``pulumi up`` follows the Job and fails where a node is sick; its message names the node, what was found and what to do.
    Nodes are neither labelled nor closed: that is :class:`NcclValidation`'s, which runs the same checks itself. A check that
    failed runs again on the next ``up``.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    checked: Output[str]
    """``namespace/name`` of the Job, known once every node is fit."""

    def __init__(self, name: str, args: NodeHealthCheckArgs, opts: ResourceOptions | None = None) -> None:
        wish = HealthCheckSpec.parse(args, name)
        try:
            plan = resolve_node_check(wish, get_stack())
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:NodeHealthCheck", name, {}, opts)
        child = ResourceOptions(parent=self)
        if wish.namespace is None:
            labels = {"pod-security.kubernetes.io/enforce": plan.pod_security, "app.kubernetes.io/managed-by": "pulumi"}
            own = Namespace(f"{name}-namespace", metadata={"name": plan.namespace, "labels": labels}, opts=child)
            child = ResourceOptions(parent=self, depends_on=[own])

        def meta(of: str) -> dict[str, Any]:
            return {"name": of, "namespace": plan.namespace, "labels": {"app.kubernetes.io/managed-by": "pulumi"}}

        health = json.dumps(plan.health.to_dict(), indent=1, sort_keys=True)
        inputs = [
            *claim_templates(name, plan.claim, plan.namespace, child),
            ConfigMap(f"{name}-programs", metadata=meta(plan.programs), data=contract.shipped_files(), opts=child),
            ConfigMap(f"{name}-plan", metadata=meta(plan.wish), data={contract.HEALTH_NAME: health}, opts=child),
        ]
        timeout = f"{plan.resource_s}s"
        job = Job(
            f"{name}-job",
            metadata=meta(plan.job),
            spec=plan.job_spec,
            # As the gate's Job: one that failed is run again, not only looked at again.
            opts=ResourceOptions(
                parent=self,
                depends_on=inputs,
                delete_before_replace=True,
                replace_on_changes=["*"],
                replacement_trigger=plan.trigger,
                custom_timeouts=CustomTimeouts(create=timeout, update=timeout),
            ),
        )
        self.checked = job.id
        self.register_outputs({"checked": self.checked})
