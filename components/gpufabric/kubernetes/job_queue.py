"""The queue in front of a node group: jobs wait in it, with nothing running, until the gate's verdict opens nodes."""

from typing import Any

from pulumi import ComponentResource, Output, ResourceOptions, get_stack
from pulumi_kubernetes.apiextensions import CustomResource

from gpufabric.kubernetes.args import JobQueueArgs
from gpufabric.plan import resolve_queue
from gpufabric.plan.queue import API_GROUP, API_VERSION, CheckPlan
from gpufabric.spec import QueueSpec, SpecError

_MANAGED = {"app.kubernetes.io/managed-by": "pulumi"}


class JobQueue(ComponentResource):
    """A Kueue queue that gives out the validated nodes of one group, and no others.

    Kueue is in the cluster already. Needs no gate to be made: while no node has passed, the queue has no capacity and jobs
    wait; give it no ``depends_on=[gate]``. The pod profile of the same group puts jobs into it. With ``provisioning`` nodes are
    asked for when the turn of a job comes.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    queue: Output[str]
    """Name of the LocalQueue in each of the namespaces; jobs carry it as the label ``kueue.x-k8s.io/queue-name``."""
    cluster_queue: Output[str]
    """Name of the ClusterQueue, which holds the quota."""

    def __init__(self, name: str, args: JobQueueArgs, opts: ResourceOptions | None = None) -> None:
        wish = QueueSpec.parse(args, name)
        try:
            plan = resolve_queue(wish, get_stack())
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:JobQueue", name, {}, opts)
        self._name = name
        topology = [self._object("Topology", "topology", plan.topology, plan.topology_spec)] if plan.topology else []
        flavor = self._object("ResourceFlavor", "flavor", plan.flavor, plan.flavor_spec, *topology)
        needed = [flavor, self._check(plan.check)] if plan.check else [flavor]
        made = self._object("ClusterQueue", "cluster-queue", plan.cluster_queue, plan.cluster_queue_spec, *needed)
        for namespace in plan.namespaces:
            self._object(
                "LocalQueue",
                f"queue-{namespace}",
                plan.local_queue,
                plan.local_queue_spec,
                made,
                namespace=namespace,
            )
        self.queue = Output.from_input(plan.local_queue)
        self.cluster_queue = Output.from_input(plan.cluster_queue)
        self.register_outputs({"queue": self.queue, "cluster_queue": self.cluster_queue})

    def _check(self, plan: CheckPlan) -> CustomResource:
        """What asks for nodes when the turn of a job comes."""
        settings = self._object("ProvisioningRequestConfig", "provisioning", plan.name, plan.config_spec)
        return self._object("AdmissionCheck", "admission-check", plan.name, plan.check_spec, settings)

    def _object(
        self, kind: str, part: str, name: str, spec: Any, *after: CustomResource, namespace: str = ""
    ) -> CustomResource:
        """One of Kueue's objects. They refer to each other by plain names, so the order is said here: ``after``."""
        where = {"namespace": namespace} if namespace else {}
        return CustomResource(
            f"{self._name}-{part}",
            api_version=f"{API_GROUP}/{API_VERSION}",
            kind=kind,
            metadata={"name": name, "labels": _MANAGED, **where},
            spec=spec,
            opts=ResourceOptions(parent=self, depends_on=list(after) or None),
        )
