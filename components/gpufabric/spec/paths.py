"""Folders, checked by shape."""

import re
from typing import Annotated

from pydantic import AfterValidator

from gpufabric.spec.problems import shown

_PATH = re.compile(r"(/[A-Za-z0-9_.-]+)+")
_LOST = re.compile(r"/(dev|proc|sys|run|tmp)(/.*)?")
_SYSTEM = re.compile(r"/(bin|boot|dev|etc|home|lib|lib64|opt|proc|root|run|sbin|srv|sys|tmp|usr|var)?")
_NEVER = frozenset({"bin", "boot", "dev", "etc", "lib", "lib64", "proc", "root", "run", "sbin", "sys", "tmp", "usr"})


def absolute(value: str) -> str:
    """An absolute path; raises ValueError."""
    if not _PATH.fullmatch(value) or ".." in value.split("/"):
        raise ValueError(f"{shown(value)} is not an absolute path; write for example /checkpoints")
    return value


def _pod_path(value: str) -> str:
    if value == "/" or (_SYSTEM.fullmatch(value) and value.startswith("/")):
        raise ValueError(
            f"{value} is empty in no image, and a mount hides what is below it; write a folder of its own, such as /checkpoints"
        )
    return absolute(value)


def _node_path(value: str) -> str:
    if value == "/" or _LOST.fullmatch(value):
        raise ValueError(
            f"{value} does not outlive a reboot, or is the whole node; write a folder of local NVMe, such as /mnt/nvme/cache"
        )
    return absolute(value)


def _disk_path(value: str) -> str:
    parts = absolute(value).split("/")
    if len(parts) < 3 or parts[1] in _NEVER:
        raise ValueError(
            f"{value} is no place for a disk: a folder in a folder that the system does not need; write for example /mnt/nvme"
        )
    return value


PodPath = Annotated[str, AfterValidator(_pod_path)]
"""Where a mount may be in a pod: a folder of its own."""
NodePath = Annotated[str, AfterValidator(_node_path)]
"""A folder of a node's disks, whose files are there after a reboot."""
DiskPath = Annotated[str, AfterValidator(_disk_path)]
"""Where a disk is mounted on a node: never directly below ``/``, whose other folders would be shared with it."""
