"""One look at a mount: what rclone says of its queue, what its cache on disk says, and whether it is mounted at all."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpufabric.mounts import rc
from gpufabric.mounts.cache import Cache, Dirty
from gpufabric.mounts.contract import FILES


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """``message`` says why it is not mounted, or what fails. Bytes are of files that are not in the bucket yet."""

    mounted: bool
    message: str = ""
    dirty: Dirty = field(default_factory=Dirty)
    queued: int = 0
    uploading: int = 0
    failing: int = 0
    """Files whose upload has failed at least once and is tried again."""
    cached_bytes: int = 0
    out_of_space: bool = False

    @property
    def left(self) -> int:
        """Files that are not in the bucket yet, by the larger of both accounts."""
        return max(self.dirty.files, self.queued + self.uploading)


def look(folder: Path, socket: str, cache: Cache | None, mountinfo: Path = Path("/proc/self/mountinfo")) -> Sample:
    """Look now. The queue is read before the records: a file leaves the queue only once its record is clean."""
    why = ""
    stats: Mapping[str, Any] = {}
    queue: list[Mapping[str, Any]] = []
    try:
        stats = rc.call(socket, "vfs/stats")
        if cache is not None:
            queue = rc.call(socket, "vfs/queue").get("queue") or []
    except rc.NoAnswerError as error:
        why = f"rclone does not answer: {error}"
    if not why and not _is_mounted(folder / FILES, mountinfo):
        why = "rclone runs, and nothing is mounted"
    disk = stats.get("diskCache") or {}
    failing = [each for each in queue if each.get("tries", 0) > 1 or (each.get("tries") == 1 and not each.get("uploading"))]
    message = why or (f"upload of {failing[0].get('name')} fails, see rclone's log" if failing else "")
    return Sample(
        mounted=not why,
        message=message.replace("\n", " ")[:300],
        dirty=cache.look() if cache is not None else Dirty(),
        queued=int(disk.get("uploadsQueued", 0)),
        uploading=int(disk.get("uploadsInProgress", 0)),
        failing=len(failing),
        cached_bytes=int(disk.get("bytesUsed", 0)),
        out_of_space=bool(disk.get("outOfSpace", False)),
    )


def _is_mounted(path: Path, mountinfo: Path) -> bool:
    """By the kernel's list: to ask the mount itself could hang."""
    lines = (line.split(" ") for line in mountinfo.read_text("utf-8").splitlines())
    return any(words[4] == str(path) and words[words.index("-") + 1].startswith("fuse") for words in lines)
