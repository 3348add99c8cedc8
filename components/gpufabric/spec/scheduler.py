"""Wishes about the queue in front of the node groups."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gpufabric.spec.base import LABEL_KEY, Namespace, WholeNumber, Wish
from gpufabric.spec.problems import shown

HOST_LEVEL = "kubernetes.io/hostname"
MOST_LEVELS = 16  # of Kueue's Topology, the host included (its CRD, v0.17)
_QUEUE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def _queue(value: str) -> str:
    if not _QUEUE.fullmatch(value):
        raise ValueError(f"{shown(value)} cannot name a queue; write 1 to 63 of a-z, 0-9 and -, not beginning or ending in -")
    return value


def _namespaces(value: list[str]) -> list[str]:
    if not value:
        raise ValueError("empty: no job could be submitted; write the namespaces that jobs are submitted in")
    if len(set(value)) < len(value):
        raise ValueError("a namespace is listed twice; write each once")
    return value


def _levels(value: list[str]) -> list[str]:
    for key in value:
        if not LABEL_KEY.fullmatch(key):
            raise ValueError(
                f"{shown(key)} is not the key of a node label; write it as kubectl get nodes --show-labels shows it"
            )
        if key == "gpufabric.dev/validated":
            raise ValueError(f"{key} says how a node did, not where it stands; leave it out")
    if len(set(value)) < len(value):
        raise ValueError("a label is listed twice; write each once, the widest first")
    if HOST_LEVEL in value[:-1]:
        raise ValueError(f"{HOST_LEVEL} is the narrowest level; write it last, or leave it out")
    if len(value) - (HOST_LEVEL in value) >= MOST_LEVELS:
        raise ValueError(f"more than {MOST_LEVELS - 1} levels above the host; leave some out")
    return value


QueueName = Annotated[str, AfterValidator(_queue)]


class SchedulerSpec(Wish):
    """Who decides when a job starts. Absent: Kubernetes alone, and a job that comes too early has pods that wait."""

    kind: Literal["kueue"]
    """``kueue``: jobs wait in a queue, with nothing running, until validated nodes are free for all of their pods."""
    installed: bool = True
    """Kueue is in the cluster already. ``false``: not built yet."""
    queue: QueueName | None = None
    """Name of the LocalQueues, which jobs carry as a label. Default: the group's name."""
    cluster_queue: QueueName | None = None
    """Name of the ClusterQueue. Default: ``gpufabric-<stack>-<group>``."""
    namespaces: Annotated[list[Namespace], AfterValidator(_namespaces)] = Field(default_factory=lambda: ["default"])
    """Existing namespaces that jobs are submitted in; each gets a LocalQueue. Default: ``default``."""
    topology_levels: Annotated[list[str], AfterValidator(_levels)] = Field(default_factory=list)
    """Node labels that say where a node stands, the widest first, such as a block's and a rack's; every node of the group
    has them all. Jobs are placed close together by them. ``kubernetes.io/hostname`` is always the last. Default: that alone."""


class ProvisioningSpec(Wish):
    """Nodes that are asked for when the turn of a job comes, all of them at once; none is there before."""

    kind: Literal["gke_queued"]
    """``gke_queued``: a queued node pool of GKE, by Dynamic Workload Scheduler."""
    max_run_seconds: Annotated[WholeNumber, Field(ge=600, le=604_800)] | None = None
    """How long the nodes of a job live, 600 to 604,800 seconds. Default: GKE's, seven days."""


class GroupSchedulerSpec(SchedulerSpec):
    """The queue in front of one group."""

    provisioning: ProvisioningSpec | None = None
    """Who is asked for the nodes of a group that has none before a job's turn; it needs ``preflight``. Default: they are
    there, and the gate validates them."""
