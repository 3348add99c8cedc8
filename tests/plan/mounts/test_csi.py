"""A bucket by a cloud's CSI driver: what volume, claim and pod say, and what the drivers cannot do."""

from typing import Any

import pytest

from gpufabric.hardware.bucket_drivers import bucket_drivers
from gpufabric.plan.mounts import CsiMountPlan, resolve_bucket_mount
from gpufabric.spec import SpecError
from gpufabric.spec.mounts import BucketMountSpec
from tests.plan.mounts.wishes import AZURE, CSI, GCS, S3

JOB: dict[str, Any] = {"template": {"spec": {"containers": [{"name": "train"}]}}}
BOTH = pytest.mark.parametrize("driver", list(CSI))


def plan_of(by: str, stack: str = "dev", **change: Any) -> CsiMountPlan:
    plan = resolve_bucket_mount(BucketMountSpec.parse({**CSI[by], **change}), stack)
    assert isinstance(plan, CsiMountPlan)
    return plan


def says(by: str, **change: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        plan_of(by, **change)
    return [str(each) for each in caught.value.problems]


def test_what_gcsfuse_is_told() -> None:
    plan = plan_of("gcsfuse")
    assert plan.driver == "gcsfuse.csi.storage.gke.io"
    assert plan.mount_options == ("implicit-dirs", "metadata-cache:ttl-secs:10", "ro")
    assert plan.volume_attributes == {}
    folder = plan_of("gcsfuse", bucket={**GCS, "prefix": "runs/llama"}, purpose="dataset")
    assert folder.mount_options == ("implicit-dirs", "metadata-cache:ttl-secs:300", "only-dir=runs/llama", "ro")


def test_the_handle_of_gcsfuse_is_the_bucket_and_what_tells_volumes_of_it_apart() -> None:
    """The driver cuts the handle at the colon; two volumes with one handle hang the second one in a pod."""
    one, two = plan_of("gcsfuse"), plan_of("gcsfuse", name="train-data")
    assert [each.volume_handle.partition(":")[0] for each in (one, two)] == ["acme-weights"] * 2
    assert one.volume_handle != two.volume_handle


def test_what_mountpoint_is_told() -> None:
    plan = plan_of("mountpoint")
    assert plan.driver == "s3.csi.aws.com"
    assert plan.mount_options == ("region us-east-2", "allow-other", "metadata-ttl 10", "prefix runs/llama/", "read-only")
    assert plan.volume_attributes == {"bucketName": "acme-weights", "authenticationSource": "driver"}
    assert plan_of("mountpoint", dir_cache_s=0).mount_options[2] == "metadata-ttl minimal"


@BOTH
def test_models_are_read_only_unless_it_is_said(driver: str) -> None:
    plan, written = plan_of(driver), plan_of(driver, read_only=False)
    assert (plan.access_mode, written.access_mode) == ("ReadOnlyMany", "ReadWriteMany")
    assert plan.pod.volume["persistentVolumeClaim"]["readOnly"] is True
    assert "readOnly" not in written.pod.volume["persistentVolumeClaim"]
    assert not {"ro", "read-only"} & set(written.mount_options)
    assert any("666" in each for each in written.mount_options), "any user of a container writes"


def test_what_was_read_is_kept_where_it_is_asked_for() -> None:
    assert plan_of("gcsfuse", cache_gib=100).mount_options[-2:] == (
        "file-cache:max-size-mb:102400",
        "file-cache:cache-file-for-range-read:true",
    )
    cache = {"cache": "emptyDir", "cacheEmptyDirSizeLimit": "100Gi"}
    assert cache.items() <= plan_of("mountpoint", cache_gib=100).volume_attributes.items()


@BOTH
def test_a_volume_is_named_after_all_that_it_is(driver: str) -> None:
    """Kubernetes lets neither be changed: what is another volume has another name, and its claim is made anew."""
    here = plan_of(driver)
    bucket = CSI[driver]["bucket"]
    changes: list[dict[str, Any]] = [
        {"bucket": {**bucket, "prefix": "b"}},
        {"read_only": False},
        {"cache_gib": 5},
        {"dir_cache_s": 7},
        {"name": "b"},
    ]
    others = [plan_of(driver, **each).volume for each in changes]
    assert len({here.volume, plan_of(driver, stack="other").volume, *others}) == 7
    assert plan_of(driver, path="/elsewhere").volume == here.volume
    assert here.volume.startswith(here.claim)
    assert plan_of(driver, stack="other").claim != here.claim, "claims of two stacks are in one namespace"
    longest = plan_of(driver, name="a" * 30, stack="a-stack-of-a-very-long-name")
    assert max(len(longest.claim), len(longest.volume)) <= 63


@BOTH
def test_a_job_gets_the_claim_in_the_folder_where_rclone_would_have_it(driver: str) -> None:
    plan = plan_of(driver)
    merged = plan.pod.apply_to(JOB)["template"]
    (container,) = merged["spec"]["containers"]
    claim = {"claimName": "gpufabric-dev-mount-train-model", "readOnly": True}
    assert merged["spec"]["volumes"] == [{"name": "mount-train-model", "persistentVolumeClaim": claim}]
    assert container["volumeMounts"] == [{"name": "mount-train-model", "mountPath": "/models/files", "readOnly": True}]
    assert (plan.namespace, plan_of(driver, namespace="ml").namespace) == ("default", "ml")
    assert plan.pod.apply_to({"template": merged})["template"] == merged, "a second time changes nothing"


def test_gke_is_asked_for_the_sidecar_without_limits() -> None:
    """A sidecar that is killed for memory is 'Transport endpoint is not connected' (gcsfuse troubleshooting)."""
    annotations = plan_of("gcsfuse").pod.apply_to(JOB)["template"]["metadata"]["annotations"]
    assert annotations == {
        "gke-gcsfuse/volumes": "true",
        "gke-gcsfuse/cpu-limit": "0",
        "gke-gcsfuse/memory-limit": "0",
        "gke-gcsfuse/ephemeral-storage-limit": "0",
    }
    assert plan_of("gcsfuse").pod.to_dict()["podAnnotations"] == annotations
    assert "metadata" not in plan_of("mountpoint").pod.apply_to(JOB)["template"]
    with pytest.raises(TypeError, match="annotations belong to a pod template"):
        plan_of("gcsfuse").pod.apply_to(JOB["template"]["spec"])


@pytest.mark.parametrize(
    ("driver", "change", "line"),
    [
        (
            "gcsfuse",
            {"bucket": S3},
            "driver: gcsfuse mounts buckets of kind gcs, this one is s3; leave it out",
        ),
        (
            "mountpoint",
            {"bucket": AZURE},
            "driver: mountpoint mounts buckets of kind s3, this one is azure; leave it out",
        ),
        (
            "mountpoint",
            {"bucket": {**S3, "endpoint": "https://s3.example.com"}},
            "driver: mountpoint mounts buckets of AWS alone, this one is elsewhere; leave it out",
        ),
        ("mountpoint", {"bucket": {**S3, "provider": "Ceph"}}, "driver: mountpoint mounts buckets of AWS alone, this one"),
        ("mountpoint", {"bucket": {"kind": "s3", "name": "acme-weights"}}, "bucket.region: missing"),
        ("gcsfuse", {"image": "ghcr.io/acme/gate:1.2"}, "image: rclone's own; gcsfuse is the cluster's driver; leave it out"),
        (
            "mountpoint",
            {"credentials_secret": "keys", "namespace": "ml"},
            "credentials_secret: rclone's own; mountpoint is the",
        ),
        ("mountpoint", {"read_streams": 4}, "read_streams: rclone's own; mountpoint is the cluster's driver; leave it out"),
        ("gcsfuse", {"purpose": "checkpoint"}, "purpose: without a cache a file can be neither changed nor appended to"),
        ("mountpoint", {"purpose": "checkpoint"}, "purpose: without a cache a file can be neither changed nor appended to"),
        ("gcsfuse", {"cache_gib": 0}, "cache_gib: 0 is out of range"),
        ("gcsfuse", {"driver": "gscfuse"}, "driver: 'gscfuse' is not"),
        ("gcsfuse", {"driver": "rclone", "cache_gib": 5}, "cache_gib: rclone keeps nothing here; use CachedMount"),
        ("gcsfuse", {"driver": "rclone"}, "image: missing: rclone runs on the nodes"),
    ],
)
def test_refused(driver: str, change: dict[str, Any], line: str) -> None:
    assert [each for each in says(driver, **change) if each.startswith(line)]


def test_the_table_names_what_a_cluster_has() -> None:
    rows = bucket_drivers()
    assert {name: row.bucket for name, row in rows.items()} == {"gcsfuse": "gcs", "mountpoint": "s3"}
    assert [bool(row.addon) and row.addon_version.startswith("v2.") for row in rows.values()] == [False, True]
