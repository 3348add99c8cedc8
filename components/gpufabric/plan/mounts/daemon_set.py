"""The DaemonSet of a mount: the privileged container that mounts, and the agent beside it, which may do nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpufabric.mounts import contract
from gpufabric.plan.agents import TOKEN_MOUNT, program_items, token_volume
from gpufabric.plan.daemons import TOLERATIONS
from gpufabric.spec.mounts import MountSpec

ENDING_S = 30
"""For rclone's own end after the barrier, seconds."""
_AZURE_IDENTITY = "azure.workload.identity/use"


@dataclass(frozen=True, slots=True, kw_only=True)
class MountParts:
    """What has been decided. ``cache_path``: the mount's own folder on the node; None without a cache.

    ``cache_must_exist``: its parent is not made where it is missing; the mount waits for it.
    """

    wish: MountSpec
    object_name: str
    rclone_image: str
    remote: str
    flags: Sequence[str]
    credentials_env: Sequence[Mapping[str, Any]]
    credentials_volume: Mapping[str, Any] | None
    files: Mapping[str, str]
    fingerprint: str
    cache_path: str | None
    drain_seconds: int
    cache_must_exist: bool = False


def daemon_set(parts: MountParts) -> dict[str, Any]:
    """Its spec. ``OnDelete``: a new version must not take the bucket from jobs that run; it starts with the node's next pod."""
    wish = parts.wish
    labels = {"app.kubernetes.io/name": "gpufabric-mount", contract.LABEL_MOUNT: wish.name}
    identity = {_AZURE_IDENTITY: "true"} if wish.bucket.kind == "azure" and not wish.credentials_secret else {}
    annotations = {"prometheus.io/scrape": "true", "prometheus.io/port": str(contract.METRICS_PORT)}
    annotations["gpufabric.dev/fingerprint"] = parts.fingerprint
    pod = {
        "serviceAccountName": parts.object_name,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "priorityClassName": "system-node-critical",
        "terminationGracePeriodSeconds": parts.drain_seconds + ENDING_S,
        "nodeSelector": dict(wish.node_selector or {}),
        "tolerations": [dict(each) for each in TOLERATIONS],
        "containers": [_mount(parts), _agent(parts)],
        "volumes": _volumes(parts),
    }
    return {
        "selector": {"matchLabels": labels},
        "updateStrategy": {"type": "OnDelete"},
        "template": {"metadata": {"labels": {**labels, **identity}, "annotations": annotations}, "spec": pod},
    }


def _mount(parts: MountParts) -> dict[str, Any]:
    name = parts.wish.name
    cache = contract.CACHE_DIR if parts.cache_path else "-"
    mounts = [
        {"name": "mounts", "mountPath": contract.HOST_ROOT, "mountPropagation": "Bidirectional"},
        {"name": "programs", "mountPath": contract.LIB_DIR, "readOnly": True},
        {"name": "config", "mountPath": contract.CONFIG_DIR, "readOnly": True},
        {"name": "run", "mountPath": contract.RUN_DIR},
    ]
    mounts += [{"name": "cache", "mountPath": contract.CACHE_DIR, **_below(parts)}] if parts.cache_path else []
    if parts.credentials_volume:
        mounts.append({"name": "credentials", "mountPath": contract.CREDENTIALS_DIR, "readOnly": True})
    flush = [*contract.FLUSH_COMMAND, "--timeout", str(parts.drain_seconds)]
    barrier = {"preStop": {"exec": {"command": flush}}} if parts.drain_seconds else {}
    return {
        "name": "mount",
        "image": parts.rclone_image,
        "imagePullPolicy": "IfNotPresent",
        "command": [*contract.MOUNT_COMMAND, name, parts.remote, cache, *parts.flags],
        "env": [
            {"name": contract.ENV_FOLDER, "value": contract.folder(contract.HOST_ROOT, name)},
            *(dict(each) for each in parts.credentials_env),
        ],
        # No memory limit: who is killed for memory takes the bucket away from every pod of the node.
        "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}},
        "securityContext": {"privileged": True, "runAsUser": 0},
        "volumeMounts": mounts,
        **({"lifecycle": barrier} if barrier else {}),
        "readinessProbe": {"exec": {"command": ["/bin/sh", "-c", _READY.format(name=name)]}, "periodSeconds": 5},
    }


_READY = f"grep -q ' {contract.HOST_ROOT}/{{name}}/{contract.FILES} .* - fuse' /proc/self/mountinfo"


def _agent(parts: MountParts) -> dict[str, Any]:
    """Root without any capability: the cache's files are root's own. Its token alone lets it report."""
    env = [
        {"name": "PYTHONPATH", "value": contract.LIB_DIR},
        {"name": contract.ENV_NAME, "value": parts.wish.name},
        {"name": contract.ENV_PORT, "value": str(contract.METRICS_PORT)},
        {"name": contract.ENV_NODE, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}},
    ]
    mounts = [
        {"name": "mounts", "mountPath": contract.HOST_ROOT, "mountPropagation": "HostToContainer"},
        {"name": "programs", "mountPath": contract.LIB_DIR, "readOnly": True},
        {"name": "run", "mountPath": contract.RUN_DIR},
    ]
    if parts.cache_path:
        env += [
            {"name": contract.ENV_CACHE, "value": contract.CACHE_DIR},
            {
                "name": contract.ENV_NAMESPACE,
                "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
            },
        ]
        mounts += [
            {"name": "cache", "mountPath": contract.CACHE_DIR, "readOnly": True, **_below(parts)},
            dict(TOKEN_MOUNT),
        ]
    probe = {"httpGet": {"path": "/healthz", "port": "metrics"}}
    return {
        "name": "agent",
        "image": parts.wish.image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(contract.AGENT_COMMAND),
        "env": env,
        "ports": [{"name": "metrics", "containerPort": contract.METRICS_PORT, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}},
        "securityContext": {
            "runAsUser": 0,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
        "readinessProbe": {**probe, "periodSeconds": 5},
        "livenessProbe": {**probe, "periodSeconds": 20, "failureThreshold": 3},
    }


def _volumes(parts: MountParts) -> list[dict[str, Any]]:
    config = {"key": "rclone.conf", "path": "rclone.conf"}
    items = program_items(key for key in parts.files if key != config["key"])
    volumes: list[dict[str, Any]] = [
        {"name": "mounts", "hostPath": {"path": contract.HOST_ROOT, "type": "DirectoryOrCreate"}},
        {"name": "programs", "configMap": {"name": parts.object_name, "items": items}},
        {"name": "config", "configMap": {"name": parts.object_name, "items": [config]}},
        {"name": "run", "emptyDir": {}},
    ]
    if parts.cache_path:
        volumes += [
            {"name": "cache", "hostPath": _cache(parts.cache_path, must_exist=parts.cache_must_exist)},
            token_volume(),
        ]
    return [*volumes, dict(parts.credentials_volume)] if parts.credentials_volume else volumes


def _cache(path: str, *, must_exist: bool) -> dict[str, str]:
    """The mount's own folder, made where it is missing; or the one above it, which is there once its disk is mounted."""
    if must_exist:
        return {"path": path.rpartition("/")[0], "type": "Directory"}
    return {"path": path, "type": "DirectoryOrCreate"}


def _below(parts: MountParts) -> dict[str, str]:
    """The kubelet makes the mount's own folder below one that must exist."""
    return {"subPath": parts.wish.name} if parts.cache_must_exist else {}
