"""The rank pods as data, and what is wrong with them. Pure: API objects in, findings out."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from gpufabric.validation import contract, measurement
from gpufabric.validation.api import Json

INDEX_KEY: Final = "batch.kubernetes.io/job-completion-index"
JOB_KEY: Final = "batch.kubernetes.io/job-name"

IMAGE_REASONS: Final = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError")
CREATE_REASONS: Final = ("CreateContainerError", "CreateContainerConfigError", "RunContainerError", "CrashLoopBackOff")
AT_ONCE: Final = ("InvalidImageName", "ErrImageNeverPull")
"""These do not get better by waiting."""


@dataclass(frozen=True)
class Container:
    """A container's state: `kind` is waiting | running | terminated, or empty before the kubelet has said anything."""

    name: str
    image: str
    kind: str = ""
    reason: str = ""
    message: str = ""
    exit_code: int | None = None

    @property
    def failed(self) -> bool:
        return self.kind == "terminated" and self.exit_code != 0


@dataclass(frozen=True)
class Pod:
    """A rank pod. `disruption`: why the cluster takes it away (eviction, preemption, taint), empty otherwise."""

    name: str
    index: int
    node: str
    phase: str
    deleting: bool
    disruption: str
    unschedulable: str
    containers: dict[str, Container] = field(default_factory=dict)
    job: str = ""

    def container(self, name: str) -> Container:
        return self.containers.get(name) or Container(name, "")

    @property
    def where(self) -> str:
        return f"pod {self.name}{f' on node {self.node}' if self.node else ''}"

    @property
    def started(self) -> bool:
        """Its rank container runs or ran."""
        return self.container(contract.CONTAINER_RANK).kind in ("running", "terminated")


def of(raw: Json) -> Pod:
    """A Pod object of the API -> Pod."""
    meta, spec, status = raw.get("metadata") or {}, raw.get("spec") or {}, raw.get("status") or {}
    conditions = {each.get("type"): each for each in status.get("conditions") or []}
    scheduled, disrupted = conditions.get("PodScheduled") or {}, conditions.get("DisruptionTarget") or {}
    disruption = ""
    if status.get("reason") in ("Evicted", "NodeLost", "Preempting", "NodeShutdown", "Terminated", "UnexpectedAdmissionError"):
        disruption = f"{status['reason']}: {status.get('message', '')}".strip(": ")
    elif disrupted.get("status") == "True":
        disruption = f"{disrupted.get('reason', '')}: {disrupted.get('message', '')}".strip(": ")
    waits = scheduled.get("status") == "False" and scheduled.get("reason") == "Unschedulable"
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    index = str(labels.get(INDEX_KEY, annotations.get(INDEX_KEY, "")))
    # Init containers first: one that cannot start keeps the others waiting, and is the one to tell of.
    states = (status.get("initContainerStatuses") or []) + (status.get("containerStatuses") or [])
    return Pod(
        name=str(meta.get("name")),
        index=int(index) if index.isascii() and index.isdigit() else -1,
        node=str(spec.get("nodeName") or ""),
        phase=str(status.get("phase") or "Pending"),
        deleting=bool(meta.get("deletionTimestamp")),
        disruption=disruption,
        unschedulable=str(scheduled.get("message") or "no reason given") if waits else "",
        containers={each["name"]: _container(each, spec) for each in states},
        job=str(labels.get(JOB_KEY, "")),
    )


def _container(raw: Json, spec: Json) -> Container:
    state: dict[str, Any] = raw.get("state") or {}
    kind = next((each for each in ("terminated", "running", "waiting") if each in state), "")
    said = state.get(kind) or {}
    all_declared = (spec.get("initContainers") or []) + (spec.get("containers") or [])
    declared = next((each.get("image") for each in all_declared if each.get("name") == raw["name"]), "")
    return Container(
        name=raw["name"],
        image=str(declared or raw.get("image") or ""),
        kind=kind,
        reason=str(said.get("reason") or ""),
        message=str(said.get("message") or "").strip(),
        exit_code=int(said["exitCode"]) if "exitCode" in said else None,
    )


def measurements(pods: Iterable[Pod]) -> Iterator[tuple[str, measurement.Measurement]]:
    """Node and measurement of the judges that have spoken."""
    for pod in pods:
        judge = pod.container(contract.CONTAINER_JUDGE)
        found = measurement.parse(judge.message) if judge.kind == "terminated" else None
        if found is not None and pod.node:
            yield pod.node, found


def taken_away(pods: Iterable[Pod]) -> str:
    """A pod that the cluster evicts, preempts or has lost."""
    for pod in pods:
        if pod.disruption:
            return f"{pod.where} was taken away by the cluster: {pod.disruption}"
    return ""


def crashed(pods: Iterable[Pod]) -> str:
    """A rank other than 0, or its helper, that ended with an error. Rank 0 is the judge's to explain."""
    for pod in pods:
        rank, helper = pod.container(contract.CONTAINER_RANK), pod.container(contract.CONTAINER_JUDGE)
        if pod.index != 0 and rank.failed:
            return f"rank {pod.index} ({pod.where}) {ended(rank)}"
        if pod.index != 0 and helper.failed:
            said = measurement.parse(helper.message)
            return f"the key helper of rank {pod.index} ({pod.where}) {said.reason if said else ended(helper)}"
    return ""


def with_nodes(text: str, job: str, pods: Iterable[Pod]) -> str:
    """The text with the node behind each host of a rank Job (`train-ranks-1`, also with a domain) at its first mention."""
    where = {str(pod.index): pod.node for pod in pods if pod.node}

    def told(found: re.Match[str]) -> str:
        node = where.pop(found[1], "")
        return f"{found[0]} (node {node})" if node else found[0]

    return re.sub(rf"(?<![\w-]){re.escape(job)}-([0-9]+)(?:\.[\w.-]*\w)?(?![\w-])", told, text)


def ended(container: Container) -> str:
    """`ended with exit code 137 (OOMKilled): …`."""
    reason = f" ({container.reason})" if container.reason not in ("", "Error") else ""
    return f"ended with exit code {container.exit_code}{reason}{f': {container.message}' if container.message else ''}"


def waiting_image(pod: Pod) -> Container | None:
    """The container whose image cannot be had, if any."""
    return next((each for each in pod.containers.values() if each.kind == "waiting" and each.reason in IMAGE_REASONS), None)


def waiting_create(pod: Pod) -> Container | None:
    """The container that cannot be created or started, if any."""
    return next((each for each in pod.containers.values() if each.kind == "waiting" and each.reason in CREATE_REASONS), None)


def not_started(pods: Iterable[Pod], wanted: int) -> str:
    """What each rank that does not run yet is waiting for; empty if all run."""
    by_index = {pod.index: pod for pod in pods}
    out: list[str] = []
    for index in range(wanted):
        pod = by_index.get(index)
        if pod is None:
            out.append(f"rank {index}: no pod yet")
        elif pod.unschedulable:
            out.append(f"pod {pod.name} cannot be scheduled: {pod.unschedulable}")
        elif not pod.started:
            rank = pod.container(contract.CONTAINER_RANK)
            said = ": ".join(each for each in (rank.reason, rank.message) if each)
            out.append(f"{pod.where} is {pod.phase}{f' ({said})' if said else ''}")
    return "; ".join(out[:4]) + (f"; and {len(out) - 4} more" if len(out) > 4 else "")
