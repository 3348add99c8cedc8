"""Roles on a cluster of one's own: by the same rules as on a cloud, with buckets, claims and disks that the user names."""

from typing import Any

import pytest

from gpufabric.plan import explain
from gpufabric.plan.mounts import CachedMountPlan
from gpufabric.plan.storage.model import RolePlan
from tests.spec.specs import CPU, H100, changed, plan_of, problems

S3: dict[str, Any] = {"kind": "s3", "name": "acme-weights", "region": "eu-1", "endpoint": "https://s3.example.com"}
KEYS = {"credentials_secret": "keys", "namespace": "training"}
DISK = {"path": "/mnt/nvme", "size_gib": 14000}
OWN = changed(H100, group__local_disk=DISK, validation__floor_gbytes_per_s=300.0, stores={"weights": {**S3, **KEYS}})
BARE = changed(OWN, group__local_disk=None)
BOTH = {**OWN, "filesystems": {"data": {"size_gib": 20000}}}
ALL_AUTO: dict[str, Any] = {"dataset": {}, "model": {}, "checkpoint": {}, "scratch": {}}
NO_DISK = "no local NVMe for pods on the nodes of train"
LOCAL_DISK = "local_disk: {path: ..., size_gib: ...} in the group"


def roles_of(raw: dict[str, Any], **storage: Any) -> dict[str, RolePlan]:
    return {plan.role: plan for plan in plan_of({**raw, "storage": storage}).storage}


def test_auto_takes_what_it_takes_on_a_cloud() -> None:
    found = {role: each.choice for role, each in roles_of(BOTH, **ALL_AUTO).items()}
    assert {role: (each.kind, each.key, each.mode) for role, each in found.items()} == {
        "dataset": ("shared_filesystem", "data", ""),
        "model": ("bucket", "weights", "MOUNT"),
        "checkpoint": ("bucket", "weights", "MOUNT_CACHED"),
        "scratch": ("local_nvme", "", ""),
    }


def test_the_mounts_are_told_which_bucket_and_how_to_get_in() -> None:
    roles = roles_of({**OWN, "stores": {"weights": {**S3, **KEYS, "rclone_image": "mirror.example/rclone:1"}}}, checkpoint={})
    (found,) = roles["checkpoint"].groups
    assert found.mount_args["bucket"] == S3
    assert {key: found.mount_args[key] for key in ("namespace", "credentials_secret", "rclone_image")} == {
        **KEYS,
        "rclone_image": "mirror.example/rclone:1",
    }
    assert (found.mount_args["cache_path"], found.mount_args["cache_gib"]) == ("/mnt/nvme/gpufabric/cache", 10500)
    assert found.mount_args["node_selector"] == {"pool": "train"}
    assert isinstance(found.mount, CachedMountPlan)
    assert (found.mount.namespace, found.mount.own_namespace) == ("training", False)


@pytest.mark.parametrize(
    "store",
    [
        {"kind": "gcs", "name": "acme-weights", "service_account_annotations": {"iam.gke.io/gcp-service-account": "a@b"}},
        {"kind": "azure", "name": "acme-weights", "account": "acmeweights"},
    ],
)
def test_every_kind_of_bucket_can_be_brought(store: dict[str, Any]) -> None:
    (found,) = roles_of({**OWN, "stores": {"weights": store}}, model={})["model"].groups
    assert {**found.mount_args["bucket"], **found.mount_args.get("service_account_annotations", {})} == {
        **{key: each for key, each in store.items() if key != "service_account_annotations"},
        **store.get("service_account_annotations", {}),
    }


def test_groups_have_disks_of_their_own() -> None:
    other = {**OWN["node_groups"][0], "name": "old", "node_selector": {"pool": "old"}}
    other["local_disk"] = {"path": "/data/ssd", "size_gib": 2000}
    roles = roles_of({**OWN, "node_groups": [*OWN["node_groups"], other]}, checkpoint={}, scratch={})
    caches = [(each.mount_args["cache_path"], each.mount_args["cache_gib"]) for each in roles["checkpoint"].groups]
    assert caches == [("/mnt/nvme/gpufabric/cache", 10500), ("/data/ssd/gpufabric/cache", 1500)]
    assert [each.folder for each in roles["scratch"].groups] == ["/mnt/nvme/scratch", "/data/ssd/scratch"]


