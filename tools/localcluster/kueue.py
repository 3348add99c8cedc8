"""Kueue in a local cluster: the pinned controller as one pod of the system node, installed through the API as anywhere else.

There is no image of its own: the pod is the gate's image with the built program mounted from the host. Certificates are the
cluster's; Kueue's own management would put them into a Secret and wait up to a minute for the kubelet to bring it.
"""

import base64
import json
from pathlib import Path
from typing import Any

import yaml

from tools.errors import ToolError
from tools.folders import locked
from tools.image.recipe import read_recipe
from tools.localcluster.api import object_path
from tools.localcluster.cluster import POOL_LABEL, Cluster, folder_of
from tools.localcluster.lifecycle import LOCK_MESSAGE, existing, require_root
from tools.localcluster.waits import wait_until
from tools.toolchain.build import ensure_built
from tools.toolchain.programs import Program, read_programs, select

NAMESPACE = "kueue-system"
NAME = "kueue-controller-manager"
SERVICE = "kueue-webhook-service"
WEBHOOK_PORT, PROBE_PORT = 9443, 8081
GROUP, VERSION = "kueue.x-k8s.io", "v1beta2"
SERVED_SECONDS, READY_SECONDS = 30.0, 180.0
# Of the frameworks that Kueue can queue only batch/v1 Jobs are switched on: their webhooks, and those of Kueue's own kinds.
WEBHOOKS_FOR = ("batch", GROUP)
SETTINGS = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "namespace": NAMESPACE,
    "health": {"healthProbeBindAddress": f":{PROBE_PORT}"},
    "metrics": {"bindAddress": "0"},
    "webhook": {"port": WEBHOOK_PORT},
    "internalCertManagement": {"enable": False},
    "leaderElection": {"leaderElect": False},  # there is one
    "integrations": {"frameworks": ["batch/job"]},
    # Neither an API server of its own (visibility) nor other clusters (MultiKueue) are wanted here.
    "featureGates": {"VisibilityOnDemand": False, "MultiKueue": False},
}
# Kueue reads the second folder although no metrics are served: without internal certificates it insists on it.
CERTIFICATE_FOLDERS = ("/tmp/k8s-webhook-server/serving-certs", "/etc/kueue/metrics/certs")  # noqa: S108 - in the pod


def install(name: str) -> None:
    """Build Kueue if need be and bring it into a running cluster; on one that has it, correct what differs."""
    require_root()
    (program,) = select(read_programs(), "kueue")
    ensure_built([program])
    cluster = existing(name)
    with locked(folder_of(name), waiting=LOCK_MESSAGE):
        cluster.pki.ensure("kueue", SERVICE, alternative_names=(f"DNS:{SERVICE}.{NAMESPACE}.svc",))
        kinds = definitions(program)
        for name_of_kind, text in kinds.items():
            cluster.api.apply(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name_of_kind}", text)
        wait_until("Kueue's kinds to be served", lambda: kinds.keys() <= _served(cluster), SERVED_SECONDS)  # else it gives up
        for each in objects(cluster, program):
            cluster.api.apply(object_path(each), json.dumps(each))
        wait_until("Kueue to be ready", lambda: _ready(cluster), READY_SECONDS)
    print(f"Kueue {program.version} runs on the system node of cluster {name}")


def definitions(program: Program) -> dict[str, str]:
    """Kueue's CRDs, name -> text: ``kueue.x-k8s.io_workloads.yaml`` holds ``workloads.kueue.x-k8s.io``."""
    files = sorted((program.share / "config/components/crd/bases").glob("*.yaml"))
    if not files:
        raise ToolError(f"{program.share} lacks Kueue's CRDs; remove {program.share.parent} and run the command again")
    return {".".join(reversed(file.stem.split("_"))): file.read_text() for file in files}


