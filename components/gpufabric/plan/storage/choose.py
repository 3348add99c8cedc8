"""Decide where a role is kept: as it was asked for, or by rule, with the reason in one line."""

from collections.abc import Mapping
from dataclasses import replace

from gpufabric.hardware.bucket_drivers import RCLONE
from gpufabric.hardware.storage import BUCKET_CACHED, BUCKET_MOUNT, LOCAL_NVME, SHARED_FILESYSTEM, storage_backends
from gpufabric.plan.mounts.checks import RENAME_RULE
from gpufabric.plan.storage.model import (
    AUTO,
    BUCKET,
    CHECKPOINT,
    DATASET,
    FILESYSTEM,
    MODEL,
    MOUNT,
    MOUNT_CACHED,
    NVME,
    SCRATCH,
    Choice,
    Shelf,
)
from gpufabric.spec import Problem
from gpufabric.spec.cloud.roles import RoleSpec

_KINDS: Mapping[str, tuple[str, ...]] = {
    DATASET: (FILESYSTEM, BUCKET),
    MODEL: (BUCKET, FILESYSTEM),
    CHECKPOINT: (BUCKET, FILESYSTEM),
    SCRATCH: (NVME, FILESYSTEM),
}
"""Where a role may be kept; ``auto`` takes the first one that the stack has."""
_BACKENDS = {
    (BUCKET, MOUNT): BUCKET_MOUNT,
    (BUCKET, MOUNT_CACHED): BUCKET_CACHED,
    (FILESYSTEM, ""): SHARED_FILESYSTEM,
    (NVME, ""): LOCAL_NVME,
}
_UNFIT = {
    (DATASET, NVME): "a new node's disks are empty, and nothing fills them",
    (MODEL, NVME): "a new node's disks are empty, and nothing fills them",
    (CHECKPOINT, NVME): "local disks are lost with their node, and a checkpoint must survive it",
    (SCRATCH, BUCKET): "a bucket would keep what is meant to be thrown away",
}
_GIVEN = "given in the spec"


def choose(role: str, wish: RoleSpec, has: Shelf, model: Choice | None) -> Choice | Problem:
    """Where ``role`` is kept. ``model``: where models are, which is where checkpoints belong."""
    if wish.kind == AUTO:
        for key in ("store", "filesystem", "mode"):
            if getattr(wish, key) is not None:
                kind = FILESYSTEM if key == "filesystem" else BUCKET
                return Problem(key, "does not apply to kind: auto, which decides it", f"leave it out, or write kind: {kind}")
        return _auto(role, wish, has, model)
    if reason := _UNFIT.get((role, wish.kind)):
        return Problem("kind", reason, f"write {' or '.join((AUTO, *_KINDS[role]))}")
    if stray := _stray(wish):
        return stray
    return _asked(role, wish, has, model)


def _auto(role: str, wish: RoleSpec, has: Shelf, model: Choice | None) -> Choice | Problem:
    """The first kind of the role's list that the stack has; a checkpoint's is the model's."""
    kinds = _KINDS[role]
    if role == CHECKPOINT and model:
        kinds = (model.kind,)
    there = {BUCKET: bool(has.buckets), FILESYSTEM: bool(has.filesystems), NVME: has.all_have_nvme}
    kind = next((each for each in kinds if there[each]), None)
    if kind is None:
        return Problem("kind", f"auto found nothing: {_nothing(kinds, has)}", _offer(kinds, has))
    asked = RoleSpec(kind=kind, driver=wish.driver if kind == BUCKET else None)  # type: ignore[arg-type]
    found = _asked(role, asked, has, model)
    if isinstance(found, Problem):
        return found
    own = has.driver if found.driver == RCLONE and wish.driver is None else None
    doubt = own and (own.lacking or own.unknown)
    return replace(found, why=f"{_why(role, found, model)}{f'; {RCLONE}, since {doubt}' if doubt else ''}")


def _asked(role: str, wish: RoleSpec, has: Shelf, model: Choice | None) -> Choice | Problem:
    if wish.kind == NVME:
        if has.all_have_nvme:
            return _made(NVME, "", "", _GIVEN)
        fix = f"write {has.offers[NVME]}, take a machine with local disks, or leave it out"
        return Problem("kind", _nothing((NVME,), has), fix)
    bucket = wish.kind == BUCKET
    known, stem, named = (has.buckets, "store", wish.store) if bucket else (has.filesystems, "filesystem", wish.filesystem)
    plural = f"{stem}s"
    if named is None and role == CHECKPOINT and model and model.kind == wish.kind:
        named = model.key
    if named is None:
        if len(known) > 1:
            return Problem(
                stem, f"missing: several {plural} are there", f"write kind: {wish.kind} and one of {', '.join(known)}"
            )
        if not known:
            return Problem("kind", f"no {plural} are there", _offer((wish.kind,), has))
        named = next(iter(known))
    if named not in known:
        fix = f"write one of {', '.join(known)}" if known else _offer((wish.kind,), has)
        return Problem(stem, f"no {named} under {plural}", fix)
    return _mounted(role, wish, has, named) if bucket else _made(FILESYSTEM, named, "", _GIVEN)


