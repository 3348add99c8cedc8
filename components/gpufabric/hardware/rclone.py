"""rclone: which version mounts buckets, and how it is set for what a mount is used for."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, UnknownHardwareError, named_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RcloneImage(Row):
    """One row of ``data/rclone.toml``, whose head says what each key means."""

    name: str
    version: str
    image: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MountPreset(Row):
    """One row of ``data/mount_presets.toml``, whose head says what each key means."""

    name: str
    read_only: bool
    transfers: int
    upload_chunk_mib: int
    upload_concurrency: int
    read_chunk_mib: int
    read_streams: int
    dir_cache_s: int
    write_back_s: int


@cache
def rclone_image() -> RcloneImage:
    """The image that mounts run in."""
    (row,) = named_rows(RcloneImage, "rclone.toml").values()
    return row


@cache
def mount_presets() -> Mapping[str, MountPreset]:
    """All presets by name."""
    return named_rows(MountPreset, "mount_presets.toml")


def mount_preset(name: str) -> MountPreset:
    """One preset; raises :class:`UnknownHardwareError`."""
    try:
        return mount_presets()[name]
    except KeyError:
        raise UnknownHardwareError("mount preset", name, mount_presets()) from None
