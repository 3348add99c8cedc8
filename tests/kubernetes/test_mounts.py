"""Mounted buckets as components: what they create, in which order it goes away, and that a wrong wish makes nothing."""

from typing import Any, cast

import pytest

from gpufabric.kubernetes import BucketMount, CachedMount
from gpufabric.mounts import contract
from gpufabric.spec import SpecError
from tests.kubernetes.mocked import Recording, run
from tests.plan.mounts.wishes import CACHED, CSI, MOUNT


def made(kind: Any, args: dict[str, Any]) -> Recording:
    return run(lambda: kind("ckpt", cast(Any, args)))


def test_the_children_of_a_cached_mount() -> None:
    recording = made(CachedMount, CACHED)
    component = recording.one("CachedMount")
    assert {each.name: each.inputs["metadata"]["name"] for each in recording.resources if each.parent == component.label} == {
        "ckpt-account": "mount-ckpt",
        "ckpt-daemon-set": "mount-ckpt",
        "ckpt-guard": "gpufabric-dev-mount-ckpt-guard",
        "ckpt-guard-binding": "gpufabric-dev-mount-ckpt-guard",
        "ckpt-namespace": "gpufabric-dev-mount-ckpt",
        "ckpt-programs": "mount-ckpt",
        "ckpt-role": "mount-ckpt",
        "ckpt-role-binding": "mount-ckpt",
    }
    (namespace,) = recording.of("Namespace")
    assert namespace.inputs["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


def test_the_daemon_set_goes_first_and_its_guard_is_still_there() -> None:
    """Dependents are deleted first: the guard answers the DaemonSet's deletion, and a refusal leaves all of the mount."""
    recording = made(CachedMount, CACHED)
    (daemon_set,) = recording.of("DaemonSet")
    depends_on = " ".join(daemon_set.options["dependencies"])
    for kind in ("ValidatingAdmissionPolicyBinding", "ConfigMap", "ServiceAccount", "RoleBinding"):
        assert kind in depends_on, kind
    assert daemon_set.inputs["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"
    assert contract.ANNOTATION_CACHE in daemon_set.inputs["metadata"]["annotations"]


def test_a_plain_mount_reports_nothing_and_is_guarded_by_nothing() -> None:
    recording = made(BucketMount, MOUNT)
    kinds = {each.type.rpartition(":")[2] for each in recording.resources}
    assert kinds == {"BucketMount", "Namespace", "ServiceAccount", "ConfigMap", "DaemonSet"}


def test_an_existing_namespace_stays_as_it_is() -> None:
    recording = made(CachedMount, {**CACHED, "namespace": "ml", "credentials_secret": "keys"})
    assert recording.of("Namespace") == []
    (daemon_set,) = recording.of("DaemonSet")
    assert daemon_set.inputs["metadata"]["namespace"] == "ml"


def test_the_programs_are_all_that_run_and_find_each_other() -> None:
    (programs,) = made(CachedMount, CACHED).of("ConfigMap")
    data = programs.inputs["data"]
    assert {"mounts.mount.sh", "mounts.flush.sh", "mounts.agent.py", "validation.api.py", "rclone.conf"} <= data.keys()
    assert sum(len(text) for text in data.values()) < 500_000, "a ConfigMap holds 1 MiB"
    imported = {
        line.split()[1].removeprefix("gpufabric.")
        for text in data.values()
        for line in text.splitlines()
        if line.startswith("from gpufabric.")
    }
    missing = {f"{each}.py" for each in imported if "." in each} - data.keys()
    assert missing == set()


def test_the_outputs() -> None:
    recording = made(CachedMount, CACHED)
    outputs = recording.one("CachedMount").outputs
    assert outputs is not None
    assert outputs["pod"]["files"] == "/checkpoints/files"
    assert outputs["pod"]["flush"] == ["/bin/sh", "/checkpoints/flush"]
    assert outputs["daemon_set"] == "id-of-ckpt-daemon-set"


@pytest.mark.parametrize("kind", [CachedMount, BucketMount])
def test_refused_before_anything_is_registered(kind: Any) -> None:
    recording, args = Recording(), {**(CACHED if kind is CachedMount else MOUNT), "image": "gate:latest"}
    with pytest.raises(SpecError, match=r"ckpt\.image: gate:latest is not pinned"):
        run(lambda: kind("ckpt", cast(Any, args)), recording=recording)
    assert recording.resources == []


@pytest.mark.parametrize("driver", list(CSI))
def test_a_bucket_by_a_csi_driver_is_a_volume_and_its_claim(driver: str) -> None:
    recording = made(BucketMount, CSI[driver])
    assert {each.type.rpartition(":")[2] for each in recording.resources} == {
        "BucketMount",
        "PersistentVolume",
        "PersistentVolumeClaim",
    }
    volume, claim = recording.one("PersistentVolume"), recording.one("PersistentVolumeClaim")
    meta, spec = claim.inputs["metadata"], claim.inputs["spec"]
    assert (meta["namespace"], spec["volumeName"]) == ("default", volume.inputs["metadata"]["name"])
    assert volume.inputs["spec"]["claimRef"] == {"namespace": "default", "name": meta["name"]}, "nobody else gets it"
    assert {each.inputs["spec"]["storageClassName"] for each in (volume, claim)} == {""}
    assert volume.inputs["spec"]["accessModes"] == spec["accessModes"] == ["ReadOnlyMany"]
    assert volume.inputs["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    outputs = recording.one("BucketMount").outputs or {}
    assert (outputs["daemon_set"], outputs["claim"]) == ("", "id-of-ckpt-claim")
    assert outputs["pod"]["volume"]["persistentVolumeClaim"]["claimName"] == meta["name"]