def _mounted(role: str, wish: RoleSpec, has: Shelf, store: str) -> Choice | Problem:
    """A bucket, and how: checkpoints through the cache, models straight, data sets through the cache where there is one."""
    cached = role == CHECKPOINT or (role == DATASET and has.all_have_nvme)
    mode = wish.mode or (MOUNT_CACHED if cached else MOUNT)
    made = _made(BUCKET, store, mode, _GIVEN)
    if role == CHECKPOINT and not (made.backend.appends and made.backend.renames):
        reason = f"through {mode} a file of a bucket can be neither changed nor appended to"
        return Problem("mode", reason, f"write {MOUNT_CACHED}", RENAME_RULE)
    if mode == MOUNT_CACHED and not has.all_have_nvme:
        straight = "" if role == CHECKPOINT else f", or write mode: {MOUNT}"
        fix = f"write {has.offers[NVME]} for it, keep the role on a shared file system{straight}"
        return Problem("mode", f"{MOUNT_CACHED} needs local NVMe; {_nothing((NVME,), has)}", fix)
    if mode == MOUNT_CACHED:
        return made
    driver = _driver(wish, has)
    return driver if isinstance(driver, Problem) else replace(made, driver=driver)


def _driver(wish: RoleSpec, has: Shelf) -> str | Problem:
    """Who mounts a bucket straight: the cloud's own driver where it is sure to be there, else rclone."""
    own = has.driver
    if wish.driver is None:
        return own.name if own and not (own.unknown or own.lacking) else RCLONE
    if wish.driver == RCLONE:
        return RCLONE
    if own is None or own.name != wish.driver:
        there = f"{own.name} or {RCLONE}" if own else RCLONE
        return Problem("driver", f"{wish.driver} is not a driver of {has.cloud}'s clusters", f"write {there}, or leave it out")
    return Problem("driver", own.lacking, f"write {RCLONE}, or leave it out") if own.lacking else own.name


def _made(kind: str, key: str, mode: str, why: str) -> Choice:
    return Choice(kind, key, mode, why, storage_backends()[_BACKENDS[kind, mode]])


def _stray(wish: RoleSpec) -> Problem | None:
    for key, kind in (("store", BUCKET), ("filesystem", FILESYSTEM), ("mode", BUCKET)):
        if getattr(wish, key) is not None and wish.kind != kind:
            return Problem(key, f"does not apply to kind: {wish.kind}", f"leave it out, or write kind: {kind}")
    return None


def _nothing(kinds: tuple[str, ...], has: Shelf) -> str:
    bare = [each.group for each in has.groups if not each.nvme_gib]
    said = {
        BUCKET: "no stores",
        FILESYSTEM: "no filesystems",
        NVME: f"no local NVMe for pods on the nodes of {', '.join(bare)}",
    }
    return " and ".join(said[kind] for kind in kinds)


def _offer(kinds: tuple[str, ...], has: Shelf) -> str:
    return f"write {' or '.join(has.offers[kind] for kind in kinds)} in the stack, or leave the role out"


def _why(role: str, choice: Choice, model: Choice | None) -> str:
    """By the published figures of the table, and by the rule about checkpoints."""
    rows = storage_backends()
    shared, straight, cached = rows[SHARED_FILESYSTEM], rows[BUCKET_MOUNT], rows[BUCKET_CACHED]
    if role == DATASET:
        straight_s = f"{straight.batches_s:g} s from a bucket without a cache"
        if choice.mode == MOUNT:
            return f"neither a file system nor local NVMe is there: 100 samples took {straight_s} (published)"
        return f"small reads, again and again: 100 samples took {choice.backend.batches_s:g} s, {straight_s} (published)"
    if role == MODEL:
        if choice.kind == BUCKET:
            return (
                f"read once, in large pieces: {straight.load_s:g} s straight, {cached.load_s:g} s through a cache (published)"
            )
        return f"no bucket is there; a load took {shared.load_s:g} s (published)"
    if role == CHECKPOINT:
        rule = "durable, and where models are loaded from" if model else "durable"
        if choice.kind == BUCKET:
            return f"{rule}; a save took {cached.save_s:g} s, {straight.save_s:g} s without the cache (published)"
        return f"{rule}; a save took {shared.save_s:g} s (published)"
    return "fastest, and nothing of it is missed" if choice.kind == NVME else "no local NVMe on every node"
