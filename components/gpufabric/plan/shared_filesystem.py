"""A shared file system of one's own as a volume and its claim."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpufabric.plan.gate import digest
from gpufabric.plan.names import dns_label, stack_slug
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.shared_filesystem import FilesystemSource, SharedFilesystemSpec

_GIVES_UP = ("soft", "softerr", "softreval")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFilesystemPlan:
    """``source``: of a PersistentVolume, in the SDK's words. ``volume`` is named after it, since it cannot be changed."""

    claim: str
    namespace: str
    size_gib: int
    volume: str
    source: Mapping[str, Any]
    mount_options: tuple[str, ...]


def source_problems(wish: FilesystemSource) -> Iterator[Problem]:
    """Two things to mount, or a mount that would lose what it was given."""
    if wish.nfs and wish.csi:
        yield Problem("csi", "two places for one file system", "leave nfs or csi out")
    if wish.nfs:
        for option in (each for each in wish.mount_options if each in _GIVES_UP):
            reason = f"{option} gives a write up when the server is slow, and the file is damaged"
            yield Problem("mount_options", reason, "leave it out: hard is the default", "nfs(5)")


def plan_shared_filesystem(wish: SharedFilesystemSpec, stack: str) -> SharedFilesystemPlan:
    """The plan of a shared file system; raises :class:`SpecError`."""
    problems = list(source_problems(wish))
    if not wish.source_given:
        fix = "write {server: ..., path: ...}, or csi: {driver: ..., handle: ...}"
        problems.append(Problem("nfs", "missing: where the files are", fix))
    if problems:
        raise SpecError(problems)
    source: dict[str, Any] = {"nfs": {"server": wish.nfs.server, "path": wish.nfs.path}} if wish.nfs else {}
    if wish.csi:
        attributes = {"volume_attributes": dict(wish.csi.attributes)} if wish.csi.attributes else {}
        source = {"csi": {"driver": wish.csi.driver, "volume_handle": wish.csi.handle, **attributes}}
    what = digest([source, wish.mount_options, wish.namespace])
    return SharedFilesystemPlan(
        claim=wish.claim,
        namespace=wish.namespace,
        size_gib=wish.size_gib,
        volume=dns_label(f"gpufabric-{stack_slug(stack)}-{wish.claim}-{what[:8]}"),
        source=source,
        mount_options=tuple(wish.mount_options),
    )
