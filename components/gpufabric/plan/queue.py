"""The queue of one node group as Kueue's objects: it gives out nodes that passed the gate, and no others.

What opens it is the gate's label. With topology-aware scheduling (TAS, on by default since Kueue 0.14) a flavor's capacity is
what the Ready nodes with all of the flavor's labels have free; ``gpufabric.dev/validated=pass`` is one of them. Before the
verdict the capacity is nothing and a job waits suspended, afterwards it is admitted, and a node that loses its label takes no
new job. Nobody holds and releases a queue by hand, so that a verdict that opens nothing (pending) cannot open it by mistake.

Where nodes come when a job's turn comes (``provisioning``), there is nothing to count before: the quota alone limits, and an
admission check asks for the nodes of each job. The job looks at them itself, as without a queue.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpufabric.plan.fabric import GroupAccelerators
from gpufabric.plan.names import gate_names
from gpufabric.plan.profile import TOPOLOGY_PREFERRED, TOPOLOGY_UNCONSTRAINED, PodFabric, PodQueue
from gpufabric.spec import NodeGroupSpec, Problem, SchedulerSpec
from gpufabric.spec.scheduler import HOST_LEVEL, GroupSchedulerSpec, ProvisioningSpec
from gpufabric.validation.contract import LABEL_VALIDATED

API_GROUP = "kueue.x-k8s.io"
API_VERSION = "v1beta2"
"""Served since Kueue 0.15 (its changelog, 2025-11)."""
RESOURCES: Mapping[str, str] = {
    "Topology": "topologies",
    "ResourceFlavor": "resourceflavors",
    "ProvisioningRequestConfig": "provisioningrequestconfigs",
    "AdmissionCheck": "admissionchecks",
    "ClusterQueue": "clusterqueues",
    "LocalQueue": "localqueues",
}
"""What queues are made of: kind -> plural, in the order in which they need each other."""
OLDEST_KUEUE = "0.15"

_MOST_FLAVOR_LABELS = 8  # Kueue's CRD, v0.17
_NAMESPACE_LABEL = "kubernetes.io/metadata.name"
# A job that asks for a resource that the queue does not cover is never admitted. What the plan cannot know of a node (its
# cores, its memory) gets a quota that no cluster reaches: TAS counts what each node really has free of it.
_PROVISIONER = "kueue.x-k8s.io/provisioning-request"
# What the class is called, and by which label and detail a job finds the nodes that came for it (GKE documentation, flex-start
# with queued provisioning; google/xpk).
_CLASSES: Mapping[str, tuple[str, str, str]] = {
    "gke_queued": ("queued-provisioning.gke.io", "autoscaling.gke.io/provisioning-request", "ResizeRequestName"),
}
_WITHOUT_LIMIT: Mapping[str, str] = {"cpu": "10M", "memory": "1Ei", "ephemeral-storage": "1Ei"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPlan:
    """What asks for nodes when a job's turn comes: an admission check and its settings, both called ``name``."""

    name: str
    config_spec: Mapping[str, Any]
    check_spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePlan:
    """Names and specs of a group's queue. ``quota``: what limits it, resource -> how much; the rest only the nodes limit.

    ``path``: where the wish stands, for problems that only the cluster can show. ``check``: where nodes come for each job;
    then there is no topology, whose name is empty.
    Topology and flavor cannot change once they are made (Kueue's CRDs): their names hold a hash of what they say.
    """

    path: str
    check: CheckPlan | None
    topology: str
    flavor: str
    cluster_queue: str
    local_queue: str
    namespaces: tuple[str, ...]
    levels: tuple[str, ...]
    quota: Mapping[str, int]
    topology_spec: Mapping[str, Any]
    flavor_spec: Mapping[str, Any]
    cluster_queue_spec: Mapping[str, Any]
    local_queue_spec: Mapping[str, Any]

    @property
    def kinds(self) -> tuple[str, ...]:
        """What it is made of, of :data:`RESOURCES`."""
        of_check = ("ProvisioningRequestConfig", "AdmissionCheck")
        return tuple(kind for kind in RESOURCES if (kind != "Topology" if self.check else kind not in of_check))


def queue_problems(group: NodeGroupSpec, path: str) -> list[Problem]:
    """What Kueue's objects cannot hold, and what is not built; ``path``: where the group's scheduler was said."""
    problems = []
    if group.scheduler and not group.scheduler.installed:
        fix = "install Kueue by its own manifests or chart, then leave this key out"
        problems.append(Problem(f"{path}.installed", "not built yet: this does not install Kueue", fix))
    if group.scheduler and (labels := len(group.node_selector)) >= _MOST_FLAVOR_LABELS:
        reason = (
            f"{group.name} has a selector of {labels} labels; a queue's flavor holds {_MOST_FLAVOR_LABELS}, one is the gate's"
        )
        problems.append(Problem(path, reason, "select the group by fewer labels", "Kueue, ResourceFlavor, v0.17"))
    if group.scheduler and group.scheduler.provisioning:
        problems += _provisioning_problems(group, group.scheduler, path)
    return problems


def _provisioning_problems(group: NodeGroupSpec, scheduler: GroupSchedulerSpec, path: str) -> Iterator[Problem]:
    if group.preflight is None:
        reason = f"the nodes of {group.name} come for each job: none of them could be validated before"
        yield Problem(f"{path}.provisioning", reason, "write preflight: {} into the group, or leave provisioning out")
    if scheduler.topology_levels:
        reason = f"the nodes of {group.name} are not there yet when a job is admitted, and nobody can choose among them"
        yield Problem(f"{path}.topology_levels", reason, "leave it out")


