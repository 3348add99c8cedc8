"""The mount that brings a role's bucket onto the nodes of a group."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpufabric.plan.mounts import CsiMountPlan, MountPlan, resolve_bucket_mount, resolve_cached_mount
from gpufabric.plan.storage.cache import cache_gib, drain_seconds, largest_checkpoint_gib, upload_rate
from gpufabric.plan.storage.model import CHECKPOINT, DATASET, MOUNT_CACHED, Choice, Nodes, OnGroup, Shelf
from gpufabric.spec import SpecError
from gpufabric.spec.cloud.roles import CheckpointRoleSpec, RoleSpec
from gpufabric.spec.mounts import BucketMountSpec, CachedMountSpec

_PATHS = {"dataset": "/data", "model": "/models", "checkpoint": "/checkpoints", "scratch": "/scratch"}
_WORDS = {"dataset": "data", "model": "model", "checkpoint": "ckpt"}
"""In names of mounts, which have 30 letters with the group's 20."""
_CACHES = "gpufabric/cache"


def path_of(role: str, wish: RoleSpec) -> str:
    """Folder of a role in pods."""
    return wish.path or _PATHS[role]


@dataclass(frozen=True, slots=True)
class MountMaker:
    """What all mounts of a stack share. ``cached``: the wishes of the roles that have a cache. ``image``: of the agents."""

    has: Shelf
    cached: Mapping[str, RoleSpec]
    image: str
    stack: str

    def mounted(self, role: str, choice: Choice, wish: RoleSpec, nodes: Nodes, found: OnGroup) -> OnGroup:
        """``found`` with its mount; raises :class:`SpecError`."""
        args = self._args(role, choice, wish, nodes)
        try:
            mount = self._resolve(choice, args)
        except SpecError as error:
            ours = [each for each in error.problems if each.path != "image"]  # which the gate asks for, too
            if ours:
                raise SpecError(ours).below(f"storage.{role}") from None
            return found
        if role != CHECKPOINT:
            return replace(found, write_gbytes_per_s=None, mount_args=args, mount=mount)
        largest = largest_checkpoint_gib(wish, args["cache_gib"]) if isinstance(wish, CheckpointRoleSpec) else None
        return replace(found, mount_args=args, mount=mount, largest_checkpoint_gib=largest)

    def _resolve(self, choice: Choice, args: Mapping[str, Any]) -> MountPlan | CsiMountPlan:
        if choice.mode == MOUNT_CACHED:
            return resolve_cached_mount(CachedMountSpec.parse(args), self.stack)
        return resolve_bucket_mount(BucketMountSpec.parse(args), self.stack)

    def _args(self, role: str, choice: Choice, wish: RoleSpec, nodes: Nodes) -> dict[str, Any]:
        args = {
            "name": f"{nodes.group}-{_WORDS[role]}",
            "bucket": dict(self.has.buckets[choice.key]),
            "path": path_of(role, wish),
            **self.has.access.get(choice.key, {}),
        }
        if choice.by_csi:
            kept = {} if wish.cache_gib is None else {"cache_gib": wish.cache_gib}
            return {**args, "purpose": role, "read_only": True, "driver": choice.driver, **kept}
        args |= {"node_selector": dict(nodes.selector), "image": self.image}
        if choice.mode != MOUNT_CACHED:
            return {**args, "purpose": role, "read_only": True}
        cache = {
            "cache_path": nodes.cache_path or f"{nodes.nvme_path}/{_CACHES}",
            "cache_gib": cache_gib(role, self.cached, nodes),
        }
        waits = {"cache_must_exist": True} if nodes.cache_path else {}
        return {**args, **cache, **waits, **_tuned(role, wish)}


def _tuned(role: str, wish: RoleSpec) -> dict[str, Any]:
    """Of a cached mount: what its role does with it."""
    if not isinstance(wish, CheckpointRoleSpec):
        return {"preset": "dataset"} if role == DATASET else {"preset": "checkpoint", "read_only": True}
    size = {} if wish.checkpoint_gib is None else {"checkpoint_gib": wish.checkpoint_gib}
    return {"preset": "checkpoint", "drain_seconds": drain_seconds(wish), "upload_mbytes_per_s": upload_rate(wish), **size}
