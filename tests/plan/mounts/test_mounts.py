"""The plan of a mount: rclone's flags and file, who may do what, and every wish that would lose or hide something."""

import re
from typing import Any

import pytest

from gpufabric.hardware.rclone import mount_presets, rclone_image
from gpufabric.hardware.tables import UnknownHardwareError
from gpufabric.mounts import contract
from gpufabric.plan.mounts import BucketMountPlan, CachedMountPlan, resolve_bucket_mount, resolve_cached_mount
from gpufabric.spec import SpecError
from gpufabric.spec.mounts import BucketMountSpec, CachedMountSpec
from tests.plan.mounts.wishes import AZURE, CACHED, GCS, MOUNT, S3
from tools.toolchain.programs import read_programs


def cached(**change: Any) -> CachedMountPlan:
    return resolve_cached_mount(CachedMountSpec.parse({**CACHED, **change}), "dev")


def plain(**change: Any) -> BucketMountPlan:
    plan = resolve_bucket_mount(BucketMountSpec.parse({**MOUNT, **change}), "dev")
    assert isinstance(plan, BucketMountPlan)
    return plan


def containers(plan: CachedMountPlan | BucketMountPlan) -> dict[str, Any]:
    return {each["name"]: each for each in plan.daemon_set_spec["template"]["spec"]["containers"]}


def flags(plan: CachedMountPlan | BucketMountPlan) -> dict[str, str]:
    """Each flag and what follows it."""
    command = containers(plan)["mount"]["command"]
    return {each: after for each, after in zip(command, [*command[1:], ""], strict=True) if each.startswith("--")}


def test_the_version_that_nodes_run_is_the_one_that_the_tests_build() -> None:
    (built,) = [each for each in read_programs() if each.name == "rclone"]
    assert rclone_image().version == built.version
    repository, _, rest = rclone_image().image.partition(":")
    assert repository == "docker.io/rclone/rclone"
    assert re.fullmatch(rf"{re.escape(built.version)}@sha256:[0-9a-f]{{64}}", rest)
    assert containers(cached())["mount"]["image"] == rclone_image().image


def test_an_unknown_preset_is_an_error_that_lists_the_known_ones() -> None:
    from gpufabric.hardware.rclone import mount_preset

    with pytest.raises(UnknownHardwareError, match="known: checkpoint, dataset"):
        mount_preset("archive")


def test_what_a_checkpoint_mount_runs() -> None:
    found = flags(cached())
    preset = mount_presets()["checkpoint"]
    assert containers(cached())["mount"]["command"][:5] == [
        *contract.MOUNT_COMMAND,
        "ckpt",
        "store:acme-weights/runs/llama",
        contract.CACHE_DIR,
    ]
    assert found["--vfs-cache-mode"] == "full"
    assert (found["--vfs-cache-max-size"], found["--cache-dir"]) == ("500Gi", contract.CACHE_DIR)
    assert (found["--transfers"], found["--vfs-read-chunk-streams"]) == (str(preset.transfers), str(preset.read_streams))
    assert (found["--vfs-write-back"], found["--vfs-read-chunk-size"]) == ("1s", "32Mi")
    assert "--read-only" not in found


def test_every_number_can_be_changed() -> None:
    """SkyPilot's are fixed: below 30 MB/s of reads (issue 8712), uploads of 4 parts (issue 10493)."""
    change = {"transfers": 2, "write_back_s": 5, "dir_cache_s": 60, "read_streams": 4, "read_chunk_mib": 64}
    plan = cached(**change, upload_chunk_mib=32, upload_concurrency=16)
    found = flags(plan)
    assert [found[each] for each in ("--transfers", "--vfs-write-back", "--dir-cache-time")] == ["2", "5s", "60s"]
    assert [found[each] for each in ("--vfs-read-chunk-streams", "--vfs-read-chunk-size")] == ["4", "64Mi"]
    assert "chunk_size = 32Mi\nupload_concurrency = 16\n" in plan.files["rclone.conf"]


def test_a_dataset_is_read_only_and_nobody_waits_for_it() -> None:
    plan = cached(preset="dataset")
    assert "--read-only" in flags(plan)
    assert "lifecycle" not in containers(plan)["mount"]
    assert (plan.pod.flush, plan.pod.pre_stop, plan.pod.grace_seconds) == ((), None, 0)


