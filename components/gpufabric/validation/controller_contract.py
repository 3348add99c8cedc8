"""Words that the controller shares with the plan and the components: names, labels, ports, environment."""

from typing import Final

CONTAINER_CONTROLLER: Final = "controller"
"""Also the value of `app.kubernetes.io/component` on its pod (`contract.labels`)."""
CONTROLLER_COMMAND: Final = ("python3", "-m", "gpufabric.validation.controller")

LABEL_PREFIX: Final = "gpufabric.dev/"
"""The gate's accounts change labels and annotations of nodes below this prefix only; an admission policy holds them to it."""
ANNOTATION_FAILED_PAIRS: Final = "gpufabric.dev/failed-pairs"
"""Annotation of a known-good node, JSON list: the last pairs that failed with it as partner; it stays open all the same."""
WHY_NOT_READY: Final = "not-ready"
"""Closed because it was not Ready: opens untested if it comes back in the boot that passed."""
WHY_UNPROVEN: Final = "unproven"
"""Closed because nothing says that it passed in this boot."""
WHY_PENDING: Final = "pending"
"""Waits for nodes to be measured with."""
WHY_BUSY: Final = "busy"
"""Waits until the pods on it have ended: its outcome is `deferred`."""
WHY_RESERVED: Final = "reserved"
"""A known-good node, closed while a late one is measured with it: opens untested when that is over."""

METRICS_PORT: Final = 8024
ENV_NAME: Final = "GATE_CONTROLLER"
"""Name of the controller: of its Lease, and the beginning of the names of its rank Jobs."""
ENV_PRIORITY_CLASS: Final = "GATE_PRIORITY_CLASS"
"""Name of the PriorityClass of placeholders and of the ranks of a pair; empty or absent: no node is reserved."""
PRIORITY: Final = 1_000_000_000
"""The highest that a class of one's own may have (Kubernetes documentation, Pod Priority); it preempts nobody."""
ENV_POD_NAME: Final = "GATE_POD_NAME"
ENV_POD_UID: Final = "GATE_POD_UID"
EVENT_REASON: Final = "FabricGate"
EVENTS_NAMESPACE: Final = "default"
"""Events about nodes, which have no namespace, must lie there (Kubernetes, event validation)."""
