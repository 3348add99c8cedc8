"""Words that the controller shares with the plan and the components: names, labels, ports, environment, permissions."""

from collections.abc import Mapping
from typing import Any, Final

CONTAINER_CONTROLLER: Final = "controller"
"""Also the value of `app.kubernetes.io/component` on its pod (`contract.labels`)."""
CONTROLLER_COMMAND: Final = ("python3", "-m", "gpufabric.validation.controller")

LABEL_PREFIX: Final = "gpufabric.dev/"
"""The gate's accounts change labels and annotations of nodes below this prefix only; an admission policy holds them to it."""
ANNOTATION_HOLD: Final = "gpufabric.dev/hold"
"""Node annotation, JSON, while the controller keeps a node closed: why (WHY_*), reason, at, boot_id; outcome where pending."""
ANNOTATION_FAILED_PAIRS: Final = "gpufabric.dev/failed-pairs"
"""Annotation of a known-good node, JSON list: the last pairs that failed with it as partner; it stays open all the same."""
TAINT_HOLD: Final = "gpufabric.dev/hold"
"""The hold's second lock, where a cloud allows it: the only taint that the gate's accounts may set or take away."""

WHY_NOT_READY: Final = "not-ready"
"""Closed because it was not Ready: opens untested if it comes back in the boot that passed."""
WHY_UNPROVEN: Final = "unproven"
"""Closed because nothing says that it passed in this boot."""
WHY_PENDING: Final = "pending"
"""Waits for nodes to be measured with."""

METRICS_PORT: Final = 8024
ENV_NAME: Final = "GATE_CONTROLLER"
"""Name of the controller: of its Lease, and the beginning of the names of its rank Jobs."""
ENV_POD_NAME: Final = "GATE_POD_NAME"
ENV_POD_UID: Final = "GATE_POD_UID"
EVENT_REASON: Final = "FabricGate"
EVENTS_NAMESPACE: Final = "default"
"""Events about nodes, which have no namespace, must lie there (Kubernetes, event validation)."""

NAMESPACE_RULES: Final[tuple[Mapping[str, Any], ...]] = (
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list", "create", "delete"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "patch"]},
)
"""Rules of the controller's Role in the gate's namespace: its rank Jobs, the group's verdict, its Lease."""
EVENTS_RULES: Final[tuple[Mapping[str, Any], ...]] = ({"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},)
"""Rules of its Role in EVENTS_NAMESPACE."""
CLUSTER_RULES: Final[tuple[Mapping[str, Any], ...]] = (
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
)
"""Rules of its ClusterRole. Pods of every namespace are listed because a job may run in any, and a busy node is left alone."""
