"""Who mounts the bucket of a role: the cloud's own driver where the stack makes the cluster, rclone where it is asked for."""

from typing import Any

import pytest

from gpufabric.plan import explain
from gpufabric.plan.aws.mountpoint import mountpoint_stores
from gpufabric.plan.mounts import BucketMountPlan, CsiMountPlan
from gpufabric.plan.storage.model import RolePlan
from gpufabric.plan.storage.stack import bucket_accounts, bucket_readers
from tests.plan.aws import wishes as aws
from tests.plan.aws.test_any_value import FOUND as EKS
from tests.plan.gcp import wishes as gcp
from tests.plan.gcp.test_any_value import FOUND as GKE
from tests.spec.specs import changed

STORES = {"stores": {"weights": {"name": "acme-weights"}}}
AWS: dict[str, Any] = {**aws.P5, **STORES}
GCP: dict[str, Any] = {**gcp.ULTRA, **STORES}
SMALL: dict[str, Any] = changed(
    GCP,
    node_groups=[
        {"name": "train", "machine_type": "g2-standard-96", "nodes": 2, "network_tier": "standard", "disk_tier": "network"}
    ],
)


def wishes_of(raw: dict[str, Any]) -> Any:
    return gcp if raw["cloud"] == "gcp" else aws


def roles_of(raw: dict[str, Any], **storage: Any) -> dict[str, RolePlan]:
    return {plan.role: plan for plan in wishes_of(raw).plan_of({**raw, "storage": storage}).storage}


def says(raw: dict[str, Any], **storage: Any) -> list[str]:
    found: list[str] = wishes_of(raw).says({**raw, "storage": storage})
    return found


@pytest.mark.parametrize(
    ("raw", "wish", "driver"),
    [
        (AWS, {}, "mountpoint"),
        (GCP, {}, "gcsfuse"),
        (AWS, {"driver": "rclone"}, "rclone"),
        (GCP, {"driver": "rclone"}, "rclone"),
        (GCP, {"kind": "bucket", "driver": "rclone"}, "rclone"),
        (GCP, {"kind": "bucket"}, "gcsfuse"),
        (GKE, {"driver": "gcsfuse"}, "gcsfuse"),
        (EKS, {"driver": "mountpoint"}, "mountpoint"),
        (GKE, {}, "rclone"),
        (EKS, {}, "rclone"),
    ],
)
def test_a_model_is_mounted_by_what_the_cluster_has(raw: dict[str, Any], wish: dict[str, Any], driver: str) -> None:
    plan = roles_of(raw, model=wish)["model"]
    assert (plan.choice.mode, plan.choice.driver) == ("MOUNT", driver)
    (found,) = plan.groups
    assert isinstance(found.mount, BucketMountPlan if driver == "rclone" else CsiMountPlan)
    assert found.mount.pod.files == "/models/files", "jobs find it there, whoever mounts it"


@pytest.mark.parametrize("raw", [GKE, EKS])
def test_why_it_is_not_the_clouds_own_is_said(raw: dict[str, Any]) -> None:
    why = roles_of(raw, model={})["model"].choice.why
    assert why.endswith("; rclone, since the cluster exists, and whether it has the driver is not known")
    assert "since" not in roles_of(raw, model={"driver": "rclone"})["model"].choice.why, "nobody asks why"


def test_a_gke_that_is_too_old_for_several_volumes_of_a_bucket() -> None:
    """Support for mounting the same bucket in one pod by different volumes: 1.33.0-gke.1932000."""
    old = {**GCP, "cluster": {"kubernetes_version": "1.32"}}
    reason = "gcsfuse-volumes works from 1.33.0-gke.1932000 on; 1.32 is older"
    assert roles_of(old, model={})["model"].choice.why.endswith(f"; rclone, since {reason}")
    assert says(old, model={"driver": "gcsfuse"}) == [f"storage.model.driver: {reason}; write rclone, or leave it out"]


def test_a_job_reads_by_its_own_identity_on_gke_and_the_mount_of_checkpoints_by_its_own() -> None:
    plan = gcp.plan_of({**GCP, "storage": {"model": {}, "checkpoint": {}}})
    mount = {"namespace": "gpufabric-prod-mount-train-ckpt", "name": "mount-train-ckpt"}
    assert bucket_accounts(plan.storage) == {"weights": [mount]}
    assert bucket_readers(plan.storage) == {"weights": [{"namespace": "default", "name": "default"}]}
    other = gcp.plan_of({**GCP, "storage": {"model": {}, "service_account": "trainer"}})
    assert bucket_readers(other.storage) == {"weights": [{"namespace": "default", "name": "trainer"}]}
    assert bucket_readers(gcp.plan_of({**GCP, "storage": {"model": {"driver": "rclone"}}}).storage) == {}


