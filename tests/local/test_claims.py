"""Volumes and claims of buckets and file servers in a real cluster: each claim gets its own volume, and nobody else does."""

from collections.abc import Callable
from typing import Any

import pytest
from pulumi import ComponentResource

from gpufabric.kubernetes import BucketMount, SharedFilesystem
from gpufabric.preflight import connect
from gpufabric.validation.api import path
from tests.kubernetes.mocked import run
from tests.local.acceptance import Server, declared
from tests.local.conftest import LocalCluster
from tests.plan.mounts.wishes import CSI
from tools.localcluster.waits import wait_until

pytestmark = pytest.mark.local

VOLUME, CLAIM = "PersistentVolume", "PersistentVolumeClaim"
NFS: Any = {"nfs": {"server": "nfs.example.com", "path": "/export/data"}, "mount_options": ["nconnect=16"]}
MADE: dict[str, Callable[[], ComponentResource]] = {
    "gcsfuse": lambda: BucketMount("models", CSI["gcsfuse"]),  # type: ignore[arg-type]
    "mountpoint": lambda: BucketMount("models", CSI["mountpoint"]),  # type: ignore[arg-type]
    "nfs": lambda: SharedFilesystem("data", NFS),
}


def rival(mode: str) -> dict[str, Any]:
    """A claim that asks for any volume of its kind."""
    spec = {"accessModes": [mode], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": CLAIM, "metadata": {"name": "rival", "namespace": "default"}, "spec": spec}


@pytest.mark.parametrize("kind", MADE)
def test_a_claim_is_bound_to_its_own_volume_and_another_one_to_none(kind: str, cluster: LocalCluster) -> None:
    api = connect(str(cluster.kubeconfig), None)
    server, objects = Server(api), {each["kind"]: each for each in declared(run(MADE[kind]))}
    assert objects.keys() == {VOLUME, CLAIM}
    volume, claim = objects[VOLUME], objects[CLAIM]
    other = rival(volume["spec"]["accessModes"][0])

    def found(name: str) -> dict[str, Any]:
        return dict(api.get(path("persistentvolumeclaims", name, namespace="default")))

    try:
        for each in (other, volume, claim):  # the rival waits before there is a volume
            server.make(each)
        name = claim["metadata"]["name"]
        wait_until("the claim to be bound", lambda: found(name)["status"]["phase"] == "Bound", 60)
        assert found(name)["spec"]["volumeName"] == volume["metadata"]["name"]
        assert found("rival")["status"]["phase"] == "Pending"
    finally:
        for name in ("rival", claim["metadata"]["name"]):
            api.delete(path("persistentvolumeclaims", name, namespace="default"))
        api.delete(path("persistentvolumes", volume["metadata"]["name"]))
