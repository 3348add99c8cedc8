"""Where each role is kept: by rule with a reason, as asked for, or refused with one line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpufabric.hardware.storage import storage_backends
from gpufabric.plan import explain
from gpufabric.plan.aws import resolve_aws
from gpufabric.plan.storage.model import RolePlan
from gpufabric.plan.storage.stack import bucket_accounts
from tests.plan.aws import wishes as aws
from tests.plan.gcp import wishes as gcp
from tests.spec.specs import changed

STORES = {"stores": {"weights": {"name": "acme-weights"}}}
LUSTRE = {"filesystems": {"data": {"size_gib": 19200}}}
BOTH: dict[str, Any] = {**aws.P5, **STORES, **LUSTRE}
ALL_AUTO: dict[str, Any] = {"dataset": {}, "model": {}, "checkpoint": {}, "scratch": {}}
NO_NVME = "no local NVMe for pods on the nodes of train"
TWO = {"stores": {"a": {"name": "acme-a"}, "b": {"name": "acme-b"}}}


def roles_of(raw: dict[str, Any], **storage: Any) -> dict[str, RolePlan]:
    wishes = gcp if raw["cloud"] == "gcp" else aws
    return {plan.role: plan for plan in wishes.plan_of({**raw, "storage": storage}).storage}


def kept(raw: dict[str, Any], **storage: Any) -> dict[str, tuple[str, str, str]]:
    return {role: (each.choice.kind, each.choice.key, each.choice.mode) for role, each in roles_of(raw, **storage).items()}


def says(raw: dict[str, Any], **storage: Any) -> list[str]:
    return aws.says({**raw, "storage": storage})


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_auto_takes_for_each_role_what_is_fastest_and_safe(cloud: str) -> None:
    gcp_both = {**gcp.ULTRA, **STORES, "filesystems": {"data": {"size_gib": 36000}}}
    assert kept(BOTH if cloud == "aws" else gcp_both, **ALL_AUTO) == {
        "dataset": ("shared_filesystem", "data", ""),
        "model": ("bucket", "weights", "MOUNT"),
        "checkpoint": ("bucket", "weights", "MOUNT_CACHED"),
        "scratch": ("local_nvme", "", ""),
    }


AUTO: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, tuple[str, str, str]]]] = {
    "a bucket alone": (
        {**aws.P5, **STORES},
        {"dataset": {}, "checkpoint": {}},
        {"dataset": ("bucket", "weights", "MOUNT_CACHED"), "checkpoint": ("bucket", "weights", "MOUNT_CACHED")},
    ),
    "a bucket and no NVMe": (
        changed({**aws.P5, **STORES}, group__disk_tier="network"),
        {"dataset": {}, "model": {}},
        {"dataset": ("bucket", "weights", "MOUNT"), "model": ("bucket", "weights", "MOUNT")},
    ),
    "a file system alone": (
        {**aws.P5, **LUSTRE},
        {"model": {}, "checkpoint": {}},
        {"model": ("shared_filesystem", "data", ""), "checkpoint": ("shared_filesystem", "data", "")},
    ),
    "models on the file system, though there is a bucket": (
        BOTH,
        {"model": {"kind": "shared_filesystem"}, "checkpoint": {}},
        {"model": ("shared_filesystem", "data", ""), "checkpoint": ("shared_filesystem", "data", "")},
    ),
    "scratch without NVMe": (
        changed(BOTH, group__disk_tier="network"),
        {"scratch": {}},
        {"scratch": ("shared_filesystem", "data", "")},
    ),
    "checkpoints go to the model's of two buckets": (
        {**aws.P5, **TWO},
        {"model": {"kind": "bucket", "store": "b"}, "checkpoint": {"kind": "bucket"}},
        {"model": ("bucket", "b", "MOUNT"), "checkpoint": ("bucket", "b", "MOUNT_CACHED")},
    ),
}


@pytest.mark.parametrize("case", AUTO)
def test_auto_goes_by_what_the_stack_has(case: str) -> None:
    raw, storage, expected = AUTO[case]
    assert kept(raw, **storage) == expected


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "checkpoints on local disks": (
        BOTH,
        {"checkpoint": {"kind": "local_nvme"}},
        (
            "storage.checkpoint.kind: local disks are lost with their node, and a checkpoint must survive it; "
            "write auto or bucket or shared_filesystem"
        ),
    ),
    "checkpoints straight to a bucket": (
        BOTH,
        {"checkpoint": {"kind": "bucket", "mode": "MOUNT"}},
        (
            "storage.checkpoint.mode: through MOUNT a file of a bucket can be neither changed nor appended to; "
            "write MOUNT_CACHED "
            "(torch.distributed.checkpoint renames .metadata.tmp; s3-connector-for-pytorch 295, safetensors 792)"
        ),
    ),
    "checkpoints beside the models": (
        BOTH,
        {"model": {}, "checkpoint": {"kind": "shared_filesystem"}},
        (
            "storage.checkpoint.kind: checkpoints on shared_filesystem data, models on bucket weights: a run "
            "resumes where models "
            "are loaded from; write kind: auto, or keep both on bucket weights"
        ),
    ),
    "a cache below two checkpoints": (
        BOTH,
        {"checkpoint": {"cache_gib": 700, "checkpoint_gib": 400}},
        (
            "storage.checkpoint.cache_gib: 700 GiB do not hold two checkpoints of 400 GiB: one is uploaded while the next is "
            "written; write at least 800"
        ),
    ),
    "disks below two checkpoints": (
        BOTH,
        {"checkpoint": {"checkpoint_gib": 20000}},
        (
            "storage.checkpoint.checkpoint_gib: two of 20000 GiB do not fit a cache of 21234 GiB; the disks of "
            "train give caches "
            "21234 GiB (75%), shared by checkpoint; keep checkpoints and models on a shared file system, or take "
            "machines with more "
            "local NVMe"
        ),
    ),
    "an upload longer than the grace period": (
        BOTH,
        {"checkpoint": {"checkpoint_gib": 400, "drain_seconds": 600}},
        (
            "storage.checkpoint.drain_seconds: a checkpoint of 400 GiB takes 1432 s at 300 MB/s: the pod would "
            "end before; write at "
            "least 1432"
        ),
    ),
    "a cache larger than the disks": (
        BOTH,
        {"checkpoint": {"cache_gib": 30000}},
        "storage.checkpoint.cache_gib: 30000 GiB; the disks of train give caches 21234 GiB (75%); write less, or leave it out",
    ),
    "two caches larger than the disks": (
        {**aws.P5, **STORES},
        {"dataset": {"cache_gib": 12000}, "checkpoint": {"cache_gib": 11000}},
        (
            "storage.dataset.cache_gib: 12000 and 11000 GiB asked for; the disks of train give caches 21234 GiB "
            "(75%); write less, or "
            "leave it out"
        ),
    ),
    "a cache without NVMe": (
        changed(BOTH, group__disk_tier="network"),
        {"checkpoint": {"kind": "bucket"}},
        (
            f"storage.checkpoint.mode: MOUNT_CACHED needs local NVMe; {NO_NVME}; write disk_tier: best for it, "
            f"keep the role on a "
            "shared file system"
        ),
    ),
    "a cached data set without NVMe": (
        changed(BOTH, group__disk_tier="network"),
        {"dataset": {"kind": "bucket", "mode": "MOUNT_CACHED"}},
        (
            f"storage.dataset.mode: MOUNT_CACHED needs local NVMe; {NO_NVME}; write disk_tier: best for it, keep the role on a "
            "shared file system, or write mode: MOUNT"
        ),
    ),
    "models on local disks": (
        BOTH,
        {"model": {"kind": "local_nvme"}},
        "storage.model.kind: a new node's disks are empty, and nothing fills them; write auto or bucket or shared_filesystem",
    ),
    "scratch in a bucket": (
        BOTH,
        {"scratch": {"kind": "bucket"}},
        (
            "storage.scratch.kind: a bucket would keep what is meant to be thrown away; write auto or local_nvme or "
            "shared_filesystem"
        ),
    ),
    "scratch nowhere": (
        changed(aws.P5, group__disk_tier="network"),
        {"scratch": {}},
        (
            f"storage.scratch.kind: auto found nothing: {NO_NVME} and no filesystems; write disk_tier: best or "
            "filesystems: {data: {size_gib: ...}} in the stack, or leave the role out"
        ),
    ),
    "nothing to keep data in": (
        aws.P5,
        {"dataset": {}},
        (
            "storage.dataset.kind: auto found nothing: no filesystems and no stores; write filesystems: {data: "
            "{size_gib: ...}} or "
            "stores: {weights: {name: ...}} in the stack, or leave the role out"
        ),
    ),
    "a bucket that is not there": (
        BOTH,
        {"model": {"kind": "bucket", "store": "weigths"}},
        "storage.model.store: no weigths under stores; write one of weights",
    ),
    "one of two buckets": (
        {**aws.P5, **TWO},
        {"model": {}},
        "storage.model.store: missing: several stores are there; write kind: bucket and one of a, b",
    ),
    "auto that is told": (
        BOTH,
        {"model": {"store": "weights"}},
        "storage.model.store: does not apply to kind: auto, which decides it; leave it out, or write kind: bucket",
    ),
    "a key of another kind": (
        BOTH,
        {"dataset": {"kind": "shared_filesystem", "mode": "MOUNT"}},
        "storage.dataset.mode: does not apply to kind: shared_filesystem; leave it out, or write kind: bucket",
    ),
    "a cache where none is": (
        BOTH,
        {"dataset": {"cache_gib": 100}},
        "storage.dataset.cache_gib: shared_filesystem data has no cache; leave it out",
    ),
    "a folder in a folder": (
        BOTH,
        {"model": {"path": "/data/models"}, "dataset": {}},
        (
            "storage.model.path: /data/models lies in /data of dataset: a mount hides what is below it; write "
            "folders beside each "
            "other"
        ),
    ),
    "one folder for two": (
        BOTH,
        {"model": {"path": "/data"}, "dataset": {}},
        "storage.model.path: /data lies in /data of dataset: a mount hides what is below it; write folders beside each other",
    ),
    "a data set larger than its file system": (
        BOTH,
        {"dataset": {"size_gib": 20000}},
        "storage.dataset.size_gib: 20000 GiB; shared_filesystem data holds 19200; make it larger",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_lose_or_hide_files_is_refused_in_one_line(case: str) -> None:
    raw, storage, line = REFUSED[case]
    assert says(raw, **storage) == [line]


def test_the_problems_of_all_roles_come_together() -> None:
    lines = says(BOTH, checkpoint={"kind": "local_nvme"}, model={"store": "x"}, scratch={"kind": "bucket"})
    assert [line.split(":")[0] for line in lines] == ["storage.model.store", "storage.checkpoint.kind", "storage.scratch.kind"]


def test_an_image_that_is_missing_is_said_once() -> None:
    raw = changed(BOTH, validation={"floor_gbytes_per_s": 70.0}, storage=ALL_AUTO)
    assert [line.split(":")[0] for line in aws.says(raw)] == ["validation.image"]


def test_only_what_survives_a_node_is_called_durable() -> None:
    roles = roles_of(BOTH, **ALL_AUTO)
    assert {role: each.choice.backend.durable for role, each in roles.items()} == {
        "dataset": True,
        "model": True,
        "checkpoint": True,
        "scratch": False,
    }


def test_a_file_system_is_shared_by_all_nodes() -> None:
    (found,) = roles_of(BOTH, dataset={})["dataset"].groups
    total = 19200 / 1024 * 250 / 1000  # TiB x MB/s per TiB
    assert found.read_gbytes_per_s == pytest.approx(total / 4)
    (existing,) = roles_of({**BOTH, "filesystems": {"data": {"existing": "fs-0123456789abcdef0"}}}, dataset={})[
        "dataset"
    ].groups
    assert existing.read_gbytes_per_s is None


def test_filestore_reads_faster_than_it_writes() -> None:
    raw = {**gcp.ULTRA, "filesystems": {"data": {"kind": "filestore", "size_gib": 2560}}}
    (found,) = roles_of(raw, dataset={})["dataset"].groups
    assert found.read_gbytes_per_s == pytest.approx(2.5 * 260 * 1024**2 / 1e9 / 4)
    assert found.write_gbytes_per_s == pytest.approx(2.5 * 88 * 1024**2 / 1e9 / 4)


def test_a_network_is_never_exceeded() -> None:
    raw = {**aws.P5, "filesystems": {"data": {"size_gib": 4800 * 2000, "throughput_mbytes_per_s_per_tib": 1000}}}
    (found,) = roles_of(raw, dataset={})["dataset"].groups
    assert found.read_gbytes_per_s == 3200 / 8


def test_the_cost_of_a_month_is_known_or_said_to_be_unknown() -> None:
    raw = {**gcp.ULTRA, **STORES}
    roles = roles_of(raw, model={"size_gib": 1000}, checkpoint={})
    assert (roles["model"].usd_per_month, roles["checkpoint"].usd_per_month) == (20.0, None)
    assert roles["checkpoint"].cost_why == "size_gib is not given"
    assert roles_of(BOTH, model={"size_gib": 1000})["model"].cost_why == "no price of a bucket is known in us-east-2"


@pytest.mark.parametrize(
    ("wish", "drain", "largest"),
    [
        ({}, 600, 167),
        ({"checkpoint_gib": 400}, 2148, 600),
        ({"checkpoint_gib": 400, "upload_mbytes_per_s": 2000.0}, 600, 1117),
        ({"upload_mbytes_per_s": 100_000.0, "cache_gib": 1000}, 600, 500),
    ],
)
def test_a_checkpoint_fits_twice_and_leaves_in_time(wish: dict[str, Any], drain: int, largest: int) -> None:
    (found,) = roles_of(BOTH, checkpoint=wish)["checkpoint"].groups
    assert (found.mount_args["drain_seconds"], found.largest_checkpoint_gib) == (drain, largest)


def test_caches_share_the_disks_and_leave_room() -> None:
    roles = roles_of({**aws.P5, **STORES}, dataset={}, checkpoint={"cache_gib": 5000})
    sizes = [roles[role].groups[0].mount_args["cache_gib"] for role in ("dataset", "checkpoint")]
    assert sizes == [21234 - 5000, 5000]
    assert roles["dataset"].groups[0].mount_args["cache_path"] == "/mnt/k8s-disks/0/gpufabric/cache"


def test_every_group_has_its_own_mount_and_cache() -> None:
    small = {"name": "small", "machine_type": "p4d.24xlarge", "nodes": 2}
    raw = {**BOTH, "node_groups": [*BOTH["node_groups"], small]}
    train, other = roles_of(raw, checkpoint={})["checkpoint"].groups
    assert (train.mount_args["name"], other.mount_args["name"]) == ("train-ckpt", "small-ckpt")
    assert (train.mount_args["cache_gib"], other.mount_args["cache_gib"]) == (21234, 5587)
    assert other.mount_args["node_selector"] == {"gpufabric.dev/node-group": "small"}


def test_the_mounts_alone_reach_the_bucket() -> None:
    plan = aws.plan_of({**BOTH, "storage": {**ALL_AUTO, "model": {"driver": "rclone"}}})
    assert bucket_accounts(plan.storage) == {
        "weights": [
            {"namespace": "gpufabric-prod-mount-train-model", "name": "mount-train-model"},
            {"namespace": "gpufabric-prod-mount-train-ckpt", "name": "mount-train-ckpt"},
        ]
    }
    assert bucket_accounts(aws.plan_of({**BOTH, "storage": ALL_AUTO}).storage) == {
        "weights": [
            {"namespace": "gpufabric-prod-mount-train-ckpt", "name": "mount-train-ckpt"},
        ]
    }


def test_names_of_namespaces_stay_names() -> None:
    raw = changed({**BOTH, "storage": {"model": {}}}, group__name="a" * 20)
    (plan,) = resolve_aws(aws.spec_of(raw), "a-stack-of-a-very-long-name", now=aws.NOW, name="short").storage
    (found,) = plan.groups
    assert found.mount is not None
    assert len(found.mount.namespace) <= 63


def test_jobs_get_the_files_of_every_role_and_the_gate_none() -> None:
    group = aws.plan_of({**BOTH, "storage": ALL_AUTO}).groups[0]
    pod = group.profile.apply_to({"containers": [{"name": "train"}]})
    paths = {each["name"]: each["mountPath"] for each in pod["containers"][0]["volumeMounts"] if each["name"] != "dshm"}
    assert paths == {
        "role-dataset": "/data",
        "mount-train-model": "/models/files",
        "mount-train-ckpt": "/checkpoints",
        "role-scratch": "/scratch",
    }
    volumes = {each["name"]: each for each in pod["volumes"]}
    assert volumes["role-dataset"]["persistentVolumeClaim"] == {"claimName": "data"}
    assert pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][:2] == ["/bin/sh", "/checkpoints/flush"]
    assert pod["terminationGracePeriodSeconds"] == 630
    assert set(group.profile.to_dict()["storage"]) == set(ALL_AUTO)
    bare = aws.plan_of(BOTH).groups[0]
    assert (group.gate, bare.profile.storage) == (bare.gate, {})


def test_snake_case_pods_get_snake_case_claims() -> None:
    profile = aws.plan_of({**BOTH, "storage": {"dataset": {}}}).groups[0].profile
    pod = profile.apply_to({"containers": [{"name": "train", "volume_mounts": []}]})
    assert {"name": "role-dataset", "persistent_volume_claim": {"claim_name": "data"}} in pod["volumes"]


def test_the_table_says_where_why_and_how_fast() -> None:
    told = json.dumps(
        [
            [line.subject, line.decision, line.why]
            for _, lines in explain(aws.plan_of({**BOTH, "storage": ALL_AUTO}))
            for line in lines
        ]
    )
    for text in (
        (
            "file system data as /data; durable; cost per month: not known (no price of a Lustre file system is "
            "known in us-east-2)"
        ),
        "100 samples took 4.29 s, 73.1 s from a bucket without a cache (published)",
        "bucket acme-weights as /checkpoints, MOUNT_CACHED; durable",
        "a save took 212 s, 436 s without the cache (published)",
        "local NVMe as /scratch; lost with its node; cost per month: 0.00 US dollars (comes with the machines)",
        "reads 1.17 GB/s (0.15 per GPU), writes 1.17 GB/s (0.15 per GPU)",
        (
            "cache of 21234 GiB in /mnt/k8s-disks/0/gpufabric/cache, an ending pod waits 600 s for uploads: good "
            "for checkpoints "
            "of 167 GiB per node"
        ),
        "rates not known",
    ):
        assert text in told


def test_the_published_figures_of_the_page_are_those_of_the_table() -> None:
    page = (Path(__file__).parents[3] / "docs" / "storage.md").read_text("utf-8")
    named = {
        "shared file system": "shared-filesystem",
        "`MOUNT` on S3": "bucket-mount",
        "`MOUNT_CACHED` on S3": "bucket-cached",
    }
    for label, name in named.items():
        numbers = re.search(rf"^\| {re.escape(label)} \| ([0-9.]+) \| ([0-9.]+) \| ([0-9.]+) \|$", page, re.MULTILINE)
        row = storage_backends()[name]
        assert numbers is not None, label
        assert tuple(map(float, numbers.groups())) == (row.batches_s, row.load_s, row.save_s)
