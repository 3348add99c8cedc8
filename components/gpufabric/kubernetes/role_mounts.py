"""The mounts of a stack's roles: one for each role that a bucket holds, on each group of nodes."""

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi import Resource, ResourceOptions

from gpufabric.plan.storage.model import MOUNT_CACHED, RolePlan


def declare_mounts(
    name: str,
    roles: Sequence[RolePlan],
    stores: Mapping[str, Resource],
    groups: Mapping[str, Resource],
    options: ResourceOptions,
    *,
    claims: ResourceOptions | None = None,
) -> dict[str, Resource]:
    """The mounts by their names, each after its bucket, whose identity it takes, and after its nodes.

    ``stores`` and ``groups`` by their keys; a bucket that exists is not among them. ``options``: without ``deleted_with``. A
    destroy has to remove a mount by itself, before its nodes: only then the cluster is asked, and refuses while files are
    nowhere but on them. ``claims``: of what a CSI driver mounts, where one may. No file of those is on nodes alone, and a claim
    stays until no job uses it: they may go with the cluster.
    """
    made: dict[str, Resource] = {}
    for plan in roles:
        for each in plan.groups:
            if each.mount is None:
                continue
            args: Any = dict(each.mount_args)
            made_before = [stores[plan.choice.key]] if plan.choice.key in stores else []
            after = ResourceOptions(depends_on=[*made_before, groups[each.group]])
            own = ResourceOptions.merge(claims if claims and plan.choice.by_csi else options, after)
            full_name = f"{name}-{each.mount.mount}"
            if plan.choice.mode == MOUNT_CACHED:
                from gpufabric.kubernetes.cached_mount import CachedMount  # its SDK modules only for those who have one

                made[each.mount.mount] = CachedMount(full_name, args, own)
            else:
                from gpufabric.kubernetes.bucket_mount import BucketMount  # likewise

                made[each.mount.mount] = BucketMount(full_name, args, own)
    return made