def test_a_plain_mount_has_neither_cache_nor_barrier_nor_guard() -> None:
    plan = plain()
    assert containers(plan)["mount"]["command"][4] == "-"
    assert not [each for each in flags(plan) if "cache-dir" in each or "vfs-cache" in each]
    assert "lifecycle" not in containers(plan)["mount"]
    assert plan.role_rules == ()
    assert not [each for each in containers(plan)["agent"]["volumeMounts"] if each["name"] in ("cache", "token")]


@pytest.mark.parametrize("bucket", [S3, GCS, AZURE], ids=lambda each: each["kind"])
@pytest.mark.parametrize("secret", [None, "keys"])
def test_no_key_is_in_the_configuration(bucket: dict[str, Any], secret: str | None) -> None:
    plan = cached(bucket=bucket, **({"credentials_secret": secret, "namespace": "ml"} if secret else {}))
    text = plan.files["rclone.conf"]
    assert not [word for word in ("access_key", "secret", "password", "key =") if word in text]
    mount = containers(plan)["mount"]
    volumes = {each["name"]: each for each in plan.daemon_set_spec["template"]["spec"]["volumes"]}
    references = [each["valueFrom"]["secretKeyRef"]["name"] for each in mount["env"] if "valueFrom" in each]
    if secret is None:
        assert "env_auth = true" in text
        assert (references, "credentials" in volumes) == ([], False)
    elif bucket["kind"] == "s3":
        assert references == [secret, secret]
    else:
        assert volumes["credentials"]["secret"] == {"secretName": secret, "defaultMode": 0o400}
        assert f"= {contract.CREDENTIALS_DIR}/" in text
    assert "keys" not in str(containers(plan)["agent"]), "the agent has no business with them"


def test_no_option_of_rclone_goes_through_the_environment() -> None:
    """It would change the cache's path."""
    for plan in (cached(), plain()):
        assert not [each for each in containers(plan)["mount"]["env"] if each["name"].startswith("RCLONE")]


