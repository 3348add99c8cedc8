"""Device plugins and installers as DaemonSets: pinned, only where the hardware is, and also on nodes that are held."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from gpufabric.hardware import UnknownHardwareError
from gpufabric.hardware.daemons import Daemon, daemon
from gpufabric.plan.profile import GPU_TAINT
from gpufabric.spec import Problem, SpecError, dotted
from gpufabric.spec.daemons import FabricDaemonsSpec
from gpufabric.validation.contract import HOLD_TOLERATION

TOLERATIONS: Sequence[Mapping[str, str]] = (
    GPU_TAINT,
    HOLD_TOLERATION,  # a held node cannot be validated without its devices
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
)
_ALL: Sequence[Mapping[str, str]] = ({"operator": "Exists"},)
_INSTALLER = {"requests": {"cpu": "150m"}}  # as in Google's manifests; it has ended when jobs run
_ON_THE_NODE = ("nsenter", "--all", "--target", "1", "--")  # process 1 is the node's own: its files, mounts and devices


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
            image = spec.images.get(name)
            problems += _pair_problems(row, image)
            plans.append(DaemonPlan(name=name, namespace=spec.namespace, spec=_daemon_set(row, image)))
    for name in spec.images.keys() - set(spec.daemons):
        problems.append(Problem(f"images.{name}", "no such device plugin is asked for", f"add {name} to daemons"))
    if problems:
        raise SpecError(sorted(problems))
    return tuple(plans)


def _pair_problems(row: Daemon, image: str | None) -> list[Problem]:
    """A mirror of a plugin must hold the version that the sidecars of the pods go with."""
    if image is None or not row.sidecar_image or _version(image) == _version(row.plugin):
        return []
    reason = f"{image} is not {_version(row.plugin)}, and the sidecar of the pods ({row.sidecar_image}) works with that alone"
    return [Problem(dotted("images", [row.name]), reason, f"mirror {row.plugin}", str(row.provenance))]


def _version(image: str) -> str:
    return image.partition("@")[0].rpartition(":")[2]


def _daemon_set(row: Daemon, image: str | None) -> dict[str, Any]:
    """``image``: another one, for the device plugin or, of an installer, for what it installs."""
    labels = {"app.kubernetes.io/name": row.name}
    security = (
        {"privileged": True, "run_as_user": 0}
        if row.privileged
        else {"allow_privilege_escalation": False, "capabilities": {"drop": ["ALL"]}}
    )
    container = {
        "name": "installed" if row.installs else "plugin",
        "image": row.image if row.installs else image or row.image,
        "env": [{"name": name, "value": value} for name, value in sorted(row.environment.items())],
        "security_context": security,
        "resources": {"requests": {"cpu": "10m", "memory": "20Mi"}},
        "volume_mounts": [] if row.installs else _mounts(row.host_paths),
    }
    pod = {
        "automount_service_account_token": False,  # a vendor's image speaks to the kubelet, not to the API
        "priority_class_name": "system-node-critical",
        "affinity": {"node_affinity": {"required_during_scheduling_ignored_during_execution": _where(row)}},
        "tolerations": [dict(each) for each in (_ALL if row.tolerates_all else TOLERATIONS)],
        "host_network": row.host_network,
        **({"host_pid": True} if row.host_pid else {}),
        **({"init_containers": _steps(row, image or row.plugin)} if row.installs else {}),
        "containers": [container],
        "volumes": _volumes(row),
    }
    return {
        "selector": {"match_labels": labels},
        "update_strategy": {"type": "RollingUpdate", "rolling_update": {"max_unavailable": "10%"}},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }


def _steps(row: Daemon, image: str) -> list[dict[str, Any]]:
    """What an installer does, one after the other; the plugin's image has the program that enters the node, too."""
    install = ["/bin/sh", "-c", _script(row.install_script)]
    steps = [{"name": "install", "command": install, "volume_mounts": _mounts(row.install_mounts)}]
    if row.host_script:
        on_node = [*_ON_THE_NODE, "sh", "-c", _script(row.host_script)]
        steps.insert(0, {"name": "node", "command": on_node, "volume_mounts": []})
    of_all = {"image": image, "security_context": {"privileged": True, "run_as_user": 0}, "resources": _INSTALLER}
    return [{**step, **of_all} for step in steps]


def _script(name: str) -> str:
    return (files("gpufabric.plan") / "daemon_scripts" / name).read_text("utf-8")


def _volumes(row: Daemon) -> list[dict[str, Any]]:
    """A device plugin's folders must be there; an installer makes its own."""
    kind = "DirectoryOrCreate" if row.installs else "Directory"
    return [{"name": name, "host_path": {"path": path, "type": kind}} for name, path in row.host_paths.items()]


def _mounts(paths: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "mount_path": path} for name, path in paths.items()]


def _where(row: Daemon) -> dict[str, Any]:
    term: dict[str, Any] = {"key": row.node_label, "operator": "Exists"}
    if row.node_label_values:
        term |= {"operator": "In", "values": list(row.node_label_values)}
    return {"node_selector_terms": [{"match_expressions": [term]}]}
