"""Device plugins as DaemonSets: pinned, only where the hardware is, and also on nodes that are held."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpufabric.hardware import UnknownHardwareError
from gpufabric.hardware.daemons import Daemon, daemon
from gpufabric.plan.profile import GPU_TAINT
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.daemons import FabricDaemonsSpec
from gpufabric.validation.contract import HOLD_TOLERATION

TOLERATIONS: Sequence[Mapping[str, str]] = (
    GPU_TAINT,
    HOLD_TOLERATION,  # a held node cannot be validated without its devices
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonPlan:
    """One DaemonSet."""

    name: str
    namespace: str
    spec: Mapping[str, Any]


def plan_daemons(spec: FabricDaemonsSpec) -> tuple[DaemonPlan, ...]:
    """The DaemonSets of a wish; raises :class:`SpecError` with every name that no table knows."""
    problems, plans = [], []
    for position, name in enumerate(spec.daemons):
        try:
            row = daemon(name)
        except UnknownHardwareError as error:
            problems.append(Problem(f"daemons[{position}]", str(error), "write one of the known names"))
        else:
            image = spec.images.get(name, row.image)
            plans.append(DaemonPlan(name=name, namespace=spec.namespace, spec=_daemon_set(row, image)))
    for name in spec.images.keys() - set(spec.daemons):
        problems.append(Problem(f"images.{name}", "no such device plugin is asked for", f"add {name} to daemons"))
    if problems:
        raise SpecError(sorted(problems))
    return tuple(plans)


def _daemon_set(row: Daemon, image: str) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": row.name}
    paths = row.host_paths
    security = (
        {"privileged": True, "run_as_user": 0}
        if row.privileged
        else {"allow_privilege_escalation": False, "capabilities": {"drop": ["ALL"]}}
    )
    container = {
        "name": "plugin",
        "image": image,
        "env": [{"name": name, "value": value} for name, value in sorted(row.environment.items())],
        "security_context": security,
        "resources": {"requests": {"cpu": "10m", "memory": "20Mi"}},
        "volume_mounts": [{"name": name, "mount_path": path} for name, path in paths.items()],
    }
    pod = {
        "automount_service_account_token": False,  # a vendor's image speaks to the kubelet, not to the API
        "priority_class_name": "system-node-critical",
        "affinity": {"node_affinity": {"required_during_scheduling_ignored_during_execution": _where(row)}},
        "tolerations": [dict(each) for each in TOLERATIONS],
        "host_network": row.host_network,
        "containers": [container],
        "volumes": [{"name": name, "host_path": {"path": path, "type": "Directory"}} for name, path in paths.items()],
    }
    return {
        "selector": {"match_labels": labels},
        "update_strategy": {"type": "RollingUpdate", "rolling_update": {"max_unavailable": "10%"}},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }


def _where(row: Daemon) -> dict[str, Any]:
    term: dict[str, Any] = {"key": row.node_label, "operator": "Exists"}
    if row.node_label_value:
        term |= {"operator": "In", "values": [row.node_label_value]}
    return {"node_selector_terms": [{"match_expressions": [term]}]}
