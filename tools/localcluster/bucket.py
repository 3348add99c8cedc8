"""A bucket in a local cluster: a real S3 server as one pod of the system node, and an image with which nodes mount it.

The keys lie in a Secret that no state knows. The server keeps plain files in a folder of the system node.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tools.errors import ToolError
from tools.folders import locked
from tools.image.derived import derive
from tools.image.recipe import read_recipe
from tools.localcluster import node
from tools.localcluster.api import object_path
from tools.localcluster.cluster import POOL_LABEL, SYSTEM, Cluster, folder_of
from tools.localcluster.lifecycle import LOCK_MESSAGE, existing, require_root
from tools.localcluster.waits import wait_until
from tools.toolchain.build import ensure_built
from tools.toolchain.debian import SEARCH
from tools.toolchain.programs import Program, read_programs, select

NAMESPACE, BUCKET, SECRET = "buckets", "weights", "bucket-keys"
SERVICE, PORT = "s3", 7070
ENDPOINT = f"http://{SERVICE}.{NAMESPACE}:{PORT}"
IMAGE = "localhost/gpufabric/mount:1"
FOLDER = "/var/log/s3"
"""Of the system node; /var/log is a machine's own, as most folders are not."""
KEYS = {"AWS_ACCESS_KEY_ID": "gpufabric", "AWS_SECRET_ACCESS_KEY": "not-a-secret"}
READY_SECONDS = 60.0
FUSE = "/dev/fuse"


def lacking() -> str:
    """Why this machine can have no mounts, in one line; empty where it can. Builds what is not built yet."""
    try:
        os.close(os.open(FUSE, os.O_RDWR))
        ensure_built([_program("rclone"), _program("versitygw")])
    except OSError as error:
        return f"{FUSE}: {error.strerror}"
    except ToolError as error:
        return str(error).partition("\n")[0]
    if shutil.which("fusermount3", path=SEARCH) is None:
        return "no fusermount3 on this machine (Debian: fuse3)"
    return ""


def install(name: str) -> None:
    """Bring the server and the image into a running cluster; where they are, correct what differs."""
    require_root()
    cluster = existing(name)
    with locked(folder_of(name), waiting=LOCK_MESSAGE):
        for each in objects():
            cluster.api.apply(object_path(each), json.dumps(each))
        _load(cluster)
        wait_until("the S3 server to be ready", lambda: cluster.api.deployment_ready(NAMESPACE, SERVICE), READY_SECONDS)


def checksum(name: str, key: str) -> str:
    """SHA-256 of an object as the server keeps it."""
    return existing(name).find_node(SYSTEM).run("sha256sum", f"{FOLDER}/{BUCKET}/{key}").split()[0]


def objects() -> list[dict[str, Any]]:
    """All that is applied."""
    program, labels = _program("versitygw"), {"app": SERVICE}
    script = f"mkdir -p /data/{BUCKET} && exec /versitygw --quiet --port :{PORT} posix /data"
    keys = (("ROOT_ACCESS_KEY", "AWS_ACCESS_KEY_ID"), ("ROOT_SECRET_KEY", "AWS_SECRET_ACCESS_KEY"))
    container = {
        "name": "server",
        "image": read_recipe("gate").reference,
        "command": ["/bin/sh", "-c", script],
        "env": [{"name": env, "valueFrom": {"secretKeyRef": {"name": SECRET, "key": key}}} for env, key in keys],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        "volumeMounts": [
            {"name": "data", "mountPath": "/data"},
            {"name": "program", "mountPath": "/versitygw", "readOnly": True},
        ],
    }
    pod = {
        "nodeSelector": {POOL_LABEL: SYSTEM},
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        "volumes": [
            {"name": "data", "hostPath": {"path": FOLDER, "type": "DirectoryOrCreate"}},
            {"name": "program", "hostPath": {"path": str(program.installed), "type": "File"}},
        ],
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": _meta(SECRET), "stringData": KEYS},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": _meta(SERVICE),
            "spec": {"selector": labels, "ports": [{"port": PORT, "protocol": "TCP"}]},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": _meta(SERVICE),
            "spec": {
                "replicas": 1,
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
    ]


def _load(cluster: Cluster) -> None:
    """The image, on every node that lacks it."""
    without = [each for each in cluster.nodes.values() if IMAGE not in each.run("ctr", "-n", "k8s.io", "images", "ls", "-q")]
    if not without:
        return
    fusermount = shutil.which("fusermount3", path=SEARCH)
    if fusermount is None:
        raise ToolError(lacking())
    with tempfile.TemporaryDirectory(dir=cluster.folder) as folder:
        archive = Path(folder) / "image.tar"
        programs = {"/usr/bin/rclone": _program("rclone").installed, "/usr/bin/fusermount3": Path(fusermount)}
        derive(archive, IMAGE, {path: file.read_bytes() for path, file in programs.items()})
        for machine in without:
            node.import_archive(machine, archive)


def _program(name: str) -> Program:
    (found,) = select(read_programs(), name)
    return found


def _meta(name: str) -> dict[str, str]:
    return {"name": name, "namespace": NAMESPACE}