def shared_name_problems(scheduler: SchedulerSpec, groups: int) -> list[Problem]:
    """A name that was said once for the queues of several groups."""
    reason = f"one name for the queues of {groups} groups"
    fix = "leave it out, or write a scheduler of its own into each group"
    given = [key for key in ("queue", "cluster_queue") if getattr(scheduler, key) is not None]
    return [Problem(f"scheduler.{key}", reason, fix) for key in given if groups > 1]


def plan_queue(
    group: NodeGroupSpec,
    scheduler: GroupSchedulerSpec,
    accelerators: GroupAccelerators,
    fabric: PodFabric,
    *,
    stack: str,
    path: str,
) -> QueuePlan:
    """Lay out the queue. Pure: the same wish gives the same plan. ``path``: where ``scheduler`` was said."""
    own = gate_names(stack, group.name).cluster_role
    check = _check(own, scheduler.provisioning, accelerators) if scheduler.provisioning else None
    levels = () if check else topology_levels(scheduler)
    topology_spec = {} if check else {"levels": [{"nodeLabel": level} for level in levels]}
    topology = "" if check else f"{own}-{_hash(topology_spec)}"
    flavor_spec = {
        "nodeLabels": {**dict(sorted(group.node_selector.items())), **({} if check else {LABEL_VALIDATED: "pass"})},
        # No empty list: Kueue drops it when it takes its finalizer off, its own CRD refuses that as a change of something
        # immutable, and the flavor could never be deleted (seen with 0.17.0).
        **({"tolerations": [dict(each) for each in fabric.tolerations]} if fabric.tolerations else {}),
        **({"topologyName": topology} if topology else {}),
    }
    flavor = f"{own}-{_hash(flavor_spec)}"
    cluster_queue = scheduler.cluster_queue or own
    quota = _quota(group, accelerators)
    covered = {**_WITHOUT_LIMIT, **dict.fromkeys(fabric.resources, _WITHOUT_LIMIT["cpu"]), **quota}
    return QueuePlan(
        path=path,
        check=check,
        topology=topology,
        flavor=flavor,
        cluster_queue=cluster_queue,
        local_queue=queue_name(group.name, scheduler),
        namespaces=tuple(scheduler.namespaces),
        levels=levels,
        quota=quota,
        topology_spec=topology_spec,
        flavor_spec=flavor_spec,
        cluster_queue_spec={
            "namespaceSelector": {
                "matchExpressions": [{"key": _NAMESPACE_LABEL, "operator": "In", "values": sorted(scheduler.namespaces)}]
            },
            "queueingStrategy": "BestEffortFIFO",
            **({"admissionChecksStrategy": {"admissionChecks": [{"name": check.name}]}} if check else {}),
            "resourceGroups": [
                {
                    "coveredResources": sorted(covered),
                    "flavors": [
                        {
                            "name": flavor,
                            "resources": [
                                {"name": name, "nominalQuota": str(limit)} for name, limit in sorted(covered.items())
                            ],
                        }
                    ],
                }
            ],
        },
        local_queue_spec={"clusterQueue": cluster_queue},
    )


def _check(name: str, wish: ProvisioningSpec, accelerators: GroupAccelerators) -> CheckPlan:
    """One request per job, for pods with accelerators, and for as long as the nodes may live."""
    provisioning_class, label, detail = _CLASSES[wish.kind]
    lives = {"parameters": {"maxRunDurationSeconds": str(wish.max_run_seconds)}} if wish.max_run_seconds else {}
    return CheckPlan(
        name=name,
        config_spec={
            "provisioningClassName": provisioning_class,
            "managedResources": sorted(accelerators.resources),
            "podSetUpdates": {"nodeSelector": [{"key": label, "valueFromProvisioningClassDetail": detail}]},
            **lives,
        },
        check_spec={
            "controllerName": _PROVISIONER,
            "parameters": {"apiGroup": API_GROUP, "kind": "ProvisioningRequestConfig", "name": name},
        },
    )


def pod_queue(group: str, scheduler: GroupSchedulerSpec) -> PodQueue:
    """What a job says to wait in the group's queue: close together where the levels allow it, else on any nodes that passed.

    Of nodes that come for the job nothing is asked: there is no other place to be.
    """
    *above_host, _ = topology_levels(scheduler)
    name = queue_name(group, scheduler)
    if scheduler.provisioning:
        return PodQueue(name=name)
    if above_host:
        return PodQueue(name=name, topology_request=TOPOLOGY_PREFERRED, topology_value=above_host[-1])
    return PodQueue(name=name, topology_request=TOPOLOGY_UNCONSTRAINED, topology_value="true")


def of_group(scheduler: SchedulerSpec) -> GroupSchedulerSpec:
    """The queue that was said for all groups, as one of them has it."""
    return GroupSchedulerSpec.parse(scheduler.model_dump(exclude_unset=True), "scheduler")


def queue_name(group: str, scheduler: SchedulerSpec) -> str:
    """Name of the group's LocalQueues."""
    return scheduler.queue or group


def topology_levels(scheduler: SchedulerSpec) -> tuple[str, ...]:
    """Labels of the levels, the widest first; the host is always the last, since only then single nodes are given out."""
    return (*(level for level in scheduler.topology_levels if level != HOST_LEVEL), HOST_LEVEL)


def _quota(group: NodeGroupSpec, accelerators: GroupAccelerators) -> dict[str, int]:
    """What the whole group has: its accelerators; without any, a pod for each node, as the gate runs them."""
    if not accelerators.count:
        return {"pods": group.nodes}
    return {resource: count * group.nodes for resource, count in accelerators.resources.items()}


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:6]
