"""SharedFilesystem: one volume and one claim of an NFS server or of a CSI driver, and wishes that make nothing."""

from typing import Any

import pytest

from gpufabric.kubernetes import KubernetesTrainingStack, SharedFilesystem
from tests.kubernetes.mocked import Recording, run, verdicts
from tests.kubernetes.refused import refused
from tests.spec.specs import H100

NFS: dict[str, Any] = {"nfs": {"server": "nfs.example.com", "path": "/export/data"}}
CSI: dict[str, Any] = {
    "csi": {"driver": "lustre.example.com", "handle": "fs-1", "attributes": {"fs": "train"}},
}


def made(args: dict[str, Any], recording: Recording | None = None) -> Recording:
    return run(lambda: SharedFilesystem("data", args), recording=recording)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("args", "kind", "source"),
    [
        (NFS, "nfs", {"server": "nfs.example.com", "path": "/export/data"}),
        (CSI, "csi", {"driver": "lustre.example.com", "volumeHandle": "fs-1", "volumeAttributes": {"fs": "train"}}),
    ],
)
def test_a_volume_is_reserved_for_its_claim(args: dict[str, Any], kind: str, source: dict[str, Any]) -> None:
    recording = made({**args, "claim": "data", "namespace": "ml", "size_gib": 5000, "mount_options": ["nconnect=16"]})
    volume, claim = recording.one("PersistentVolume").inputs, recording.one("PersistentVolumeClaim").inputs
    assert volume["spec"][kind] == source
    assert {"nfs", "csi"} & volume["spec"].keys() == {kind}
    assert volume["spec"]["claimRef"] == {"namespace": "ml", "name": "data"}
    assert (claim["metadata"]["name"], claim["metadata"]["namespace"]) == ("data", "ml")
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert volume["spec"]["accessModes"] == claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert volume["spec"]["capacity"] == {"storage": "5000Gi"} == claim["spec"]["resources"]["requests"]
    assert volume["spec"]["mountOptions"] == ["nconnect=16"]
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain", "what is in it outlives the claim"


def test_another_server_is_another_volume() -> None:
    """Kubernetes lets no source be changed."""
    changes: list[dict[str, Any]] = [{}, {"nfs": {**NFS["nfs"], "path": "/other"}}, {"mount_options": ["nconnect=4"]}]
    names = {made({**NFS, **each}).one("PersistentVolume").inputs["metadata"]["name"] for each in changes}
    assert len(names) == 3


@pytest.mark.parametrize(
    ("args", "line"),
    [
        ({}, "data.nfs: missing: where the files are; write {server: ..., path: ...}, or csi: {driver: ..., handle: ...}"),
        ({**NFS, **CSI}, "data.csi: two places for one file system; leave nfs or csi out"),
        (
            {**NFS, "mount_options": ["soft"]},
            (
                "data.mount_options: soft gives a write up when the server is slow, and the file is damaged; "
                "leave it out: hard is the default (nfs(5))"
            ),
        ),
        (
            {**NFS, "mount_options": ["ro, soft"]},
            "data.mount_options[0]: 'ro, soft' is not one option of mount; write for example nconnect=16",
        ),
        (
            {"nfs": {"server": "nfs", "path": "export"}},
            "data.nfs.path: 'export' is not an absolute path; write for example /export/data",
        ),
        ({**NFS, "size_gib": 0}, "data.size_gib: 0 is out of range; write a number from 1 up"),
    ],
)
def test_refused(args: dict[str, Any], line: str) -> None:
    assert refused(lambda recording: made(args, recording)) == [line]


def declared(filesystems: dict[str, Any], recording: Recording | None = None) -> Recording:
    args: Any = {"node_groups": H100["node_groups"], "validation": H100["validation"], "filesystems": filesystems}
    args["storage"] = {"dataset": {"kind": "shared_filesystem", "filesystem": "data"}}
    cluster = verdicts("gpufabric-dev-train/train-verdict")
    return run(lambda: KubernetesTrainingStack("prod", args), recording=recording, cluster=cluster)


def test_a_stack_makes_the_claims_of_servers_and_of_those_alone() -> None:
    recording = declared({"data": {**NFS, "size_gib": 5000}, "home": {}})
    (made_here,) = recording.of("SharedFilesystem")
    assert made_here.name == "prod-data"
    claim = recording.one("PersistentVolumeClaim").inputs
    assert (claim["metadata"]["name"], claim["metadata"]["namespace"]) == ("data", "default")
    assert claim["spec"]["resources"]["requests"] == {"storage": "5000Gi"}


@pytest.mark.parametrize(
    ("wish", "line"),
    [
        ({**NFS, **CSI}, "prod.filesystems.data.csi: two places for one file system; leave nfs or csi out"),
        (
            {"mount_options": ["nconnect=4"]},
            "prod.filesystems.data.mount_options: the claim exists, and its volume has its own; leave it out, or write nfs",
        ),
    ],
)
def test_a_stack_refuses_what_cannot_be_mounted(wish: dict[str, Any], line: str) -> None:
    assert refused(lambda recording: declared({"data": wish}, recording)) == [line]