def test_only_the_mount_is_privileged_and_only_the_agent_has_a_token() -> None:
    pod = cached().daemon_set_spec["template"]["spec"]
    mount, agent = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert mount["securityContext"]["privileged"] is True
    assert "token" not in [each["name"] for each in mount["volumeMounts"]]
    assert agent["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "privileged" not in agent["securityContext"]
    assert {"name": "cache", "mountPath": contract.CACHE_DIR, "readOnly": True} in agent["volumeMounts"]
    propagation = {each["name"]: each.get("mountPropagation") for each in mount["volumeMounts"]}
    assert propagation["mounts"] == "Bidirectional"


@pytest.mark.parametrize("bucket", [S3, {**S3, "endpoint": "https://r2.example", "provider": "Cloudflare"}, GCS, AZURE])
def test_a_store_is_reached_in_one_way_with_and_without_a_cache(bucket: dict[str, Any]) -> None:
    """SkyPilot 7995: a store worked in one mode and not in the other, which had another program."""

    def store(plan: CachedMountPlan | BucketMountPlan) -> list[str]:
        tuned = ("chunk_size", "upload_concurrency")
        return [line for line in plan.files["rclone.conf"].split("\n") if not line.startswith(tuned)]

    assert store(cached(bucket=bucket)) == store(plain(bucket=bucket))


@pytest.mark.parametrize("plan", [cached(), plain()], ids=["cached", "plain"])
def test_whoever_runs_in_the_pod_may_use_the_files(plan: CachedMountPlan | BucketMountPlan) -> None:
    """SkyPilot 1296, 3672, 6046: a job that is not root was refused. A bucket keeps no owners."""
    assert flags(plan)["--umask"] == "000"
    assert "--allow-other" in flags(plan)


def test_no_memory_limit_ends_the_mount() -> None:
    """A sidecar that is killed for memory is 'Transport endpoint is not connected' in every pod (gcsfuse troubleshooting)."""
    assert all("limits" not in each["resources"] for each in containers(cached()).values())


def test_a_new_version_does_not_take_the_bucket_from_running_jobs() -> None:
    assert cached().daemon_set_spec["updateStrategy"] == {"type": "OnDelete"}


def test_each_mount_has_a_cache_of_its_own() -> None:
    """One cache for several mounts is not safe (SkyPilot issue 5081)."""

    def host_path(plan: CachedMountPlan) -> str:
        (volume,) = [each for each in plan.daemon_set_spec["template"]["spec"]["volumes"] if each["name"] == "cache"]
        return str(volume["hostPath"]["path"])

    assert host_path(cached()) == "/mnt/nvme/cache/ckpt"
    assert host_path(cached(name="other")) == "/mnt/nvme/cache/other"


def test_a_cache_on_disks_that_are_mounted_later_waits_for_them() -> None:
    """Its folder is made by the kubelet below one that only the mounted file system has; the root disk never gets it."""
    plan = cached(cache_path="/mnt/gpufabric/nvme/cache", cache_must_exist=True)
    (volume,) = [each for each in plan.daemon_set_spec["template"]["spec"]["volumes"] if each["name"] == "cache"]
    assert volume["hostPath"] == {"path": "/mnt/gpufabric/nvme/cache", "type": "Directory"}
    for container in containers(plan).values():
        (at,) = [each for each in container["volumeMounts"] if each["name"] == "cache"]
        assert (at["mountPath"], at["subPath"]) == (contract.CACHE_DIR, "ckpt")


def test_a_cache_below_local_nvme_is_told_to_wait() -> None:
    with pytest.raises(SpecError, match=r"cache_must_exist: a folder of LocalNvme: .*; write cache_path: /mnt/gpufabric/nvme/"):
        cached(cache_path="/mnt/gpufabric/nvme/cache")
    cached(cache_path="/mnt/gpufabric/nvme2")  # another folder


def test_the_graces_contain_the_barrier() -> None:
    plan = cached(drain_seconds=900)
    pod = plan.daemon_set_spec["template"]["spec"]
    command = containers(plan)["mount"]["lifecycle"]["preStop"]["exec"]["command"]
    assert command == [*contract.FLUSH_COMMAND, "--timeout", "900"]
    assert pod["terminationGracePeriodSeconds"] > 900
    assert plan.pod.grace_seconds > 900


def test_what_a_pod_gets() -> None:
    plan = cached()
    merged = plan.pod.apply_to({"template": {"spec": {"containers": [{"name": "train"}]}}})["template"]["spec"]
    (container,) = merged["containers"]
    host = f"{contract.HOST_ROOT}/ckpt"
    assert merged["volumes"] == [{"name": "mount-ckpt", "hostPath": {"path": host, "type": "Directory"}}]
    assert container["volumeMounts"] == [
        {"name": "mount-ckpt", "mountPath": "/checkpoints", "mountPropagation": "HostToContainer", "readOnly": True}
    ]
    assert container["lifecycle"]["preStop"]["exec"]["command"] == ["/bin/sh", "/checkpoints/flush", "--timeout", "600"]
    assert merged["terminationGracePeriodSeconds"] == 630
    assert plan.pod.files == "/checkpoints/files"
    again = plan.pod.apply_to({"template": {"spec": merged}})["template"]["spec"]
    assert again == merged, "a second time changes nothing"
    assert "lifecycle" not in plain().pod.apply_to({"containers": [{"name": "train"}]})["containers"][0]


def test_a_pod_that_says_something_else_is_a_conflict() -> None:
    from gpufabric.plan.merge import ProfileConflictError

    plan = cached()
    hook = {"preStop": {"exec": {"command": ["sleep", "5"]}}}
    with pytest.raises(ProfileConflictError, match=r"containers\[train\].lifecycle.preStop"):
        plan.pod.apply_to({"containers": [{"name": "train", "lifecycle": hook}]})
    with pytest.raises(ProfileConflictError, match=r"the pod says 30, the profile needs 'at least 630'"):
        plan.pod.apply_to({"terminationGracePeriodSeconds": 30, "containers": [{"name": "train"}]})
    longer = plan.pod.apply_to({"termination_grace_period_seconds": 3600, "containers": [{"name": "train"}]})
    assert longer["termination_grace_period_seconds"] == 3600


def test_a_cache_that_moves_is_another_one_and_a_drain_is_not() -> None:
    here = cached().daemon_set_annotations[contract.ANNOTATION_CACHE]
    moved: list[dict[str, Any]] = [
        {"cache_path": "/mnt/other"},
        {"bucket": {**S3, "prefix": "b"}},
        {"node_selector": {"pool": "b"}},
    ]
    assert all(cached(**each).daemon_set_annotations[contract.ANNOTATION_CACHE] != here for each in moved)
    same: list[dict[str, Any]] = [
        {"drain_seconds": 5},
        {"transfers": 1},
        {"cache_gib": 900},
        {"image": "ghcr.io/acme/gate:1.3"},
    ]
    assert all(cached(**each).daemon_set_annotations[contract.ANNOTATION_CACHE] == here for each in same)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"path": "/"}, "path: / is empty in no image, and a mount hides what is below it"),
        ({"path": "/usr"}, "path: /usr is empty in no image"),
        ({"path": "checkpoints"}, "path: 'checkpoints' is not an absolute path"),
        ({"path": "/a/../usr"}, "path: '/a/../usr' is not an absolute path"),
        ({"cache_path": "/tmp/cache"}, "cache_path: /tmp/cache does not outlive a reboot"),  # noqa: S108
        ({"cache_path": "/dev/shm"}, "cache_path: /dev/shm does not outlive a reboot"),  # noqa: S108
        ({"image": "ghcr.io/acme/gate:latest"}, "image: ghcr.io/acme/gate:latest is not pinned"),
        ({"rclone_image": "rclone/rclone"}, "rclone_image: rclone/rclone is not pinned"),
        ({"checkpoint_gib": 251}, "cache_gib: 500 GiB do not hold two checkpoints of 251 GiB"),
        ({"checkpoint_gib": 251}, "write at least 502"),
        (
            {"checkpoint_gib": 100, "upload_mbytes_per_s": 100},
            "drain_seconds: a checkpoint of 100 GiB takes 1074 s at 100 MB/s",
        ),
        ({"checkpoint_gib": 100, "upload_mbytes_per_s": 100}, "write at least 1074"),
        ({"preset": "dataset", "read_only": False}, "read_only: the preset dataset believes a listing for minutes"),
        ({"credentials_secret": "keys"}, "credentials_secret: a Secret lies in a namespace"),
        ({"bucket": {"kind": "s3", "name": "acme-weights"}}, "bucket.region: missing"),
        ({"bucket": {**GCS, "region": "europe-west4"}}, "bucket.region: gcs has none; leave it out"),
        ({"bucket": GCS, "upload_concurrency": 8}, "upload_concurrency: rclone uploads to GCS in one stream per file"),
        ({"bucket": {**AZURE, "account": None}}, "bucket.account: missing"),
        ({"bucket": {**S3, "account": "acmeweights"}}, "bucket.account: s3 has none"),
        ({"bucket": {**S3, "prefix": "/runs/"}}, "bucket.prefix: '/runs/' is not a folder of a bucket"),
        ({"bucket": {**S3, "prefix": "../other"}}, "bucket.prefix: '../other' is not a folder of a bucket"),
        ({"bucket": {**S3, "provider": "AWS", "endpoint": "https://s3.example"}}, "bucket.endpoint: AWS finds its own"),
        ({"bucket": {**S3, "kind": "cos"}}, "bucket.kind: 'cos' is not a choice here; write s3, gcs or azure"),
        ({"name": "a_b"}, "name: 'a_b' cannot be part of Kubernetes names"),
        ({"node_selector": {}}, "node_selector: empty"),
        ({"transfers": 0}, "transfers: 0 is out of range"),
    ],
)
def test_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError) as caught:
        cached(**change)
    assert says in str(caught.value)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        cached(image="a:latest", checkpoint_gib=300, bucket={"kind": "s3", "name": "acme-weights"}, credentials_secret="keys")
    assert [each.path for each in caught.value.problems] == ["bucket.region", "cache_gib", "credentials_secret", "image"]


