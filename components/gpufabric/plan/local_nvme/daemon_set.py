"""The DaemonSet: the privileged container that formats and mounts, and the agent beside it, which may write one label."""

from collections.abc import Mapping
from typing import Any

from gpufabric.hardware.local_nvme import nvme_models
from gpufabric.local_nvme import contract
from gpufabric.plan.agents import TOKEN_MOUNT, program_items, token_volume
from gpufabric.plan.daemons import TOLERATIONS
from gpufabric.plan.profile import tolerate
from gpufabric.spec.local_nvme import LocalNvmeSpec

LABELS: Mapping[str, str] = {"app.kubernetes.io/name": "gpufabric-local-nvme"}


def daemon_set(wish: LocalNvmeSpec, object_name: str, files: Mapping[str, str], fingerprint: str) -> dict[str, Any]:
    """Its spec. A new version of it restarts two small programs; the file system stays mounted meanwhile."""
    labels = {**LABELS, "gpufabric.dev/local-nvme": wish.name}
    pod = {
        "serviceAccountName": object_name,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "priorityClassName": "system-node-critical",
        "terminationGracePeriodSeconds": 10,
        "nodeSelector": dict(wish.node_selector),
        "tolerations": [*(dict(each) for each in TOLERATIONS), *map(tolerate, wish.tolerates)],
        "containers": [_disks(wish), _agent(wish)],
        "volumes": _volumes(wish, object_name, files),
    }
    return {
        "selector": {"matchLabels": labels},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
        "template": {
            "metadata": {"labels": labels, "annotations": {"gpufabric.dev/fingerprint": fingerprint}},
            "spec": pod,
        },
    }


def options(wish: LocalNvmeSpec) -> list[str]:
    """What the script is told after folder and number: models of all clouds, unless the wish names disks itself."""
    models = [model for row in nvme_models().values() for model in row.models] if not wish.devices else []
    by_kind = (("--model", models), ("--device", wish.devices), ("--wipe", wish.wipe))
    return [word for option, values in by_kind for value in values for word in (option, value)]


def _parent(wish: LocalNvmeSpec) -> str:
    """What the containers share with the node: what is mounted below it by the one shows in the others."""
    return wish.node_path.rpartition("/")[0]


def _disks(wish: LocalNvmeSpec) -> dict[str, Any]:
    """Privileged: it opens the node's disks and mounts for the node. No token, and no network of the node."""
    marker = f"{wish.node_path}/{contract.MARKER}"
    count = str(wish.disks) if wish.disks else "-"
    return {
        "name": "disks",
        "image": wish.disk_image,
        "imagePullPolicy": "IfNotPresent",
        "command": [*contract.DISKS_COMMAND, wish.node_path, count, *options(wish)],
        "env": [{"name": contract.ENV_PROC, "value": contract.HOST_PROC}],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        "securityContext": {"privileged": True, "runAsUser": 0},
        # Not /dev/termination-log: /dev is the node's here, and the file would stay there.
        "terminationMessagePath": "/run/gpufabric/termination-log",
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "node", "mountPath": _parent(wish), "mountPropagation": "Bidirectional"},
            {"name": "dev", "mountPath": "/dev"},
            {"name": "proc", "mountPath": contract.HOST_PROC, "readOnly": True},
            {"name": "programs", "mountPath": contract.LIB_DIR, "readOnly": True},
        ],
        # It writes: a file system that has shut down can still be looked at.
        "readinessProbe": {
            "exec": {"command": ["/bin/sh", "-c", f"test -e {marker} && touch -c {marker}"]},
            "periodSeconds": 5,
        },
    }


def _agent(wish: LocalNvmeSpec) -> dict[str, Any]:
    """No capability, no write; its token alone lets it write its node's label."""
    return {
        "name": "agent",
        "image": wish.image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(contract.AGENT_COMMAND),
        "env": [
            {"name": "PYTHONPATH", "value": contract.LIB_DIR},
            {"name": contract.ENV_PATH, "value": wish.node_path},
            {"name": contract.ENV_NODE, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}},
        ],
        "resources": {"requests": {"cpu": "10m", "memory": "48Mi"}},
        "securityContext": {
            "runAsUser": 65534,
            "runAsNonRoot": True,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [
            {"name": "node", "mountPath": _parent(wish), "mountPropagation": "HostToContainer", "readOnly": True},
            {"name": "programs", "mountPath": contract.LIB_DIR, "readOnly": True},
            dict(TOKEN_MOUNT),
        ],
    }


def _volumes(wish: LocalNvmeSpec, object_name: str, files: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {"name": "node", "hostPath": {"path": _parent(wish), "type": "DirectoryOrCreate"}},
        {"name": "dev", "hostPath": {"path": "/dev", "type": "Directory"}},
        {"name": "proc", "hostPath": {"path": "/proc", "type": "Directory"}},
        {"name": "programs", "configMap": {"name": object_name, "items": program_items(files)}},
        token_volume(),
    ]
