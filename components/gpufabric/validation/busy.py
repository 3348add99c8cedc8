"""Which nodes are busy, and with what: pods that somebody would miss, were the node taken away from them.

Not those of DaemonSets, static pods, the gate's own, nor the cluster's own: CoreDNS may stand on any node, and is no job.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gpufabric.validation.api import Api, Json, path
from gpufabric.validation.words import listed

ALIVE: Final = "status.phase!=Succeeded,status.phase!=Failed"
"""Field selector of pods that have not ended."""
MOST_LOOKUPS: Final = 16
"""Nodes whose pods are asked for one by one; of more, all pods are listed."""
_DONE: Final = ("Succeeded", "Failed")
_CLUSTERS_OWN: Final = ("system-cluster-critical", "system-node-critical")
"""Kubernetes' own priority classes, for what the cluster itself needs (Kubernetes documentation, Pod Priority)."""
_MOST_PODS_TOLD: Final = 2


@dataclass(frozen=True)
class Occupant:
    """A pod on a node. `controlled`: somebody starts it again elsewhere; `ending`: it is on its way out."""

    node: str
    namespace: str
    name: str
    uid: str
    controlled: bool = False
    ending: bool = False

    @property
    def where(self) -> str:
        return f"{self.namespace}/{self.name}"


def occupants(pods: Iterable[Json], namespace: str) -> list[Occupant]:
    """The pods that make a node busy. `namespace`: the gate's."""
    return [_occupant(pod) for pod in pods if (pod.get("spec") or {}).get("nodeName") and _counts(pod, namespace)]


def on(api: Api, names: Sequence[str], namespace: str) -> list[Occupant]:
    """Those on these nodes, at this moment."""
    wheres = [f"spec.nodeName={name}," for name in names] if len(names) <= MOST_LOOKUPS else [""]
    found = [pod for where in wheres for pod in occupants(api.each(path("pods"), fields=where + ALIVE), namespace)]
    return sorted({pod for pod in found if pod.node in names}, key=lambda pod: (pod.node, pod.where))


def told(found: Sequence[Occupant]) -> str:
    """`n0 (default/a, default/b and 3 more), n1 (default/c)`."""
    by_node: dict[str, list[str]] = {}
    for pod in found:
        by_node.setdefault(pod.node, []).append(pod.where)
    return listed([f"{node} ({_some(pods)})" for node, pods in by_node.items()], most=8)


def _some(pods: Sequence[str]) -> str:
    more = f" and {len(pods) - _MOST_PODS_TOLD} more" if len(pods) > _MOST_PODS_TOLD else ""
    return ", ".join(pods[:_MOST_PODS_TOLD]) + more


def _occupant(pod: Json) -> Occupant:
    meta = pod["metadata"]
    return Occupant(
        node=str(pod["spec"]["nodeName"]),
        namespace=str(meta.get("namespace") or "default"),
        name=str(meta.get("name")),
        uid=str(meta.get("uid") or ""),
        controlled=any(owner.get("controller") for owner in meta.get("ownerReferences") or []),
        ending=bool(meta.get("deletionTimestamp")),
    )


def _counts(pod: Json, namespace: str) -> bool:
    meta, spec = pod["metadata"], pod["spec"]
    if (pod.get("status") or {}).get("phase") in _DONE or "kubernetes.io/config.mirror" in (meta.get("annotations") or {}):
        return False
    if any(owner.get("kind") == "DaemonSet" for owner in meta.get("ownerReferences") or []):
        return False
    return not (spec.get("priorityClassName") in _CLUSTERS_OWN or _ours(meta, namespace))


def _ours(meta: Mapping[str, object], namespace: str) -> bool:
    labels = meta.get("labels")
    named = isinstance(labels, Mapping) and labels.get("app.kubernetes.io/name") == "gpufabric-gate"
    return named and meta.get("namespace") == namespace
