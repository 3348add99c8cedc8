"""How large the caches on a node's disks are, and how long a checkpoint takes out of one."""

from collections.abc import Mapping, Sequence
from math import ceil, inf

from gpufabric.hardware.storage import BUCKET_CACHED, storage_backends
from gpufabric.plan.mounts.checks import CHECKPOINTS_HELD, upload_seconds
from gpufabric.plan.storage.model import Nodes
from gpufabric.spec import Problem
from gpufabric.spec.cloud.roles import CheckpointRoleSpec, RoleSpec

_SHARE = 0.75
"""Of the disks, for all caches together: the kubelet evicts pods below 15 % free (Kubernetes, node-pressure eviction), and
images and logs are on the same disks."""
_SHORTEST_DRAIN_S = 600
_DRAIN_MARGIN = 1.5


def cache_problems(cached: Mapping[str, RoleSpec], groups: Sequence[Nodes]) -> list[Problem]:
    """Caches that do not fit the disks of a group; ``cached``: the wishes of the roles that have one, by role."""
    problems = []
    for nodes in groups:
        room = _room(nodes)
        given = {role: wish.cache_gib for role, wish in cached.items() if wish.cache_gib}
        disks = f"the disks of {nodes.group} give caches {room} GiB ({_SHARE:.0%})"
        if given and sum(given.values()) + len(cached) - len(given) > room:
            role, asked = max(given.items(), key=lambda each: each[1])
            reason = (
                f"{' and '.join(map(str, given.values()))} GiB asked for; {disks}"
                if len(given) > 1
                else f"{asked} GiB; {disks}"
            )
            problems.append(Problem(f"{role}.cache_gib", reason, "write less, or leave it out"))
            continue
        for role, wish in cached.items():
            size = wish.checkpoint_gib if isinstance(wish, CheckpointRoleSpec) else None
            held = cache_gib(role, cached, nodes)
            if size is not None and wish.cache_gib is None and held < CHECKPOINTS_HELD * size:
                reason = f"two of {size:g} GiB do not fit a cache of {held} GiB; {disks}, shared by {' and '.join(cached)}"
                fix = "keep checkpoints and models on a shared file system, or take machines with more local NVMe"
                problems.append(Problem(f"{role}.checkpoint_gib", reason, fix))
    return problems


def cache_gib(role: str, cached: Mapping[str, RoleSpec], nodes: Nodes) -> int:
    """The cache of ``role`` on a node: as asked for, else an equal share of what is left."""
    if asked := cached[role].cache_gib:
        return asked
    given = [wish.cache_gib for wish in cached.values() if wish.cache_gib]
    return max(1, (_room(nodes) - sum(given)) // (len(cached) - len(given)))


def upload_rate(wish: CheckpointRoleSpec) -> float:
    """MB/s of one node to the bucket: measured by the user, else the published figure."""
    published = storage_backends()[BUCKET_CACHED].write_gbytes_per_s or inf
    return wish.upload_mbytes_per_s or published * 1000


def drain_seconds(wish: CheckpointRoleSpec) -> int:
    """As asked for, else half more than the upload of a checkpoint takes."""
    if wish.drain_seconds:
        return wish.drain_seconds
    if wish.checkpoint_gib is None:
        return _SHORTEST_DRAIN_S
    return max(_SHORTEST_DRAIN_S, ceil(_DRAIN_MARGIN * upload_seconds(wish.checkpoint_gib, upload_rate(wish))))


def largest_checkpoint_gib(wish: CheckpointRoleSpec, cache: int) -> int:
    """What one node may write per checkpoint: twice in the cache, and uploaded before the pod must end."""
    drained = drain_seconds(wish) / upload_seconds(1, upload_rate(wish))
    return int(min(cache / CHECKPOINTS_HELD, drained))


def _room(nodes: Nodes) -> int:
    return int(nodes.nvme_gib * _SHARE)