def test_what_the_stack_mounts_itself_is_waited_for() -> None:
    """And where LocalNvme of another stack mounts: a cache never fills the system's disk."""
    own = {**OWN, "local_nvme": {"train": {"disk_image": "ghcr.io/acme/disks:1"}}}
    elsewhere = changed(OWN, group__local_disk={**DISK, "path": "/mnt/gpufabric/nvme"})
    for raw, path in ((own, "/mnt/nvme"), (elsewhere, "/mnt/gpufabric/nvme")):
        (found,) = roles_of(raw, checkpoint={})["checkpoint"].groups
        assert (found.mount_args["cache_path"], found.mount_args["cache_must_exist"]) == (f"{path}/cache", True)
    (found,) = roles_of(OWN, checkpoint={})["checkpoint"].groups
    assert "cache_must_exist" not in found.mount_args


def test_jobs_get_the_files_and_the_gate_none() -> None:
    group = plan_of({**BOTH, "storage": ALL_AUTO}).groups[0]
    pod = group.profile.apply_to({"containers": [{"name": "train"}]})
    volumes = {each["name"]: each for each in pod["volumes"]}
    assert volumes["role-dataset"]["persistentVolumeClaim"] == {"claimName": "data"}
    assert volumes["role-scratch"]["hostPath"] == {"path": "/mnt/nvme/scratch", "type": "Directory"}
    assert pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][:2] == ["/bin/sh", "/checkpoints/flush"]
    bare = plan_of(BOTH).groups[0]
    assert (group.gate, bare.profile.storage) == (bare.gate, {})


def test_explain_says_where_and_how_large_and_what_is_not_known() -> None:
    (_, roles), (_, of_group) = explain(plan_of({**BOTH, "storage": ALL_AUTO}))
    told = {line.subject: line.decision for line in (*roles, *of_group)}
    assert told["checkpoint"] == (
        "bucket acme-weights as /checkpoints, MOUNT_CACHED; durable; cost per month: not known (no price of a bucket is known "
        "on a cluster of one's own)"
    )
    assert "cache of 10500 GiB in /mnt/nvme/gpufabric/cache" in told["checkpoint, per node"]
    assert told["dataset, per node"] == "rates not known"


def test_nodes_without_gpus_have_no_rate_per_gpu() -> None:
    raw = changed(CPU, stores={"weights": {**S3, **KEYS}}, storage={"model": {}})
    told = {line.subject: line.decision for _, lines in explain(plan_of(raw)) for line in lines}
    assert told["model, per node"] == "reads 0.3 GB/s"