def objects(cluster: Cluster, program: Program) -> list[dict[str, Any]]:
    """The rest, in the order in which it is needed; the webhooks last, when somebody can answer soon."""
    return [*_permissions(program), *_controller(cluster, program), *_webhooks(cluster, program)]


def _served(cluster: Cluster) -> set[str]:
    return {f"{each['name']}.{GROUP}" for each in cluster.api.get(f"/apis/{GROUP}/{VERSION}")["resources"]}


def _permissions(program: Program) -> list[dict[str, Any]]:
    """Kueue's own role, no more."""
    role = yaml.safe_load((program.share / "config/components/rbac/role.yaml").read_text())
    role["metadata"]["name"] = f"{NAME}-role"
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _meta(NAME)},
        role,
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{NAME}-role"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"{NAME}-role"},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
        },
    ]


def _controller(cluster: Cluster, program: Program) -> list[dict[str, Any]]:
    pki, labels = cluster.pki, {"app.kubernetes.io/name": "kueue"}
    certificate = {"tls.crt": _base64(pki.certificate("kueue")), "tls.key": _base64(pki.key("kueue"))}
    mounts = [{"name": "certificate", "mountPath": folder, "readOnly": True} for folder in CERTIFICATE_FOLDERS]
    container = {
        "name": "manager",
        "image": read_recipe("gate").reference,
        "command": ["/kueue", "--config=/etc/kueue/config/controller_manager_config.yaml", "--zap-log-level=2"],
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": PROBE_PORT}, "periodSeconds": 1},
        "volumeMounts": [
            *mounts,
            {"name": "config", "mountPath": "/etc/kueue/config", "readOnly": True},
            {"name": "program", "mountPath": "/kueue", "readOnly": True},
        ],
    }
    volumes = [
        {"name": "certificate", "secret": {"secretName": "kueue-webhook-server-cert"}},
        {"name": "config", "configMap": {"name": "kueue-manager-config"}},
        {"name": "program", "hostPath": {"path": str(program.installed), "type": "File"}},
    ]
    pod = {
        "serviceAccountName": NAME,
        "nodeSelector": {POOL_LABEL: "system"},
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": volumes,
    }
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": _meta("kueue-webhook-server-cert"),
            "type": "kubernetes.io/tls",
            "data": certificate,
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": _meta("kueue-manager-config"),
            "data": {"controller_manager_config.yaml": json.dumps(SETTINGS, indent=1)},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": _meta(SERVICE),
            "spec": {"selector": labels, "ports": [{"port": 443, "protocol": "TCP", "targetPort": WEBHOOK_PORT}]},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": _meta(NAME),
            "spec": {
                "replicas": 1,
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
    ]


def _webhooks(cluster: Cluster, program: Program) -> list[dict[str, Any]]:
    found = list(yaml.safe_load_all((program.share / "config/components/webhook/manifests.yaml").read_text()))
    for configuration in found:
        configuration["metadata"] = {"name": f"kueue-{configuration['metadata']['name']}"}
        configuration["webhooks"] = [
            webhook
            for webhook in configuration["webhooks"]
            if all(group in WEBHOOKS_FOR for rule in webhook["rules"] for group in rule["apiGroups"])
        ]
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"]["caBundle"] = _base64(cluster.pki.ca)
            webhook["clientConfig"]["service"] |= {"name": SERVICE, "namespace": NAMESPACE}
    return found


def _ready(cluster: Cluster) -> bool:
    """The pod says so, and the API server reaches its webhooks: a flavor that could be made (a dry run) went through one."""
    if not cluster.api.deployment_ready(NAMESPACE, NAME):
        return False
    flavor = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "ResourceFlavor", "metadata": {"generateName": "probe-"}}
    return bool(cluster.api.create(f"/apis/{GROUP}/{VERSION}/resourceflavors?dryRun=All", flavor))


def _meta(name: str) -> dict[str, str]:
    return {"name": name, "namespace": NAMESPACE}


def _base64(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
