"""rclone's configuration file and flags. No option goes through the environment: that would change the cache's path."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from gpufabric.hardware.rclone import MountPreset, mount_preset
from gpufabric.hardware.tables import Row
from gpufabric.mounts import contract
from gpufabric.spec.mounts import BucketMountSpec, BucketSpec, CachedMountSpec, MountSpec

KEEP_S = 365 * 24 * 3600
"""A cached file goes when room is needed, not with its age."""
_TUNED = frozenset(each.name for each in fields(MountPreset)) - {each.name for each in fields(Row)} - {"name"}
_SECRET_FILES = {"gcs": "key.json", "azure": "service-principal.json"}
_SECRET_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


def purpose_preset(wish: BucketMountSpec) -> MountPreset:
    """The preset of what a bucket without a cache is used for."""
    return mount_preset("dataset" if wish.purpose == "dataset" else "checkpoint")


def tuned(preset: MountPreset, wish: MountSpec) -> MountPreset:
    """The preset, with the wish's own numbers in the place of its."""
    given = {key: getattr(wish, key, None) for key in _TUNED}
    return replace(preset, **{key: value for key, value in given.items() if value is not None})


def remote(bucket: BucketSpec) -> str:
    """What is mounted, in rclone's words."""
    return f"{contract.STORE}:{bucket.name}{f'/{bucket.prefix}' if bucket.prefix else ''}"


def config_text(bucket: BucketSpec, set_to: MountPreset, *, from_secret: bool) -> str:
    """The configuration file. It holds no key: those come from a Secret or are the pod's identity."""
    lines = [f"[{contract.STORE}]", *(f"{key} = {value}" for key, value in _options(bucket, set_to, from_secret=from_secret))]
    return "\n".join(lines) + "\n"


def _options(bucket: BucketSpec, set_to: MountPreset, *, from_secret: bool) -> Iterator[tuple[str, object]]:
    file = f"{contract.CREDENTIALS_DIR}/{_SECRET_FILES[bucket.kind]}" if from_secret and bucket.kind in _SECRET_FILES else None
    chunk = {"chunk_size": f"{set_to.upload_chunk_mib}Mi", "upload_concurrency": set_to.upload_concurrency}
    match bucket.kind:
        case "s3":
            yield "type", "s3"
            yield "provider", bucket.provider or ("Other" if bucket.endpoint else "AWS")
            yield "env_auth", "true"
            yield "region", bucket.region
            if bucket.endpoint:
                yield "endpoint", bucket.endpoint
            yield "no_check_bucket", "true"  # else rclone tries to create it, and needs the right to
            yield from chunk.items()
        case "gcs":
            yield "type", "google cloud storage"
            yield "bucket_policy_only", "true"  # uniform access: with workload identity an ACL is refused (412)
            if file:
                yield "service_account_file", file
            else:
                yield "env_auth", "true"
            yield "no_check_bucket", "true"
        case "azure":
            yield "type", "azureblob"
            yield "account", bucket.account
            if file:
                yield "service_principal_file", file
            else:
                yield "env_auth", "true"
            yield "no_check_container", "true"
            yield from chunk.items()


def mount_flags(set_to: MountPreset) -> list[str]:
    """Of every mount. Anybody in a pod that has the mount may use it: a bucket knows no owners."""
    flags = [
        *("--config", contract.CONFIG_FILE),
        *("--allow-other", "--umask", "000"),
        *("--dir-cache-time", f"{set_to.dir_cache_s}s"),
        *("--transfers", str(set_to.transfers)),
        *("--vfs-read-chunk-size", f"{set_to.read_chunk_mib}Mi"),
        *("--vfs-read-chunk-streams", str(set_to.read_streams)),
        *("--rc", "--rc-addr", f"unix://{contract.SOCKET}"),
        *("--log-level", "INFO"),
    ]
    return [*flags, "--read-only"] if set_to.read_only else flags


def cache_flags(set_to: MountPreset, wish: CachedMountSpec) -> list[str]:
    """Of a mount with a cache."""
    return [
        *("--cache-dir", contract.CACHE_DIR),
        *("--vfs-cache-mode", "full"),
        *("--vfs-cache-max-size", f"{wish.cache_gib}Gi"),
        # A disk that others fill, too: what is uploaded goes before writes fail for want of room.
        *("--vfs-cache-min-free-space", f"{max(1, wish.cache_gib // 20)}Gi"),
        *("--vfs-cache-max-age", f"{KEEP_S}s"),
        *("--vfs-cache-poll-interval", "10s"),
        *("--vfs-write-back", f"{set_to.write_back_s}s"),
        "--vfs-fast-fingerprint",
    ]


def secret_keys(kind: str) -> tuple[str, ...]:
    """Keys of the Secret with which a kind of bucket is reached."""
    return (_SECRET_FILES[kind],) if kind in _SECRET_FILES else _SECRET_KEYS


def credentials(bucket: BucketSpec, secret: str | None) -> tuple[list[Mapping[str, Any]], Mapping[str, Any] | None]:
    """Environment and volume by which the mount gets the keys of a Secret."""
    if secret is None:
        return [], None
    if bucket.kind == "s3":
        return [{"name": key, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}} for key in _SECRET_KEYS], None
    return [], {"name": "credentials", "secret": {"secretName": secret, "defaultMode": 0o400}}
