"""From the wish to the plan of one mount; raises :class:`SpecError` with every problem."""

from collections.abc import Sequence
from typing import Any

from gpufabric.hardware.bucket_drivers import RCLONE
from gpufabric.hardware.rclone import MountPreset, mount_preset, rclone_image
from gpufabric.mounts import contract
from gpufabric.plan.agents import shipped_files
from gpufabric.plan.gate import digest
from gpufabric.plan.mounts import rclone
from gpufabric.plan.mounts.checks import bucket_mount_problems, cache_problems, mount_problems
from gpufabric.plan.mounts.csi import CsiMountPlan, csi_mount
from gpufabric.plan.mounts.daemon_set import MountParts, daemon_set
from gpufabric.plan.mounts.guard import REPORT_RULES, guard, guard_binding
from gpufabric.plan.mounts.model import BucketMountPlan, CachedMountPlan
from gpufabric.plan.mounts.pod import PodMount
from gpufabric.plan.names import mount_name
from gpufabric.spec import SpecError
from gpufabric.spec.mounts import BucketMountSpec, CachedMountSpec, MountSpec


def resolve_cached_mount(wish: CachedMountSpec, stack: str) -> CachedMountPlan:
    """The plan of a bucket behind a cache."""
    if problems := [*mount_problems(wish), *cache_problems(wish)]:
        raise SpecError(sorted(problems))
    set_to = rclone.tuned(mount_preset(wish.preset), wish)
    drain = 0 if set_to.read_only else wish.drain_seconds
    flags = [*rclone.mount_flags(set_to), *rclone.cache_flags(set_to, wish)]
    common = _common(wish, stack, set_to, flags, cache_path=f"{wish.cache_path}/{wish.name}", drain_seconds=drain)
    policy = f"{mount_name(wish.name, stack)}-guard"
    where, name = common["namespace"], common["object_name"]
    return CachedMountPlan(
        **common,
        role_rules=REPORT_RULES,
        pod=PodMount(mount=wish.name, path=wish.path, drain_seconds=drain),
        guard_name=policy,
        guard=guard(wish.name, where, name),
        guard_binding=guard_binding(wish.name, where, policy),
    )


def resolve_bucket_mount(wish: BucketMountSpec, stack: str) -> BucketMountPlan | CsiMountPlan:
    """The plan of a bucket without a cache: rclone on its nodes, or a claim that the cluster's driver serves."""
    if problems := bucket_mount_problems(wish):
        raise SpecError(sorted(problems))
    if wish.driver != RCLONE:
        return csi_mount(wish, stack)
    set_to = rclone.tuned(rclone.purpose_preset(wish), wish)
    flags = rclone.mount_flags(set_to)
    return BucketMountPlan(
        **_common(wish, stack, set_to, flags, cache_path=None, drain_seconds=0),
        role_rules=(),
        pod=PodMount(mount=wish.name, path=wish.path),
    )


def _common(
    wish: MountSpec, stack: str, set_to: MountPreset, flags: Sequence[str], *, cache_path: str | None, drain_seconds: int
) -> dict[str, Any]:
    files = shipped_files("mounts", contract.SHIPPED_TOO)
    files["rclone.conf"] = rclone.config_text(wish.bucket, set_to, from_secret=wish.credentials_secret is not None)
    env, volume = rclone.credentials(wish.bucket, wish.credentials_secret)
    name = f"mount-{wish.name}"
    parts = MountParts(
        wish=wish,
        object_name=name,
        rclone_image=wish.rclone_image or rclone_image().image,
        remote=rclone.remote(wish.bucket),
        flags=flags,
        credentials_env=env,
        credentials_volume=volume,
        files=files,
        fingerprint=digest(files)[:16],
        cache_path=cache_path,
        cache_must_exist=isinstance(wish, CachedMountSpec) and wish.cache_must_exist,
        drain_seconds=drain_seconds,
    )
    # What an unfinished upload needs to be found again: the folder on the node, and where it goes.
    of_cache = digest([cache_path, wish.bucket.model_dump(), wish.node_selector])[:16] if cache_path else ""
    return {
        "mount": wish.name,
        "namespace": wish.namespace or mount_name(wish.name, stack),
        "own_namespace": wish.namespace is None,
        "object_name": name,
        "service_account_annotations": wish.service_account_annotations,
        "files": files,
        "daemon_set_annotations": {contract.ANNOTATION_CACHE: of_cache} if of_cache else {},
        "daemon_set_spec": daemon_set(parts),
    }
