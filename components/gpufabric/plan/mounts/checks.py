"""What makes a mount impossible, or would lose what it was given."""

from collections.abc import Iterator

from gpufabric.hardware.bucket_drivers import MOUNTPOINT, RCLONE, bucket_drivers
from gpufabric.local_nvme import contract as local_nvme
from gpufabric.plan.images import unpinned
from gpufabric.spec import Problem
from gpufabric.spec.mounts import BucketAccess, BucketMountSpec, BucketSpec, CachedMountSpec, MountSpec

CHECKPOINTS_HELD = 2
"""One that is uploaded while the next is written; with one, a save waits for the bucket or finds the disk full."""
RENAME_RULE = "torch.distributed.checkpoint renames .metadata.tmp; s3-connector-for-pytorch 295, safetensors 792"
"""Why a bucket without a cache is no place for checkpoints."""
_CACHES = f"{local_nvme.NODE_PATH}/{local_nvme.CACHE}"
_GIB_IN_MB = 1024**3 / 1e6


def upload_seconds(size_gib: float, mbytes_per_s: float) -> float:
    """How long an upload takes at MB/s (1e6 bytes)."""
    return size_gib * _GIB_IN_MB / mbytes_per_s


def mount_problems(wish: MountSpec) -> list[Problem]:
    """Of every mount by rclone."""
    problems = [*unpinned("image", wish.image), *access_problems(wish)]
    problems += [each.below("bucket") for each in bucket_problems(wish.bucket)]
    for key, fix in (("image", "write an image with Python 3.11; the gate's own will do"), ("node_selector", "write labels")):
        if getattr(wish, key) is None:
            problems.append(Problem(key, "missing: rclone runs on the nodes", fix))
    for key in ("upload_chunk_mib", "upload_concurrency"):
        if wish.bucket.kind == "gcs" and getattr(wish, key) is not None:
            problems.append(
                Problem(key, "rclone uploads to GCS in one stream per file", "leave it out; transfers is for gcs, too")
            )
    return problems


def access_problems(wish: BucketAccess) -> list[Problem]:
    """Of the program, and of the identity that reaches the bucket."""
    problems = list(unpinned("rclone_image", wish.rclone_image))
    if wish.credentials_secret and wish.namespace is None:
        reason = "a Secret lies in a namespace, and the mount's own is made with it"
        problems.append(Problem("credentials_secret", reason, "write the Secret's namespace as namespace, too"))
    if wish.credentials_secret and wish.service_account_annotations:
        reason = "two identities: the keys of the Secret and the account's own"
        problems.append(Problem("service_account_annotations", reason, "leave one of the two out"))
    return problems


def bucket_problems(bucket: BucketSpec) -> list[Problem]:
    """Keys that a kind of bucket has not, and those that it needs."""
    problems = []
    applies = {"region": ("s3",), "endpoint": ("s3",), "provider": ("s3",), "account": ("azure",)}
    for key, kinds in applies.items():
        if getattr(bucket, key) is not None and bucket.kind not in kinds:
            problems.append(Problem(key, f"{bucket.kind} has none", "leave it out"))
    if bucket.kind == "s3" and bucket.region is None:
        problems.append(
            Problem("region", "missing: requests are signed for a region", "write it, or us-east-1 where a store has none")
        )
    if bucket.kind == "azure" and bucket.account is None:
        problems.append(Problem("account", "missing: a container belongs to a storage account", "write its name"))
    if bucket.provider == "AWS" and bucket.endpoint:
        problems.append(Problem("endpoint", "AWS finds its own for the region", "leave it out, or name another provider"))
    return problems


def cache_problems(wish: CachedMountSpec) -> list[Problem]:
    """A cache that does not hold two checkpoints, or is not empty when the time to drain is over."""
    problems = []
    if f"{wish.cache_path}/".startswith(f"{local_nvme.NODE_PATH}/") and not wish.cache_must_exist:
        reason = "a folder of LocalNvme: while the disks are not mounted, the cache would be on the node's root disk"
        problems.append(Problem("cache_must_exist", reason, f"write cache_path: {_CACHES} and cache_must_exist: true"))
    size = wish.checkpoint_gib
    if wish.preset == "dataset" and wish.read_only is False:
        reason = "the preset dataset believes a listing for minutes, and is read-only"
        problems.append(Problem("read_only", reason, "write preset: checkpoint for a mount that is written to"))
    if size is not None and wish.cache_gib < CHECKPOINTS_HELD * size:
        reason = f"{wish.cache_gib} GiB do not hold two checkpoints of {size:g} GiB: one is uploaded while the next is written"
        problems.append(Problem("cache_gib", reason, f"write at least {-int(-CHECKPOINTS_HELD * size // 1)}"))
    if size is not None and wish.upload_mbytes_per_s is not None:
        needed = upload_seconds(size, wish.upload_mbytes_per_s)
        if needed > wish.drain_seconds:
            rate = f"{wish.upload_mbytes_per_s:g} MB/s"
            reason = f"a checkpoint of {size:g} GiB takes {needed:.0f} s at {rate}: the pod would end before"
            problems.append(Problem("drain_seconds", reason, f"write at least {int(needed) + 1}"))
    return problems


def bucket_mount_problems(wish: BucketMountSpec) -> list[Problem]:
    """A purpose that only a cache serves, and what the driver cannot do."""
    problems = mount_problems(wish) if wish.driver == RCLONE else [*_csi_problems(wish)]
    if wish.purpose == "checkpoint":
        reason = "without a cache a file can be neither changed nor appended to, and a save waits for the bucket"
        problems.append(Problem("purpose", reason, "use CachedMount for checkpoints", RENAME_RULE))
    if wish.driver == RCLONE and wish.cache_gib is not None:
        problems.append(Problem("cache_gib", "rclone keeps nothing here", "use CachedMount, or leave it out"))
    return problems


_OF_RCLONE = (
    "node_selector",
    "image",
    "rclone_image",
    "credentials_secret",
    "service_account_annotations",
    "read_chunk_mib",
    "read_streams",
    "upload_chunk_mib",
    "upload_concurrency",
)


def _csi_problems(wish: BucketMountSpec) -> Iterator[Problem]:
    yield from (each.below("bucket") for each in bucket_problems(wish.bucket))
    kind, bucket = bucket_drivers()[wish.driver].bucket, wish.bucket
    if bucket.kind != kind:
        yield Problem("driver", f"{wish.driver} mounts buckets of kind {kind}, this one is {bucket.kind}", "leave it out")
    elif wish.driver == MOUNTPOINT and (bucket.endpoint or bucket.provider not in (None, "AWS")):
        yield Problem("driver", "mountpoint mounts buckets of AWS alone, this one is elsewhere", "leave it out")
    for key in _OF_RCLONE:
        if key in wish.model_fields_set and getattr(wish, key) is not None:
            yield Problem(key, f"rclone's own; {wish.driver} is the cluster's driver", "leave it out")
