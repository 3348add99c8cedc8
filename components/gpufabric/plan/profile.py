"""The pod profile: what was validated is what a job gets.

``fabric`` is the same object in the gate and in every job. ``admission`` is for jobs only: it binds them to nodes that
passed. ``apply_to`` merges both into a pod, pod template or Job spec; it touches structure only, never looks into a value
that is not plain (a Pulumi Output stays what it is), and refuses to overwrite what the user wrote differently.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Protocol

from gpufabric.plan.merge import Merge
from gpufabric.validation.contract import LABEL_VALIDATED

SHM = "dshm"
VALIDATED = "pass"
"""Value of the label of validated nodes."""
GPU_TAINT: Mapping[str, str] = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
"""The taint that clouds and GPU operators put on GPU nodes; tolerating it where it is absent changes nothing."""


def tolerate(key: str) -> dict[str, str]:
    """The toleration of a group's own taint."""
    return {"key": key, "operator": "Exists", "effect": "NoSchedule"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodClaim:
    """Devices by dynamic resource allocation. ``template``: name of the ResourceClaimTemplate in the namespace of the pods."""

    name: str
    template: str
    template_spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodParts:
    """What a fabric needs in a pod beside resources, environment and annotations. In Kubernetes' words.

    ``mounts``: volumes that the container itself sees, and where. ``sidecar``: an init container that goes on beside it.
    ``environment_script``: sourced before the container's command.
    """

    volumes: tuple[Mapping[str, Any], ...] = ()
    mounts: Mapping[str, str] = field(default_factory=dict)
    sidecar: Mapping[str, Any] | None = None
    claim: PodClaim | None = None
    environment_script: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFabric:
    """What a pod needs to use the fabric; identical in the gate and in every job."""

    resources: Mapping[str, int | str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    capabilities: tuple[str, ...] = ()
    shared_memory: bool = False
    """Memory-backed /dev/shm: NCCL's shared-memory transport fails on a container's default of 64 MiB (nccl issue 473)."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, str], ...] = ()
    parts: PodParts = field(default_factory=PodParts)

    @property
    def pod_security(self) -> str:
        """The Pod Security Standard that these pods need; folders of the node are allowed by the widest alone."""
        return "privileged" if self.capabilities or self.parts.volumes else "baseline"


LABEL_QUEUE = "kueue.x-k8s.io/queue-name"
"""Kueue's label on a Job: the LocalQueue that it waits in."""
TOPOLOGY_REQUIRED = "kueue.x-k8s.io/podset-required-topology"
TOPOLOGY_PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
TOPOLOGY_UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"
_TOPOLOGY_REQUESTS = (TOPOLOGY_REQUIRED, TOPOLOGY_PREFERRED, TOPOLOGY_UNCONSTRAINED)
"""Annotations of a pod template; Kueue takes at most one of the three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodQueue:
    """The queue a job waits in, and how it asks to be placed: one of Kueue's topology annotations and its value, or none."""

    name: str
    topology_request: str = ""
    topology_value: str = ""

    @property
    def annotations(self) -> dict[str, str]:
        """Of the job's pods."""
        return {self.topology_request: self.topology_value} if self.topology_request else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodAdmission:
    """Which nodes a job may run on: the group's own, and only those that passed. ``queue``: where it waits for them.

    ``validated``: value of the label that the nodes must have; empty where nodes come for each job, so that none could have it.
    ``checks``: init containers that look at the node or test its memory before the job starts, the first one first.
    """

    node_selector: Mapping[str, str]
    validated: str = VALIDATED
    queue: PodQueue | None = None
    checks: tuple[Mapping[str, Any], ...] = ()


class PodFiles(Protocol):
    """Files of one role in a pod, such as the mount of a bucket."""

    def merge_into(self, merge: Merge) -> None:
        """Add them to a pod."""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""


@dataclass(frozen=True, slots=True)
class PodProfile:
    """Both parts, and how to put them into a job. ``storage``: a job's files by role, which the gate does not need."""

    fabric: PodFabric
    admission: PodAdmission
    storage: Mapping[str, PodFiles] = field(default_factory=dict)

    def apply_to(self, spec: Mapping[str, Any], *, container: str | None = None) -> dict[str, Any]:
        """A copy of ``spec`` with this profile merged in.

        Args:
            spec: a pod spec, a pod template or anything that holds one under ``template`` (Job, StatefulSet, JobSet's
                replicated job), as plain dicts in Kubernetes' camelCase or the SDK's snake_case. With a queue: the whole Job,
                since the queue's name is a label of the Job (``Job("finetune", **profile.apply_to({"spec": ...}))``).
            container: name of the container that gets resources and environment. Default: the only one.

        Raises:
            ProfileConflictError: the pod already says something else; the message names the path and both values.
            TypeError: what is passed is no such thing, or not the whole Job where the group has a queue.
        """
        merge = Merge.of(spec, container)
        merge_fabric(merge, self.fabric)
        merge.node_selector(self.admission.node_selector)
        if self.admission.validated:
            merge.require_node_label(LABEL_VALIDATED, self.admission.validated)
        for role in self.storage.values():
            role.merge_into(merge)
        for check in reversed(self.admission.checks):
            merge.first_init_container(check)
        if queue := self.admission.queue:
            merge.job_labels({LABEL_QUEUE: queue.name})
            for request, value in queue.annotations.items():
                merge.one_annotation_of(_TOPOLOGY_REQUESTS, request, value)
        return merge.result

    def to_dict(self) -> dict[str, Any]:
        """Plain data for stack outputs and users of other languages: one pod spec with exactly what the profile adds."""
        queue = self.admission.queue
        waiting = (
            {
                "jobLabels": {LABEL_QUEUE: queue.name},
                **({"podAnnotations": queue.annotations} if queue.annotations else {}),
            }
            if queue
            else {}
        )
        parts = self.fabric.parts
        label = {LABEL_VALIDATED: self.admission.validated} if self.admission.validated else {}
        return {
            "fabric": {
                "resources": {key: str(count) for key, count in sorted(self.fabric.resources.items())},
                "environment": dict(sorted(self.fabric.environment.items())),
                "capabilities": list(self.fabric.capabilities),
                "sharedMemory": self.fabric.shared_memory,
                "annotations": dict(self.fabric.annotations),
                "tolerations": [dict(each) for each in self.fabric.tolerations],
                **_parts_as_data(parts),
            },
            "admission": {
                "nodeSelector": {**self.admission.node_selector, **label},
                **({"initContainers": [dict(each) for each in self.admission.checks]} if self.admission.checks else {}),
                **waiting,
            },
            **({"storage": {role: each.to_dict() for role, each in self.storage.items()}} if self.storage else {}),
        }


def _parts_as_data(parts: PodParts) -> dict[str, Any]:
    """Only what there is. ``commandPrefix``: the container's own command follows it."""
    out: dict[str, Any] = {}
    if parts.volumes:
        out["volumes"] = [dict(each) for each in parts.volumes]
        out["volumeMounts"] = [{"name": name, "mountPath": path} for name, path in parts.mounts.items()]
    if parts.sidecar:
        out["initContainers"] = [dict(parts.sidecar)]
    if parts.claim:
        out["claim"] = {"name": parts.claim.name, "resourceClaimTemplateName": parts.claim.template}
        out["claimTemplate"] = dict(parts.claim.template_spec)
    if parts.environment_script:
        out["commandPrefix"] = entry(parts.environment_script)
    return out


def entry(script: str) -> list[str]:
    """What a container's command begins with where a script sets its environment; the command itself follows."""
    return ["/bin/sh", "-c", (files("gpufabric.plan") / "fabric_entry.sh").read_text("utf-8"), script]


def merge_fabric(merge: Merge, fabric: PodFabric) -> None:
    """Put the fabric part into a pod. The gate's rank pods and ``apply_to`` both come through here, and nowhere else."""
    merge.resources({key: str(count) for key, count in fabric.resources.items()})
    merge.environment(fabric.environment)
    merge.capabilities(fabric.capabilities)
    merge.annotations(fabric.annotations)
    merge.tolerations(fabric.tolerations)
    if fabric.shared_memory:
        merge.volume({"name": SHM, "emptyDir": {"medium": "Memory"}}, mount_path="/dev/shm")  # noqa: S108 - the pod's, not ours
    merge_parts(merge, fabric.parts)


def merge_parts(merge: Merge, parts: PodParts) -> None:
    """Volumes, sidecar, claim and script of a fabric."""
    for volume in parts.volumes:
        merge.volume(volume, mount_path=parts.mounts.get(volume["name"]))
    if parts.sidecar:
        merge.first_init_container(parts.sidecar)
    if parts.claim:
        merge.claim(parts.claim.name, parts.claim.template)
    if parts.environment_script:
        merge.command_prefix(entry(parts.environment_script))