def test_two_roles_of_a_bucket_have_one_reader() -> None:
    plan = gcp.plan_of({**SMALL, "storage": {"model": {}, "dataset": {}}})
    assert [each.choice.driver for each in plan.storage] == ["gcsfuse", "gcsfuse"]
    assert bucket_readers(plan.storage) == {"weights": [{"namespace": "default", "name": "default"}]}
    handles = {each.groups[0].mount.volume_handle for each in plan.storage if isinstance(each.groups[0].mount, CsiMountPlan)}
    assert len(handles) == 2


def test_the_driver_of_eks_reaches_the_buckets_that_it_mounts_and_no_other() -> None:
    two = {**aws.P5, "stores": {"a": {"name": "acme-a"}, "b": {"name": "acme-b"}}}
    storage = {"model": {"kind": "bucket", "store": "b"}, "dataset": {"kind": "bucket", "store": "a"}}
    plan = aws.plan_of({**two, "storage": storage})
    assert mountpoint_stores(plan.storage) == ["b"], "the data set is cached, by rclone"
    assert bucket_readers(plan.storage) == {}
    assert mountpoint_stores(aws.plan_of({**AWS, "storage": {"model": {"driver": "rclone"}}}).storage) == []


def test_what_is_read_can_be_kept_and_has_its_part_of_the_disks() -> None:
    roles = roles_of(AWS, model={"cache_gib": 234}, checkpoint={})
    assert roles["model"].groups[0].mount_args["cache_gib"] == 234
    assert roles["checkpoint"].groups[0].mount_args["cache_gib"] == 21234 - 234
    (line,) = says(AWS, model={"cache_gib": 30_000})
    assert line.startswith("storage.model.cache_gib: 30000 GiB; the disks of train give caches 21234 GiB (75%)")


@pytest.mark.parametrize(
    ("raw", "storage", "line"),
    [
        (
            AWS,
            {"model": {"driver": "gcsfuse"}},
            "storage.model.driver: gcsfuse is not a driver of aws's clusters; write mountpoint or rclone, or leave it out",
        ),
        (
            GCP,
            {"model": {"driver": "mountpoint"}},
            "storage.model.driver: mountpoint is not a driver of gcp's clusters; write gcsfuse or rclone, or leave it out",
        ),
        (
            AWS,
            {"checkpoint": {"driver": "mountpoint"}},
            "storage.checkpoint.driver: bucket weights through MOUNT_CACHED has no choice of drivers; leave it out",
        ),
        (
            AWS,
            {"scratch": {"driver": "rclone"}},
            "storage.scratch.driver: local_nvme has no choice of drivers; leave it out",
        ),
        (
            AWS,
            {"model": {"driver": "rclone", "cache_gib": 5}},
            "storage.model.cache_gib: bucket weights through MOUNT has no cache; leave it out",
        ),
        (
            AWS,
            {"model": {}, "service_account": "trainer"},
            "storage.service_account: no role is read by gcsfuse, which alone reads as the job; leave it out",
        ),
    ],
)
def test_refused(raw: dict[str, Any], storage: dict[str, Any], line: str) -> None:
    assert says(raw, **storage) == [line]


def test_the_table_says_who_mounts() -> None:
    told = [
        line.decision for _, lines in explain(aws.plan_of({**AWS, "storage": {"model": {"cache_gib": 5}}})) for line in lines
    ]
    assert [each for each in told if "bucket acme-weights as /models, MOUNT by mountpoint; durable" in each]
    assert [each for each in told if each.endswith("; what was read is kept, up to 5 GiB for each pod")]


def test_the_gate_has_no_claim_and_no_sidecar() -> None:
    """GKE would put it into rank pods, too, whose account reads no bucket and which are in another namespace."""
    with_role, without = gcp.plan_of({**GCP, "storage": {"model": {}}}).groups[0], gcp.plan_of(GCP).groups[0]
    assert with_role.gate == without.gate
    assert "gke-gcsfuse" not in str(with_role.profile.fabric)
    job = {"template": {"spec": {"containers": [{"name": "train", "command": ["train"]}]}}}
    assert with_role.profile.apply_to(job)["template"]["metadata"]["annotations"]["gke-gcsfuse/volumes"] == "true"
