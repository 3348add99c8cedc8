"""Roles on a cluster of one's own: its buckets, claims and disks are what the user says they are."""

from collections.abc import Sequence
from math import inf

from gpufabric.local_nvme import contract
from gpufabric.plan.collect import kept
from gpufabric.plan.model import GroupPlan
from gpufabric.plan.mounts.checks import access_problems, bucket_problems
from gpufabric.plan.shared_filesystem import source_problems
from gpufabric.plan.storage.model import BUCKET, CLAIM, FILESYSTEM, NVME, Nodes, RolePlan, SharedFilesystem, Shelf
from gpufabric.plan.storage.parts import same_bucket_problems
from gpufabric.plan.storage.resolve import plan_storage
from gpufabric.spec import NodeGroupSpec, Problem, TrainingSpec
from gpufabric.spec.mounts import BucketAccess, BucketSpec
from gpufabric.spec.own_storage import OwnStoreSpec

_OFFERS = {
    BUCKET: "stores: {weights: {kind: s3, name: ...}}",
    FILESYSTEM: "filesystems: {CLAIM: {}}",
    NVME: "local_disk: {path: ..., size_gib: ...} in the group",
}


def plan_own_storage(
    spec: TrainingSpec, groups: Sequence[GroupPlan], stack: str, problems: list[Problem]
) -> tuple[RolePlan, ...]:
    """The roles of a stack. ``groups``: those that could be planned. ``problems``: what is found is added to them."""
    wrong = store_problems(spec)
    problems += wrong
    if spec.storage is None or wrong:
        return ()
    image = spec.validation.image or ""
    return kept(problems, lambda: plan_storage(spec.storage, shelf(spec, groups), image=image, stack=stack)) or ()


def store_problems(spec: TrainingSpec) -> list[Problem]:
    """Buckets and file systems that cannot be reached as they are said."""
    problems = []
    for key, store in spec.stores.items():
        problems += [each.below(f"stores.{key}") for each in (*bucket_problems(store), *access_problems(store))]
    for key, system in spec.filesystems.items():
        found = list(source_problems(system))
        if system.mount_options and not system.source_given:
            found.append(Problem("mount_options", "the claim exists, and its volume has its own", "leave it out, or write nfs"))
        problems += [each.below(f"filesystems.{key}") for each in found]
    return [*problems, *same_bucket_problems({key: _name(store) for key, store in spec.stores.items()})]


def shelf(spec: TrainingSpec, groups: Sequence[GroupPlan]) -> Shelf:
    """Buckets, claims and the disks of the nodes."""
    wishes = {wish.name: wish for wish in spec.node_groups}
    return Shelf(
        cloud=spec.cloud,
        region="",
        buckets={key: _keys(store, BucketSpec) for key, store in spec.stores.items()},
        access={key: _keys(store, BucketAccess) for key, store in spec.stores.items()},
        filesystems={
            claim: SharedFilesystem(product=CLAIM, size_gib=each.size_gib) for claim, each in spec.filesystems.items()
        },
        groups=tuple(_nodes(group, wishes[group.name], waits=group.name in spec.local_nvme) for group in groups),
        offers=_OFFERS,
    )


def _nodes(group: GroupPlan, wish: NodeGroupSpec, *, waits: bool) -> Nodes:
    """``waits``: the stack mounts the disks itself, as LocalNvme elsewhere may do: they can be there later than the mounts."""
    disk = wish.local_disk
    waits = waits or (disk is not None and disk.path == contract.NODE_PATH)
    return Nodes(
        group=group.name,
        selector=group.node_selector,
        nodes=group.nodes,
        gpus=group.accelerators.count,
        network_gbytes_per_s=inf,
        nvme_gib=disk.size_gib if disk else 0,
        nvme_path=disk.path if disk else "",
        scratch_path=f"{disk.path}/{contract.SCRATCH}" if disk else "",
        cache_path=f"{disk.path}/{contract.CACHE}" if disk and waits else "",
    )


def _keys(store: OwnStoreSpec, model: type[BucketSpec | BucketAccess]) -> dict[str, object]:
    """What was said of one of the two things that a store is: where the files are, and how to get in."""
    return store.model_dump(include=set(model.model_fields), exclude_defaults=True)


def _name(store: OwnStoreSpec) -> str:
    """What tells a folder of a bucket from all others."""
    return "/".join(filter(None, (store.endpoint or store.account, store.name, store.prefix)))
