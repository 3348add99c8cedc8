"""Where tools keep things outside the repository: a cache that can be deleted at any time, and state that cannot."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def _folder(own: str, xdg: str, fallback: str) -> Path:
    if chosen := os.environ.get(own):
        return Path(chosen).expanduser().absolute()
    if base := os.environ.get(xdg):
        return Path(base).expanduser().absolute() / "gpufabric"
    return Path(fallback).expanduser() / "gpufabric"


def cache_folder() -> Path:
    """Built programs and images: $GPUFABRIC_CACHE, else the user's XDG cache."""
    return _folder("GPUFABRIC_CACHE", "XDG_CACHE_HOME", "~/.cache")


def state_folder() -> Path:
    """Running clusters: $GPUFABRIC_STATE, else the user's XDG state."""
    return _folder("GPUFABRIC_STATE", "XDG_STATE_HOME", "~/.local/state")


@contextmanager
def locked(folder: Path, waiting: str = "") -> Iterator[None]:
    """Hold the folder for this process, making it if needed; the kernel lets go when the process dies.

    The lock sits on the folder itself, so that nothing remains to be cleaned up. Whoever holds it may delete the folder:
    a waiter that then gets hold of the deleted one tries again with the new one.
    """
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if waiting:
                    print(waiting, flush=True)
                fcntl.flock(handle, fcntl.LOCK_EX)
            if not folder.exists() or not os.path.samestat(os.fstat(handle), folder.stat()):
                continue
            yield
            return
        finally:
            os.close(handle)