def test_checkpoints_need_a_cache() -> None:
    """Mountpoint and plain mounts fail on a rename or an append (mountpoint-s3-csi-driver 463, mountpoint-s3 1154)."""
    with pytest.raises(SpecError, match="purpose: without a cache a file can be neither changed nor appended to"):
        plain(purpose="checkpoint")
    assert flags(plain(purpose="dataset"))["--vfs-read-chunk-size"] == "8Mi"


def test_the_fix_is_enough() -> None:
    assert cached(checkpoint_gib=100, upload_mbytes_per_s=100, drain_seconds=1074).pod.drain_seconds == 1074
    assert flags(cached(checkpoint_gib=250.5, cache_gib=501))["--vfs-cache-max-size"] == "501Gi"


def test_a_fixed_key_of_the_guard_names_this_mount_alone() -> None:
    plan, other = cached(), cached(name="other")
    assert plan.guard_name != other.guard_name
    (rule,) = plan.guard["matchConstraints"]["resourceRules"]
    assert rule["resourceNames"] == [plan.object_name] == ["mount-ckpt"]
    assert plan.guard_binding["paramRef"]["selector"] == {"matchLabels": {contract.LABEL_MOUNT: "ckpt"}}
    assert cached(namespace="ml").guard["matchConditions"][0]["expression"] == "request.namespace == 'ml'"