def stores(**weights: Any) -> dict[str, Any]:
    return {**OWN, "stores": {"weights": {key: each for key, each in {**S3, **KEYS, **weights}.items() if each is not None}}}


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no kind": (stores(kind=None), {"model": {}}, "stores.weights.kind: missing"),
    "a bucket without a name": (stores(name=None), {"model": {}}, "stores.weights.name: missing"),
    "no region": (
        stores(region=None),
        {"model": {}},
        "stores.weights.region: missing: requests are signed for a region; write it, or us-east-1 where a store has none",
    ),
    "a region of a bucket that has none": (
        stores(kind="gcs", endpoint=None),
        {"model": {}, "checkpoint": {}},
        "stores.weights.region: gcs has none; leave it out",
    ),
    "no storage account": (
        stores(kind="azure", endpoint=None, region=None),
        {"model": {}},
        "stores.weights.account: missing: a container belongs to a storage account; write its name",
    ),
    "keys in a namespace that is not there": (
        stores(namespace=None),
        {"model": {}, "checkpoint": {}},
        (
            "stores.weights.credentials_secret: a Secret lies in a namespace, and the mount's own is made with it; write the "
            "Secret's namespace as namespace, too"
        ),
    ),
    "two identities": (
        stores(service_account_annotations={"a": "b"}),
        {"model": {}},
        (
            "stores.weights.service_account_annotations: two identities: the keys of the Secret and the account's own; leave "
            "one of the two out"
        ),
    ),
    "an image that can change": (
        stores(rclone_image="mirror.example/rclone"),
        {"model": {}},
        "stores.weights.rclone_image: mirror.example/rclone is not pinned: what was validated must be what runs again",
    ),
    "an endpoint that is no URL": (
        stores(endpoint="s3.example.com"),
        {"model": {}},
        "stores.weights.endpoint: 's3.example.com' is not a URL; write for example https://s3.example.com",
    ),
    "keys in the file": (
        stores(access_key="x"),
        {"model": {}},
        "stores.weights.access_key: unknown key; known keys: ",
    ),
    "a bucket twice": (
        {**OWN, "stores": {"a": S3, "b": S3}},
        {},
        "stores: a and b name the same bucket https://s3.example.com/acme-weights; name a bucket once",
    ),
    "a cache without a disk": (
        BARE,
        {"checkpoint": {}},
        (
            f"storage.checkpoint.mode: MOUNT_CACHED needs local NVMe; {NO_DISK}; write {LOCAL_DISK} for it, keep the role on a "
            "shared file system"
        ),
    ),
    "scratch nowhere": (
        BARE,
        {"scratch": {}},
        (
            f"storage.scratch.kind: auto found nothing: {NO_DISK} and no filesystems; write {LOCAL_DISK} or filesystems: "
            "{CLAIM: {}} in the stack, or leave the role out"
        ),
    ),
    "nothing to keep models in": (
        {**OWN, "stores": {}},
        {"model": {}},
        (
            "storage.model.kind: auto found nothing: no stores and no filesystems; write stores: {weights: {kind: s3, "
            "name: ...}} or filesystems: {CLAIM: {}} in the stack, or leave the role out"
        ),
    ),
    "a cloud's driver": (
        OWN,
        {"model": {"driver": "gcsfuse"}},
        "storage.model.driver: gcsfuse is not a driver of kubernetes's clusters; write rclone, or leave it out",
    ),
    "a cache larger than the disk": (
        OWN,
        {"checkpoint": {"cache_gib": 14000}},
        "storage.checkpoint.cache_gib: 14000 GiB; the disks of train give caches 10500 GiB (75%); write less, or leave it out",
    ),
    "a disk without a size": (
        changed(OWN, group__local_disk={"path": "/mnt/nvme"}),
        {"checkpoint": {}},
        "node_groups[0].local_disk.size_gib: missing",
    ),
    "a disk that forgets": (
        changed(OWN, group__local_disk={"path": "/tmp/nvme", "size_gib": 10}),  # noqa: S108
        {"checkpoint": {}},
        (
            "node_groups[0].local_disk.path: /tmp/nvme does not outlive a reboot, or is the whole node; write a folder of "
            "local NVMe, such as /mnt/nvme/cache"
        ),
    ),
    "a claim smaller than the data": (
        BOTH,
        {"dataset": {"size_gib": 30000}},
        "storage.dataset.size_gib: 30000 GiB; shared_filesystem data holds 20000; make it larger",
    ),
    "scratch larger than the disk": (
        OWN,
        {"scratch": {"size_gib": 20000}},
        "storage.scratch.size_gib: 20000 GiB; local_nvme holds 14000; make it larger",
    ),
    "a bucket as on a cloud": (
        stores(protect=True),
        {"model": {}},
        "stores.weights.protect: unknown key; known keys: ",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_in_one_line(case: str) -> None:
    raw, storage, line = REFUSED[case]
    (said,) = problems({**raw, "storage": storage})
    assert said.startswith(line)


def test_problems_of_stores_roles_and_groups_come_together() -> None:
    raw = changed(
        {**OWN, "stores": {"weights": {**S3, "credentials_secret": "keys"}}}, group__nodes=1, group__fabric="infinband"
    )
    assert [line.split(":")[0] for line in problems(raw)] == ["node_groups[0].fabric", "stores.weights.credentials_secret"]
    raw = changed(OWN, storage={"checkpoint": {"kind": "local_nvme"}}, group__fabric="infinband")
    assert [line.split(":")[0] for line in problems(raw)] == ["node_groups[0].fabric", "storage.checkpoint.kind"]
