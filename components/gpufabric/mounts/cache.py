"""What rclone's cache on disk says: which files are not in the bucket yet. True also while no rclone runs.

rclone keeps a JSON record of every cached file below ``vfsMeta``; ``Dirty`` is set there before the first write returns, and
taken away after the upload (rclone 1.76, vfs/vfscache/item.go).
"""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_YOUNG_NS: Final = 2_000_000_000
"""A record this young may change again without a visible change of its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dirty:
    """What is not in the bucket. ``oldest``: when the oldest of it was last written, seconds since 1970; 0: none."""

    files: int = 0
    bytes: int = 0
    oldest: float = 0.0
    unrecorded: int = 0
    """Files that a start set aside because rclone's record of them was lost (mount.sh)."""


@dataclass(slots=True)
class Cache:
    """One cache folder, read again and again; records that did not change are not read twice."""

    folder: Path
    _clean: dict[str, tuple[int, int]] = field(default_factory=dict)

    def look(self) -> Dirty:
        """Read the records now."""
        files = size = 0
        oldest = 0.0
        clean: dict[str, tuple[int, int]] = {}
        meta = self.folder / "vfsMeta"
        for entry in _files(meta):
            try:
                stat = entry.stat(follow_symlinks=False)
                mark = (stat.st_mtime_ns, stat.st_size)
                if self._clean.get(entry.path) == mark:
                    clean[entry.path] = mark
                    continue
                dirty = _is_dirty(Path(entry.path))
                if not dirty:
                    if time.time_ns() - stat.st_mtime_ns > _YOUNG_NS:
                        clean[entry.path] = mark
                    continue
                data = (self.folder / "vfs" / Path(entry.path).relative_to(meta)).stat()
            except FileNotFoundError:  # removed meanwhile, by the user or by rclone
                continue
            files += 1
            size += data.st_size
            oldest = min(oldest or data.st_mtime, data.st_mtime)
        self._clean = clean
        return Dirty(files=files, bytes=size, oldest=oldest, unrecorded=sum(1 for _ in _files(self.folder / "unrecorded")))


def _is_dirty(record: Path) -> bool:
    """A record that cannot be read is being written: not clean."""
    try:
        return json.loads(record.read_text("utf-8"))["Dirty"] is not False
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError):
        return True


def _files(folder: Path) -> Iterator["os.DirEntry[str]"]:
    """All files below a folder; none if it is not there."""
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        yield entry
        except FileNotFoundError:
            continue
