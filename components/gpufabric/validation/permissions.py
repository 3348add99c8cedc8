"""What the gate's service accounts may do: exactly what their programs call. RBAC rules, as the components write them."""

from collections.abc import Mapping
from typing import Any, Final

Rule = Mapping[str, Any]

_RANKS: Final[tuple[Rule, ...]] = (
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list", "create", "delete"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"]},  # both for a server-side apply
)
_NODES: Final[tuple[Rule, ...]] = (
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},  # a job may run in any namespace; a busy node is left alone
)
_EVENTS: Final[Rule] = {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}
_EVICTION: Final[Rule] = {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}


def coordinator_in_namespace(verdict: str) -> list[Rule]:
    """Rules of the coordinator's Role. It reads one ConfigMap, the last `verdict`: whether `run` was raised since."""
    read = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [verdict], "verbs": ["get"]}
    return [*_RANKS, read, _EVENTS]


def coordinator_in_cluster(run: int) -> list[Rule]:
    """Rules of its ClusterRole. It may evict only where `validation.run` was ever raised: nothing else drains a node."""
    return [*_NODES, *([_EVICTION] if may_drain(run) else [])]


def may_drain(run: int) -> bool:
    """Whether a coordinator of this `run` could find that it was raised: the first one is 1."""
    return run > 1


CONTROLLER_IN_NAMESPACE: Final[tuple[Rule, ...]] = (
    *_RANKS,
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "patch"]},
)
"""Rules of the controller's Role in the gate's namespace: its rank Jobs, the group's verdict, its Lease."""
CONTROLLER_EVENTS: Final[tuple[Rule, ...]] = (_EVENTS,)
"""Rules of its Role in `controller_contract.EVENTS_NAMESPACE`."""
CONTROLLER_IN_CLUSTER: Final[tuple[Rule, ...]] = _NODES
"""Rules of its ClusterRole. It never evicts."""
